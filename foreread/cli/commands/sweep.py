"""``foreread sweep``: the manual method, cold runs at every window."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

from foreread.boards.base.outputs import check_new
from foreread.cli.arguments import UsageError
from foreread.cli.arguments.model import add_model, question_of
from foreread.cli.arguments.output import add_output
from foreread.cli.arguments.run import add_run, run_options
from foreread.cli.arguments.scenario import add_scenario, scenario_of
from foreread.cli.arguments.target import add_target, tell
from foreread.cli.arguments.verbose import add_verbose
from foreread.cli.arguments.windows import add_windows, parse_windows_kib
from foreread.cli.text.answer import answer_text
from foreread.cli.text.curve import curve_text
from foreread.cli.text.progress import ProgressLine
from foreread.cli.text.table import render
from foreread.cli.text.wording import duration_text
from foreread.measuring.sweep import DEFAULT_WINDOWS_KB, sweep
from foreread.recording.recorded_start import is_capture
from foreread.tracer.formats.scenario import beside
from foreread.tracer.formats.sweep import Sweep
from foreread.tracer.trials.sweep import SweepProgress

_MORE = "the table below the curve, and all notes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_output(
        parser,
        "-o",
        "--output",
        metavar="SWEEP",
        check=check_new,
        required=True,
        help="file to write (JSON)",
    )
    add_target(parser)
    default = ",".join(map(str, DEFAULT_WINDOWS_KB))
    add_windows(parser, f"{default} and the current one")
    parser.add_argument(
        "--repeat", type=int, default=3, metavar="N", help="runs per window (default: 3)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="random seed of the run order"
    )
    add_scenario(parser)
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
        help="with CAPTURE: run even if machine, kernel, CPU or disks differ from the capture's",
    )
    add_model(parser)
    add_verbose(parser, _MORE)
    add_run(parser, own_stdout=True)
    parser.usage = f"{parser.prog} [options] -o SWEEP (CAPTURE | -- COMMAND [ARGUMENT ...])"


def run(args: argparse.Namespace) -> int:
    """Sweep, with a progress line, and print the table."""
    if args.repeat < 1:
        raise UsageError("--repeat: write a number of 1 or more")
    if args.windows is not None:
        parse_windows_kib(args.windows, 4096)  # report wrong usage before anything is done
    options, first = run_options(args), Path(args.command_line[0])
    recorded = len(args.command_line) == 1 and is_capture(first)
    result = sweep(
        first if recorded else options,
        args.output,
        windows_kib=None if args.windows is None else partial(parse_windows_kib, args.windows),
        repeat=args.repeat,
        seed=args.seed,
        scenario=scenario_of(args, "a SWEEP"),
        devices=args.device,
        target=args.target,
        identity=args.identity,
        ending=options.ending,
        question=question_of(args),
        force=args.force,
        wait_s=args.wait,
        tell=tell,
        progress=_show_progress,
    )
    print(file=sys.stderr)
    if args.json:
        print(result.to_json())
    else:
        print(_text(result, args.verbose))
    return 0


def _show_progress(progress: SweepProgress) -> None:
    line = (
        f"run {progress.done}/{progress.total}: {progress.read_ahead_kb} KiB, "
        f"{progress.seconds:.2f} s; {duration_text(progress.left_s)} left"
    )
    ProgressLine(sys.stderr).say(line)


def _text(result: Sweep, verbose: bool) -> str:
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
    measured = [point for point in result.points if point.seconds]
    drawn = curve_text([p.read_ahead_kb for p in measured], [median(p.seconds) for p in measured])
    table = render(head, rows)
    return answer_text(
        list(_answer(result)),
        filter(None, [drawn, table] if verbose else [drawn or table]),
        doubts=[] if result.complete else ["the sweep was interrupted"],
        notes=result.notes,
        basis=[f"medians of cold runs of {shlex.join(result.command)}{beside(result.scenario)}"],
        more=f"--verbose ({_MORE})",
        verbose=verbose,
    )


def _answer(result: Sweep) -> Iterator[str]:
    """Yield the fastest window, and the present one."""
    seconds = {p.read_ahead_kb: median(p.seconds) for p in result.points if p.seconds}
    if not seconds:
        yield "no window was measured"
        return
    best, now = min(seconds, key=lambda kb: (seconds[kb], kb)), result.default_read_ahead_kb
    yield f"fastest: {best:,} KiB, {seconds[best]:.3f} s"
    if now in seconds and now != best:
        yield f"now: {now:,} KiB, {seconds[now]:.3f} s"
