"""``foreread fingerprint``: what the current workload is like, and the settings that suit it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from analyzer.tuner.fingerprint import Snapshot
from boards.open import open_target
from foreread.target_arguments import add_target, tell
from tracer.interrupts import orderly_exit
from tracer.remote.job import Fact
from tracer.remote.watch import Period, Watch, WatchOptions, parse_period, watching

_LONGEST_S = 3600


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_target(parser)
    parser.add_argument(
        "--watch", action="store_true", help="a line for every period, until Ctrl-C"
    )
    parser.add_argument(
        "--interval", metavar="S", type=_seconds, default=10, help="length of a period (10)"
    )
    parser.add_argument(
        "--device",
        metavar="D",
        dest="devices",
        action="append",
        default=[],
        help="disk to watch, such as mmcblk0; may be repeated (default: all disks)",
    )


def run(args: argparse.Namespace) -> int:
    """Watch, and print what was seen."""
    options = WatchOptions(
        period_s=args.interval, disks=[name.removeprefix("/dev/") for name in args.devices]
    )
    show = _show_json if args.json else _show_text
    with (
        orderly_exit(),
        open_target(args.target, tell=tell) as target,
        watching(target, options) as watch,
    ):
        for fact in _until_interrupted(watch):
            show(options.period_s, fact)
            if fact.key == "period" and not args.watch:
                break
    return 0


def _until_interrupted(watch: Watch) -> Iterator[Fact]:
    """Yield all that the watcher says; after Ctrl-C, what it says about putting back."""
    try:
        while True:
            yield from watch.news()
    except KeyboardInterrupt:
        yield from watch.stop()


def _show_json(period_s: int, fact: Fact) -> None:
    """Print a period as a line of JSON."""
    if fact.key == "period":
        print(json.dumps(_document(period_s, parse_period(fact))), flush=True)


def _document(period_s: int, period: Period) -> dict[str, Any]:
    snapshot = Snapshot(**period.sums)
    # The watcher on the target decides what is too little to be a workload.
    published = snapshot.fingerprint(published=True) if period.fingerprint else None
    return {
        "schema": 1,
        "fingerprint": period.fingerprint or None,
        "pattern_published": published.pattern if published else None,
        "seconds": period_s,
        "reads": snapshot.reads,
        "writes": snapshot.writes,
        "size_bytes": snapshot.size_bytes,
        "distance_sectors": snapshot.distance,
        "gap_sectors": snapshot.gap,
    }


def _show_text(period_s: int, fact: Fact) -> None:
    if fact.key == "period":
        print(_line(parse_period(fact)), flush=True)


def _line(period: Period) -> str:
    if not period.fingerprint:
        return "no workload"
    one = Snapshot(**period.sums)
    return (
        f"{period.fingerprint:<24} {one.reads:g} reads, {one.writes:g} writes, "
        f"{one.size_bytes / 1024:.1f} KiB on average, {one.gap:,.0f} sectors apart "
        f"({one.distance:,.0f} from start to start)"
    )


def _seconds(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= _LONGEST_S):
        raise argparse.ArgumentTypeError(f"{text!r}: say whole seconds from 1 to {_LONGEST_S}")
    return int(text)
