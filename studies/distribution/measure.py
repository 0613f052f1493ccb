"""Cold starts of recorded commands on a board, and how long the board took to boot.

    python -m studies.distribution.measure CAPTURE... --target T -o FILE
        [--read-ahead-kb K] [--lists FOLDER --replayer PROGRAM] [--repeat N]

FOLDER has a list NAME.list for each capture NAME. FILE gets seconds, requests and bytes of all runs
in guest time, and those of the boot up to multi-user.target, from the marks of ``image``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from analyzer.ingest.load import load
from boards.document import SCHEMA
from boards.open import open_target
from boards.target import Target
from foreread.run_words import recorded_run
from tracer.interrupts import orderly_exit
from tracer.local.beside import Replayer
from tracer.local.command import Streams
from tracer.local.trial import Trial, TrialOptions
from tracer.machines import bench_on

Document = dict[str, Any]
_SECTOR = 512


def boot_of(target: Target) -> Document:
    """Return seconds, requests and bytes between the marks of the last boot."""
    marks = []
    for name in ("begin", "end"):
        done = target.run(["cat", f"/run/mark-{name}"])
        if done.status:
            raise RuntimeError(f"the board has no mark of its boot's {name}")
        marks.append([int(word) for word in done.stdout.split()])
    (begin, first, low), (end, last, high) = marks
    return {
        "seconds": (end - begin) / 1e9,
        "requests": last - first,
        "read_bytes": _SECTOR * (high - low),
    }


def starts(target: Target, capture: Path, args: argparse.Namespace) -> Document:
    """Return the cold runs of a capture's command but the first, which is slower."""
    recorded = load(capture).capture
    if recorded is None:
        raise RuntimeError(f"{capture} is not a capture")
    replayer = None
    if args.lists is not None:
        listing = (args.lists / f"{capture.name}.list").read_bytes()
        replayer = Replayer(args.replayer.read_bytes(), listing)
    run = recorded_run(recorded, Streams(2, 2))
    options = TrialOptions(run, vmstat=False, by_shell=True, replayer=replayer)
    with bench_on(target, options, recorded) as bench:
        window = str(args.read_ahead_kb)
        settings = tuple((knob, window) for knob in bench.windows)
        trials = [Trial(settings, replays=replayer is not None)] * (args.repeat + 1)
        bench.announce(trials)
        runs = [bench.run(trial) for trial in trials]
    kept = [
        one for one in runs[1:] if one.status in ("ok", "contended") and one.seconds is not None
    ]
    return {
        "command": recorded.command,
        "seconds": [one.seconds for one in kept],
        "requests": [one.counters["disk.reads"] for one in kept],
        "read_bytes": [_SECTOR * one.counters["disk.read_sectors"] for one in kept],
        "notes": sorted({note for one in runs for note in one.notes}),
    }


def main(words: Sequence[str] | None = None) -> int:
    """Measure all captures on a board."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("captures", nargs="+", type=Path, metavar="CAPTURE")
    parser.add_argument("--target", required=True, metavar="T")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    parser.add_argument("--read-ahead-kb", type=int, default=128, metavar="K")
    parser.add_argument("--lists", type=Path, metavar="FOLDER")
    parser.add_argument("--replayer", type=Path, metavar="PROGRAM")
    parser.add_argument("--repeat", type=int, default=2)
    args = parser.parse_args(words)
    with orderly_exit(), open_target(args.target, tell=print) as target:
        found = {capture.name: starts(target, capture, args) for capture in args.captures}
        document = {
            "schema": SCHEMA,
            "read_ahead_kb": args.read_ahead_kb,
            "listed": args.lists is not None,
            "boot": boot_of(target),
            "starts": found,
        }
    args.output.write_text(json.dumps(document, indent=1) + "\n")
    for name, one in found.items():
        if one["seconds"]:
            print(f"{name}: {median(one['seconds']):.3f} s, {median(one['requests']):.0f} requests")
    print(f"boot: {document['boot']['seconds']:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
