"""``foreread sweep``: the manual method, cold runs at every window."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from statistics import median

import msgspec

from boards.open import open_target
from boards.target import LocalTarget
from foreread.arguments import UsageError, add_windows, parse_windows
from foreread.cli import printable
from foreread.run_arguments import add_run, run_options
from foreread.table import render
from foreread.target_arguments import add_target, tell
from foreread.version import VERSION
from foreread.wording import duration_text
from tracer.local_trials import local_trials
from tracer.remote.trials import trials_on
from tracer.sweep import Sweep, check_writable, write_sweep
from tracer.sweep_run import Progress, SweepOptions, sweep

_DEFAULT_WINDOWS = "0,4k,8k,16k,32k,64k,128k,256k,512k,1024k"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-o", "--output", metavar="SWEEP", type=Path, required=True, help="file to write (JSON)"
    )
    add_target(parser)
    add_windows(parser, f"{_DEFAULT_WINDOWS} and the one in force")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="runs a window (3)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the shuffling (0)")
    parser.add_argument(
        "--device",
        action="append",
        default=[],
        metavar="NAME",
        help="disk whose window is set and whose reads are counted; may be given again "
        "(default: the disk that holds the command)",
    )
    add_run(parser, own_stdout=True)


def run(args: argparse.Namespace) -> int:
    """Sweep, with a progress line, and print the table."""
    if args.repeat < 1:
        raise UsageError("--repeat: at least 1")
    text = _DEFAULT_WINDOWS if args.windows is None else args.windows
    _windows_kb(text, 4096)  # wrong usage is told before anything is done
    options = SweepOptions(
        run=run_options(args),
        windows_kb=partial(_windows_kb, text),
        repeat=args.repeat,
        seed=args.seed,
        with_default=args.windows is None,
        devices=tuple(args.device),
        wait_s=args.wait,
        foreread=VERSION,
    )
    check_writable(args.output)
    result = _sweep(args, options)
    print(file=sys.stderr)
    if args.json:
        print(json.dumps(msgspec.to_builtins(result)))
    else:
        print(_text(result))
    return 0


def _sweep(args: argparse.Namespace, options: SweepOptions) -> Sweep:
    save = partial(write_sweep, args.output)
    with open_target(args.target, tell=tell) as target:
        here = isinstance(target, LocalTarget)
        bench = local_trials if here else partial(trials_on, target)
        return sweep(options, bench, save, _show_progress)


def _windows_kb(text: str, page_bytes: int) -> tuple[int, ...]:
    return tuple(window * page_bytes // 1024 for window in parse_windows(text, page_bytes))


def _show_progress(progress: Progress) -> None:
    line = (
        f"run {progress.done}/{progress.total}: {progress.read_ahead_kb} KiB, "
        f"{progress.seconds:.2f} s; {duration_text(progress.left_s)} left"
    )
    # On a terminal one line is written over; in a log each stands.
    end = "\r" if sys.stderr.isatty() else "\n"
    print(f"foreread: {line:<60}", end=end, file=sys.stderr, flush=True)


def _text(result: Sweep) -> str:
    rows = [
        (
            str(p.read_ahead_kb),
            f"{median(p.seconds):.3f}",
            f"{min(p.seconds):.3f}-{max(p.seconds):.3f}",
            f"{median(p.requests):.0f}",
            f"{median(p.pages):.0f}",
            str(len(p.seconds)),
        )
        for p in result.points
        if p.seconds
    ]
    head = ("KiB", "seconds", "min-max", "requests", "pages", "runs")
    notes = [*result.notes, *([] if result.complete else ["the sweep was interrupted"])]
    return "\n".join([render(head, rows), *(f"note: {printable(note)}" for note in notes)])
