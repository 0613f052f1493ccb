"""``foreread sweep``: the manual method, cold runs at every window."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import msgspec

from boards.open import LOCAL, open_target
from boards.target import LocalTarget
from foreread.cli.arguments import UsageError, add_windows, parse_windows
from foreread.cli.arguments.run import add_run, run_options
from foreread.cli.arguments.target import add_target, tell
from foreread.cli.commands.predict import add_model
from foreread.cli.main import printable
from foreread.cli.recorded import Recorded, check_board, is_capture, recorded_start, repeating
from foreread.cli.text.progress import ProgressLine
from foreread.cli.text.table import render
from foreread.cli.text.wording import duration_text
from foreread.version import VERSION
from tracer.formats.sweep import Sweep, check_writable, write_sweep
from tracer.local.ending import Ending
from tracer.local.sweep_run import Progress, SweepOptions, sweep
from tracer.local.trial import TrialBench, TrialOptions
from tracer.local.trials import local_trials
from tracer.remote.trials import trials_on

_DEFAULT_WINDOWS = "0,4k,8k,16k,32k,64k,128k,256k,512k,1024k"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-o", "--output", metavar="SWEEP", type=Path, required=True, help="file to write (JSON)"
    )
    add_target(parser)
    add_windows(parser, f"{_DEFAULT_WINDOWS} and the current one")
    parser.add_argument(
        "--repeat", type=int, default=3, metavar="N", help="runs per window (default: 3)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="random seed of the run order"
    )
    parser.add_argument(
        "--device",
        action="append",
        default=[],
        metavar="NAME",
        help="disk whose window is set and whose reads are counted; repeatable "
        "(default: the disk that holds the command)",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="with CAPTURE: run even if machine, kernel, CPU or disks are not those of the capture",
    )
    add_model(parser)
    add_run(parser, own_stdout=True)
    parser.usage = f"{parser.prog} [options] -o SWEEP (CAPTURE | -- COMMAND [ARGUMENT ...])"


def run(args: argparse.Namespace) -> int:
    """Sweep, with a progress line, and print the table."""
    if args.repeat < 1:
        raise UsageError("--repeat: write a number of 1 or more")
    text = _DEFAULT_WINDOWS if args.windows is None else args.windows
    _windows_kb(text, 4096)  # report wrong usage before anything is done
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
    of = _recorded(args)
    if of is not None:
        options = _as_recorded(options, of, args)
    result = _sweep(args, options, of)
    print(file=sys.stderr)
    if args.json:
        print(json.dumps(msgspec.to_builtins(result)))
    else:
        print(_text(result))
    return 0


def _recorded(args: argparse.Namespace) -> Recorded | None:
    """Return the recorded start if a capture stands in the place of the command."""
    first = Path(args.command_line[0])
    if len(args.command_line) > 1 or not is_capture(first):
        return None
    return recorded_start(first, args)[0]


def _as_recorded(options: SweepOptions, of: Recorded, args: argparse.Namespace) -> SweepOptions:
    """Return the options that sweep a recorded start, its proposed window included."""
    run = of.run if of.run.ending != Ending() else replace(of.run, ending=options.run.ending)
    proposed = () if of.proposal is None else (of.proposal.read_ahead_kb,)
    disks = () if of.proposal is None else tuple(of.proposal.by_disk)
    if args.target == LOCAL:
        args.target = of.target

    def windows_kb(page_bytes: int) -> tuple[int, ...]:
        return tuple(sorted({*options.windows_kb(page_bytes), *proposed}))

    return replace(options, run=run, windows_kb=windows_kb, devices=options.devices or disks)


def _sweep(args: argparse.Namespace, options: SweepOptions, of: Recorded | None) -> Sweep:
    save = partial(write_sweep, args.output)

    @contextmanager
    def opened(trials: TrialOptions) -> Iterator[TrialBench]:
        with (
            repeating(of, here),
            local_trials(trials) if here else trials_on(target, trials) as bench,
        ):
            if of is not None and not args.force:
                check_board(bench, of.capture)
            yield bench

    with open_target(args.target, identity=args.identity, tell=tell) as target:
        here = isinstance(target, LocalTarget)
        return sweep(options, opened, save, _show_progress)


def _windows_kb(text: str, page_bytes: int) -> tuple[int, ...]:
    return tuple(window * page_bytes // 1024 for window in parse_windows(text, page_bytes))


def _show_progress(progress: Progress) -> None:
    line = (
        f"run {progress.done}/{progress.total}: {progress.read_ahead_kb} KiB, "
        f"{progress.seconds:.2f} s; {duration_text(progress.left_s)} left"
    )
    ProgressLine(sys.stderr).say(line)


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
