"""Kills foreread at random moments and compares the machine before and after: `make torture`."""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support"), str(HERE.parents[1])]

from board import BOARD, Board  # noqa: E402
from further import Further  # noqa: E402
from inherited import shed  # noqa: E402
from killing import MEMORY, REMOTE, Case, Killer, end_all  # noqa: E402

from bench import Bench, bench, prepare  # noqa: E402
from boards.emulated.error import BoardError  # noqa: E402

FURTHER = "further"
CUT_SHARE = 100  # of so many kills, one is a power cut: that takes a boot
LOCAL = ("record", "sweep", "confirm", "tune", "fingerprint", "boot-script", REMOTE, MEMORY)
# Of the cases; the others are cheaper than a campaign.
SHARES = {"record": 4, "sweep": 3, "confirm": 3, "tune": 4, "fingerprint": 2, "boot-script": 2}
SHARES |= {REMOTE: 1, MEMORY: 2}


def main() -> int:
    """Make the cases, print a line for each and a summary; 1 if anything was left changed."""
    args = parse()
    if os.geteuid() != 0:
        print("run as root: sudo make torture", file=sys.stderr)
        return 2
    shed()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    cases: list[Case] = []
    began = time.monotonic()
    whole = False
    with bench() as made:
        try:
            prepare(made)
            print(f"seed {args.seed}; {len(made.unsteady)} of {len(made.before)} facts unsteady")
            for case in torture(made, args):
                cases.append(case)
                print(case.line(), flush=True)
                if not case.passed:
                    made.before = made.dump()  # a change is counted once
            whole = True
        except KeyboardInterrupt:
            print("interrupted: cleaning up", file=sys.stderr)
        finally:
            end_all(made.token)
            made.foreread(["doctor", "--restore"])
    report(args, cases, time.monotonic() - began)
    return 0 if whole and all(case.passed for case in cases) else 1


def torture(made: Bench, args: argparse.Namespace) -> Iterator[Case]:
    """Yield the cases as they are made."""
    further = Further(made)
    for number, name in enumerate(further.cases if FURTHER in args.parts else ()):
        yield further.case(number, name)
    rng = random.Random(args.seed)
    killer = Killer(made, args.seed)
    parts = [part for part in args.parts if part in LOCAL]
    if parts:
        killer.measure(parts)
    for number in range(1, args.kills + 1 if parts else 1):
        (name,) = rng.choices(parts, [SHARES[part] for part in parts])
        yield killer.case(number, name)
    if BOARD in args.parts:
        yield from cut(made, args.kills, rng)


def cut(made: Bench, kills: int, rng: random.Random) -> Iterator[Case]:
    """Yield the power cuts."""
    try:
        board = Board(made, rng)
    except BoardError as error:
        problem = f"the board did not boot: {error}"
        yield Case(1, "boot", "-", "-", 0.0, BOARD, problems=[problem])
        return
    for number in range(1, max(1, kills // CUT_SHARE) + 1):
        yield board.case(number)


def parse() -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(prog="make torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument(
        "--parts", default=",".join((*LOCAL, BOARD, FURTHER)), type=lambda text: text.split(",")
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("torture-out/torture.json"))
    return parser.parse_args()


def report(args: argparse.Namespace, cases: list[Case], seconds: float) -> None:
    """Write the record, and print the summary."""
    print(f"\n{'part':12} cases  kills  while alive      while changed  s a case  left")
    for part in dict.fromkeys(case.part for case in cases):
        print(f"{part:12} {_summary([case for case in cases if case.part == part])}")
    print(f"{'all':12} {_summary(cases)}")
    kills = [case for case in cases if case.signal != "-"]
    alive = sum(case.alive for case in kills)
    signals = Counter((case.signal, case.victim) for case in kills if case.alive)
    named = ", ".join(f"{' '.join(both)} {number}" for both, number in sorted(signals.items()))
    print(f"alive at: {named}")
    took = Counter(case.recovery for case in cases)
    left = [case for case in cases if not case.passed]
    print(f"{len(cases)} cases, {len(kills)} kills, {alive} while alive, in {seconds / 60:.1f} min")
    print("recovery: " + ", ".join(f"{name} {number}" for name, number in sorted(took.items())))
    print(f"changes left: {len(left)}")
    document = {
        "seed": args.seed,
        "kernel": os.uname().release,
        "kills": len(kills),
        "alive": alive,
        "in_force": sum(case.in_force for case in kills),
        "changes_left": len(left),
        "seconds": round(seconds, 1),
        "cases": [case.document() for case in cases],
    }
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(document, indent=1) + "\n")
    print(f"the record: {args.output}")


def _summary(cases: list[Case]) -> str:
    kills = [case for case in cases if case.signal != "-"]
    alive = sum(case.alive for case in kills)
    in_force = sum(case.in_force for case in kills)
    share, changed = (100 * part / max(1, len(kills)) for part in (alive, in_force))
    mean_s = sum(case.seconds for case in cases) / max(1, len(cases))
    left = sum(not case.passed for case in cases)
    return (
        f"{len(cases):5}  {len(kills):5}  {alive:5} ({share:3.0f} %)    {in_force:5} "
        f"({changed:3.0f} %)  {mean_s:8.1f}  {left:4}"
    )


if __name__ == "__main__":
    sys.exit(main())
