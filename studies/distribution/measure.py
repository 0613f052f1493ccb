"""Cold starts of a recorded command on a board.

    python -m studies.distribution.measure CAPTURE --target T -o FILE [--case NAME]
        [--read-ahead-kb K] [--list LIST --replayer PROGRAM] [--repeat N]

FILE gets seconds, requests and bytes of all runs in guest time; those of other processes that use
the disk meanwhile are among them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from foreread.analyzer.ingest.load import load
from foreread.boards.base.document import SCHEMA
from foreread.boards.base.interrupts import orderly_exit
from foreread.boards.open import open_target
from foreread.boards.target import Target
from foreread.recording.words import recorded_run
from foreread.tracer.machines import bench_on
from foreread.tracer.runs.options import Streams
from foreread.tracer.trials.beside import Replayer
from foreread.tracer.trials.trial import Trial, TrialOptions
from studies.distribution.boots import SECTOR

Document = dict[str, Any]


def starts(target: Target, args: argparse.Namespace) -> list[Document]:
    """Return the cold runs of a capture's command but the first, which is slower."""
    recorded = load(args.capture).capture
    if recorded is None:
        raise RuntimeError(f"{args.capture} is not a capture")
    replayer = None
    if args.list is not None:
        replayer = Replayer(args.replayer.read_bytes(), args.list.read_bytes())
    run = recorded_run(recorded, Streams(2, 2))
    options = TrialOptions(run, vmstat=False, replayer=replayer)
    with bench_on(target, options, recorded) as bench:
        window = str(args.read_ahead_kb)
        settings = tuple((knob, window) for knob in bench.windows)
        trials = [Trial(settings, replays=replayer is not None)] * (args.repeat + 1)
        bench.announce(trials)
        runs = [bench.run(trial) for trial in trials]
    return [
        {
            "seconds": run.seconds,
            "requests": run.counters["disk.reads"],
            "read_bytes": SECTOR * run.counters["disk.read_sectors"],
            "read_ahead_kb": args.read_ahead_kb,
            "notes": sorted(run.notes),
        }
        for run in runs[1:]
        if run.status in ("ok", "contended") and run.seconds is not None
    ]


def main(words: Sequence[str] | None = None) -> int:
    """Measure a capture's command on a board."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("capture", type=Path, metavar="CAPTURE")
    parser.add_argument("--target", required=True, metavar="T")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    parser.add_argument("--case", default="", metavar="NAME", help="name in the tables")
    parser.add_argument("--read-ahead-kb", type=int, default=128, metavar="K")
    parser.add_argument("--list", type=Path, metavar="LIST")
    parser.add_argument("--replayer", type=Path, metavar="PROGRAM")
    parser.add_argument("--repeat", type=int, default=3, metavar="N")
    args = parser.parse_args(words)
    with orderly_exit(), open_target(args.target, tell=print) as target:
        runs = starts(target, args)
    document = {"schema": SCHEMA, "case": args.case or args.output.stem, "runs": runs}
    args.output.write_text(json.dumps(document, indent=1) + "\n")
    seconds = [run["seconds"] for run in runs]
    if seconds:
        print(f"{document['case']}: {median(seconds):.3f} s of {seconds}")
    return 0 if seconds else 1


if __name__ == "__main__":
    sys.exit(main())
