"""``foreread sweep``: the manual method, cold runs at every window."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

from foreread.analyzer.metrics.results import of_sweep
from foreread.boards.base.outputs import check_new
from foreread.cli.arguments import UsageError, duration
from foreread.cli.arguments.history import add_history, keep_history
from foreread.cli.arguments.memory import add_memory
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
from foreread.measuring.sweep import DEFAULT_WINDOWS_KB, THRASH_S, sweep
from foreread.recording.recorded_start import is_capture
from foreread.tracer.formats.memory import within
from foreread.tracer.formats.scenario import beside
from foreread.tracer.formats.sweep import Point, Sweep
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
    add_memory(parser, "make the runs")
    parser.add_argument(
        "--limit",
        type=duration,
        metavar="S",
        help="end a run after S seconds, and count it as killed (default: no limit; with --memory "
        f"{THRASH_S:.0f})",
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
        help="with CAPTURE: run even if machine, kernel, CPU or disks differ from the capture's",
    )
    add_model(parser)
    add_history(parser)
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
        memory_kib=args.memory,
        limit_s=args.limit,
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
    keep_history(args, of_sweep(result))
    return 0


def _show_progress(progress: SweepProgress) -> None:
    took = "killed" if progress.seconds is None else f"{progress.seconds:.2f} s"
    line = (
        f"run {progress.done}/{progress.total}: {progress.read_ahead_kb} KiB, "
        f"{took}; {duration_text(progress.left_s)} left"
    )
    ProgressLine(sys.stderr).say(line)


def _text(result: Sweep, verbose: bool) -> str:
    head = ("KiB", "seconds", "min-max", "requests", "pages", "runs")
    measured = [point for point in result.points if point.seconds]
    drawn = curve_text([p.read_ahead_kb for p in measured], [median(p.seconds) for p in measured])
    table = render(head, [_row(point) for point in result.points if point.seconds or point.killed])
    where = beside(result.scenario) + within(result.memory_kib)
    return answer_text(
        list(_answer(result)),
        filter(None, [drawn, table] if verbose else [drawn or table]),
        doubts=[] if result.complete else ["the sweep was interrupted"],
        notes=result.notes,
        basis=[f"medians of cold runs of {shlex.join(result.command)}{where}"],
        more=f"--verbose ({_MORE})",
        verbose=verbose,
    )


def _row(point: Point) -> tuple[str, ...]:
    """Return the row of a window; runs that a limit ended are named, and not in the medians."""
    runs = f"{len(point.seconds)}"
    runs += f" + {len(point.killed)} killed" if point.killed else ""
    if not point.seconds:
        return (str(point.read_ahead_kb), "-", "-", "-", "-", runs)
    return (
        str(point.read_ahead_kb),
        f"{median(point.seconds):.3f}",
        f"{min(point.seconds):.3f}-{max(point.seconds):.3f}",
        f"{median(point.requests):.0f}",
        f"{median(point.pages):.0f}",
        runs,
    )


def _answer(result: Sweep) -> Iterator[str]:
    """Yield the fastest window, the present one, and those at which runs were killed."""
    killed = [f"{p.read_ahead_kb:,}" for p in result.points if p.killed]
    seconds = {
        p.read_ahead_kb: median(p.seconds) for p in result.points if p.seconds and not p.killed
    }
    if seconds:
        best, now = min(seconds, key=lambda kb: (seconds[kb], kb)), result.default_read_ahead_kb
        yield f"fastest: {best:,} KiB, {seconds[best]:.3f} s"
        if now in seconds and now != best:
            yield f"now: {now:,} KiB, {seconds[now]:.3f} s"
    else:
        yield "no window was measured"
    if killed:
        yield f"killed by the limit of memory or of time: runs at {', '.join(killed)} KiB"
