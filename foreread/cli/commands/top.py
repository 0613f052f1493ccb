"""``foreread top``: what is being read now, by file and by process."""

from __future__ import annotations

import argparse
import math
import sys
import time
from functools import partial

from foreread.boards.base.interrupts import orderly_exit
from foreread.boards.open import open_target
from foreread.cli.arguments import UsageError, duration, whole_number
from foreread.cli.arguments.target import add_target, tell
from foreread.cli.text.top import text_of
from foreread.cli.top_screen import show_screen
from foreread.machine.reading_now import ReadingNow, reading_now
from foreread.tracer.remote.top import LEAST_BUFFER_KIB, MOST_BUFFER_KIB

_SHORTEST_S = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_target(parser)
    parser.add_argument(
        "--interval",
        metavar="S",
        type=_interval,
        default=2.0,
        help="seconds between two readings (default: 2)",
    )
    parser.add_argument("--duration", metavar="S", type=duration, help="end after S seconds")
    parser.add_argument("--once", action="store_true", help="end after the first interval")
    parser.add_argument(
        "--rows",
        metavar="N",
        type=partial(whole_number, least=1, most=10_000),
        default=20,
        help="print up to N files, and as many processes (default: 20; the text screen has all)",
    )
    parser.add_argument(
        "--buffer-kib",
        metavar="KIB",
        type=partial(whole_number, least=16, most=1 << 20),
        help="trace buffer of each processor of the target; events that do not fit between two "
        f"readings are lost, and counted (default: {LEAST_BUFFER_KIB} to {MOST_BUFFER_KIB}, by "
        "free memory)",
    )
    parser.add_argument(
        "--names",
        action="store_true",
        help="find the names of files on the target, in the background; this costs the target time "
        "and reads",
    )
    parser.add_argument(
        "--plain",
        action="store_true",
        help="print lines instead of a text screen, as if standard output were no terminal",
    )


def run(args: argparse.Namespace) -> int:
    """Show it until the end is reached, or Ctrl-C."""
    if args.once and args.duration is not None:
        raise UsageError("--once ends after one interval: remove --duration")
    terminal = sys.stdout.isatty() and sys.stderr.isatty()
    on_screen = terminal and not (args.plain or args.json or args.once)
    with (
        orderly_exit(),
        open_target(args.target, identity=args.identity, tell=tell) as target,
        reading_now(target, args.interval, args.buffer_kib, args.names) as view,
    ):
        if not (on_screen and show_screen(view, args.interval, _ends_s(args), args.target)):
            _print(args, view)
    return 0


def _print(args: argparse.Namespace, view: ReadingNow) -> None:
    """Print the figures of each interval; Ctrl-C ends it."""
    end_s = time.monotonic() + _ends_s(args)
    try:
        while True:
            time.sleep(max(0.0, min(args.interval, end_s - time.monotonic())))
            last = args.once or time.monotonic() >= end_s
            figures = view.next(last)
            print(figures.to_json() if args.json else text_of(figures, args.rows), flush=True)
            if last:
                return
    except KeyboardInterrupt:
        return


def _ends_s(args: argparse.Namespace) -> float:
    return math.inf if args.duration is None else float(args.duration)


def _interval(text: str) -> float:
    interval_s = duration(text)
    if interval_s < _SHORTEST_S:
        raise argparse.ArgumentTypeError(f"{text!r}: write {_SHORTEST_S} or more")
    return interval_s
