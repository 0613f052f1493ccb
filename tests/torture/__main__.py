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

from further import Further  # noqa: E402
from killing import Case, Killer, end_all  # noqa: E402

from bench import Bench, bench, prepare  # noqa: E402

FURTHER = "further"
LOCAL = ("record", "sweep", "confirm", "tune", "fingerprint", "boot-script")
# Of the cases; the others are cheaper than a campaign.
SHARES = {"record": 4, "sweep": 3, "confirm": 3, "tune": 4, "fingerprint": 2, "boot-script": 2}


def main() -> int:
    """Make the cases, print a line for each and a summary; 1 if anything was left changed."""
    args = parse()
    if os.geteuid() != 0:
        print("run as root: sudo make torture", file=sys.stderr)
        return 2
    cases: list[Case] = []
    began = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
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
            made.foreread("doctor", "--restore")
    report(args, cases, time.monotonic() - began)
    return 0 if whole and all(case.passed for case in cases) else 1


def torture(made: Bench, args: argparse.Namespace) -> Iterator[Case]:
    """Yield the cases as they are made."""
    further = Further(made)
    for number, name in enumerate(further.cases if FURTHER in args.parts else ()):
        yield further.case(number, name)
    rng = random.Random(args.seed)
    killer = Killer(made, rng.randrange(1 << 32))
    parts = [part for part in args.parts if part in LOCAL]
    killer.measure()
    for number in range(1, args.kills + 1 if parts else 1):
        (name,) = rng.choices(parts, [SHARES[part] for part in parts])
        yield killer.case(number, name)


def parse() -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(prog="make torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument(
        "--parts", default=",".join((*LOCAL, FURTHER)), type=lambda text: text.split(",")
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("torture-out/torture.json"))
    return parser.parse_args()


def report(args: argparse.Namespace, cases: list[Case], seconds: float) -> None:
    """Write the record, and print the summary."""
    alive = Counter((case.command, case.signal) for case in cases if case.alive)
    killed = Counter((case.command, case.signal) for case in cases)
    lasted = {case.command: 0.0 for case in cases}
    for case in cases:
        lasted[case.command] += case.seconds
    took = Counter(case.recovery for case in cases)
    print(f"\n{'command':12} signal  killed  while alive")
    for command, number in sorted(killed):
        both = (command, number)
        print(f"{command:12} {number:6} {killed[both]:7} {alive[both]:12}")
    for command, total in sorted(lasted.items()):
        made = sum(case.command == command for case in cases)
        print(f"{command:12} {total / made:5.1f} s a case")
    left = [case for case in cases if not case.passed]
    print(f"{len(cases)} kills, {sum(alive.values())} while alive, in {seconds / 60:.1f} minutes")
    print("recovery: " + ", ".join(f"{name} {number}" for name, number in sorted(took.items())))
    print(f"changes left: {len(left)}")
    document = {
        "seed": args.seed,
        "kernel": os.uname().release,
        "kills": len(cases),
        "alive": sum(alive.values()),
        "changes_left": len(left),
        "seconds": round(seconds, 1),
        "cases": [case.document() for case in cases],
    }
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(document, indent=1) + "\n")
    print(f"the record: {args.output}")


if __name__ == "__main__":
    sys.exit(main())
