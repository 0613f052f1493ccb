"""``foreread confirm``: cold runs that confirm or contradict the proposal of a capture."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from analyzer.confirm.text import board_text, gain_text, interval_text, percent, windows_text
from analyzer.suite.predicted import SuiteQuestion
from analyzer.tuner.engines.stopping import Budget
from boards.counted import plural
from foreread.advised import Advised, row_of_advice
from foreread.cli.arguments import UsageError, add_capture, duration, window_kb
from foreread.cli.arguments.budget import parse_budget
from foreread.cli.arguments.model import add_criterion, add_image, add_model, question_of
from foreread.cli.arguments.run import add_wait
from foreread.cli.arguments.target import add_target, tell
from foreread.cli.main import printable
from foreread.cli.text.progress import ProgressLine
from foreread.cli.text.suite import proof_text
from foreread.cli.text.wording import duration_text
from foreread.confirm_start import MOST_RUNS, Confirmed, confirm
from foreread.confirming import Progress
from foreread.suite_confirming import confirm_suite

_REPEATED = (
    "target",
    "identity",
    "read_ahead_kb",
    "advice",
    "row",
    "replayer",
    "model",
    "device_model",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser, nargs="?")
    parser.add_argument(
        "--suite",
        metavar="SUITE",
        type=Path,
        help="measure every start of this suite, on its board, at the window now and at that of "
        "foreread predict SUITE; type the same again to continue after an interruption",
    )
    add_model(parser)
    add_image(parser)
    add_criterion(parser)
    add_target(parser, default=None, named="the one that was recorded")
    parser.add_argument(
        "--read-ahead-kb",
        type=window_kb,
        metavar="K",
        help="test this window instead of the proposed one",
    )
    parser.add_argument(
        "--advice",
        metavar="FILE",
        type=Path,
        help="test a row of this table instead: advice.json of foreread advise -o, or its folder",
    )
    parser.add_argument(
        "--row",
        type=row_number,
        metavar="N",
        help="which row of the table (default: 1, the best)",
    )
    parser.add_argument(
        "--replayer",
        metavar="PROGRAM",
        type=Path,
        help="what replays a list: foreread-prefetch built for the target (default: the shell "
        "script, which starts dd for each range)",
    )
    parser.add_argument(
        "--budget",
        metavar="N|TIME",
        type=parse_budget,
        default=Budget(),
        help=f"stop without an answer after N runs ({MOST_RUNS}) or a time such as 90s, 30m or 2h",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="continue the latest undecided result of this board and these windows",
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="random seed of the order of runs (default: random)"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="run even if machine, kernel, CPU or disks are not those of the capture",
    )
    parser.add_argument(
        "--limit",
        type=duration,
        default=600.0,
        metavar="S",
        help="maximum duration of one run in seconds (default: 600)",
    )
    add_wait(parser)


def run(args: argparse.Namespace) -> int:
    """Make the runs, store and print the result."""
    if args.suite is not None:
        return _suite(args)
    if args.capture is None:
        raise UsageError("give a capture, or --suite SUITE")
    found = confirm(
        args.capture,
        read_ahead_kb=args.read_ahead_kb,
        row=_row(args),
        target=args.target,
        identity=args.identity,
        question=question_of(args),
        runs=args.budget.evaluations or MOST_RUNS,
        seconds=args.budget.seconds,
        resume=args.resume,
        seed=args.seed,
        force=args.force,
        limit_s=args.limit,
        wait_s=args.wait,
        tell=tell,
        progress=_show_progress,
    )
    print(file=sys.stderr)
    if args.json:
        print(found.to_json())
    else:
        print(_text(found, args))
    return 0


def _suite(args: argparse.Namespace) -> int:
    """Measure the starts of a suite."""
    own = {
        "CAPTURE": args.capture is not None,
        "--target": args.target is not None,
        "--identity": args.identity is not None,
        "--advice": args.advice is not None,
        "--row": args.row is not None,
        "--replayer": args.replayer is not None,
        "--resume": args.resume,
        "--pid": args.pids != "tree",
    }
    for name, given in own.items():
        if given:
            raise UsageError(f"--suite measures the starts of the suite: remove {name}")
    found = confirm_suite(
        args.suite,
        read_ahead_kb=args.read_ahead_kb,
        question=SuiteQuestion(args.model, args.device_model, args.criterion),
        runs=args.budget.evaluations or MOST_RUNS,
        seconds=args.budget.seconds,
        seed=args.seed,
        force=args.force,
        limit_s=args.limit,
        wait_s=args.wait,
        tell=tell,
        progress=_show_progress,
    )
    print(file=sys.stderr)
    print(found.to_json() if args.json else proof_text(found))
    return 0


def row_number(text: str) -> int:
    """Read the number of a row, from 1."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:10]) < 1 << 31:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a row: rows begin at 1")
    return int(text)


def _row(args: argparse.Namespace) -> Advised | None:
    """Return the row of advice to test, None to test a window."""
    if args.advice is None:
        if args.row is not None or args.replayer is not None:
            raise UsageError("--row and --replayer are about a table: add --advice FILE")
        return None
    if args.read_ahead_kb is not None:
        raise UsageError("--advice and --read-ahead-kb both say what to test: give one of them")
    return row_of_advice(args.advice, args.row or 1, args.replayer)


def _show_progress(progress: Progress) -> None:
    known = progress.assessment
    so_far = ""
    if known.gain is not None and known.low is not None and known.high is not None:
        interval = interval_text(known.low, known.high)
        what = progress.change or f"{progress.proposed_kb} KiB"
        so_far = f"; {what} saves {percent(known.gain)} % so far ({interval})"
    line = (
        f"run {progress.runs}: {progress.read_ahead_kb} KiB, {progress.seconds:.3f} s{so_far}; "
        f"at most {duration_text(progress.left_s)} left"
    )
    ProgressLine(sys.stderr).say(line)


def _text(found: Confirmed, args: argparse.Namespace) -> str:
    of, gain = found.result, found.predicted_gain
    command = shlex.join(found.capture.command)
    words = {"too small": "too small to matter"}
    head = words.get(of.outcome, of.outcome)
    if of.outcome == "undecided":
        head = f"undecided after {plural(of.runs, 'run')}"
    lines = [
        f"{head}: {windows_text(of)} {gain_text(of)}",
        f"measured: {plural(len(of.pairs), 'pair')} of cold runs of {command} "
        f"in {duration_text(of.wall_seconds)}, "
        f"on {of.target or 'this machine'} ({board_text(of)})",
    ]
    if gain is not None:
        lines.append(f"predicted: saves {percent(gain)} %")
    if of.disturbed:
        lines.append(
            f"{plural(of.disturbed, 'pair', 'was')} disturbed by other processes and made again"
        )
    lines += [f"note: {note}" for note in of.notes]
    if of.outcome == "undecided":
        lines.append(f"to continue: {_again(args)}")
    return "\n".join(map(printable, lines))


def _again(args: argparse.Namespace) -> str:
    words = ["foreread", "confirm", str(args.capture)]
    for name in _REPEATED:
        value = getattr(args, name)
        words += [f"--{name.replace('_', '-')}", str(value)] if value is not None else []
    words += ["--force"] if args.force else []
    return shlex.join([*words, "--resume"])
