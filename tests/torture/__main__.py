"""Kills foreread at random moments and compares the machine before and after: `make torture`."""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support"), str(HERE.parents[1])]

from board import BOARD, Board  # noqa: E402
from further import Further  # noqa: E402
from inherited import shed  # noqa: E402
from killing import MEMORY, REMOTE, Case, Killer, end_all  # noqa: E402
from results import results  # noqa: E402

from bench import Bench, bench, prepare  # noqa: E402
from foreread.boards.emulated.error import BoardError  # noqa: E402

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
    so_far = results(args.output, args.seed, args.parts, args.kills)
    if so_far.cases:
        print(f"continued: {len(so_far.cases)} cases are in {args.output}")
    with bench() as made:
        try:
            prepare(made)
            print(f"seed {args.seed}; {len(made.unsteady)} of {len(made.before)} facts unsteady")
            for case in list(torture(made, args))[len(so_far.cases) :]:
                so_far.add(done := case())
                if not done.passed:
                    made.before = made.dump()  # a change is counted once
            so_far.end()
        except KeyboardInterrupt:
            print("interrupted: cleaning up", file=sys.stderr)
        finally:
            end_all(made.token)
            made.foreread(["doctor", "--restore"])
    print(so_far.summary())
    return 0 if so_far.whole and all(case.passed for case in so_far.cases) else 1


def torture(made: Bench, args: argparse.Namespace) -> Iterator[Callable[[], Case]]:
    """Yield what makes each case."""
    further = Further(made)
    for number, name in enumerate(further.cases if FURTHER in args.parts else ()):
        yield partial(further.case, number, name)
    parts = [part for part in args.parts if part in LOCAL]
    rng = random.Random(args.seed)

    @cache
    def killer() -> Killer:
        ready = Killer(made, args.seed)
        ready.measure(parts)
        return ready

    for number in range(1, args.kills + 1 if parts else 1):
        (name,) = rng.choices(parts, [SHARES[part] for part in parts])
        yield lambda number=number, name=name: killer().case(number, name)

    @cache
    def board() -> Board | str:
        try:
            return Board(made, args.seed)
        except BoardError as error:
            return f"the board did not boot: {error}"

    for number in range(1, max(1, args.kills // CUT_SHARE) + 1 if BOARD in args.parts else 1):
        yield lambda number=number: cut(board(), number)


def cut(board: Board | str, number: int) -> Case:
    """Make a power cut of the board, or say why there is none."""
    if isinstance(board, str):
        return Case(number, "boot", "-", "-", 0.0, BOARD, problems=[board])
    return board.case(number)


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


if __name__ == "__main__":
    sys.exit(main())
