"""``foreread confirm``: cold runs that confirm or contradict the proposal of a capture."""

from __future__ import annotations

import argparse
import shlex
import sys

from analyzer.confirm.text import board_text, gain_text, interval_text, percent
from analyzer.tuner.engines.stopping import Budget
from boards.counted import plural
from foreread.cli.arguments import add_capture, duration, window_kb
from foreread.cli.arguments.budget import parse_budget
from foreread.cli.arguments.model import add_criterion, add_model, question_of
from foreread.cli.arguments.run import add_wait
from foreread.cli.arguments.target import add_target, tell
from foreread.cli.main import printable
from foreread.cli.text.progress import ProgressLine
from foreread.cli.text.wording import duration_text
from foreread.confirm_start import MOST_RUNS, Confirmed, confirm
from foreread.confirming import Progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser)
    add_model(parser)
    add_criterion(parser)
    add_target(parser, default=None, named="the one that was recorded")
    parser.add_argument(
        "--read-ahead-kb",
        type=window_kb,
        metavar="K",
        help="test this window instead of the proposed one",
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
    found = confirm(
        args.capture,
        read_ahead_kb=args.read_ahead_kb,
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


def _show_progress(progress: Progress) -> None:
    known = progress.assessment
    so_far = ""
    if known.gain is not None and known.low is not None and known.high is not None:
        interval = interval_text(known.low, known.high)
        so_far = f"; {progress.proposed_kb} KiB saves {percent(known.gain)} % so far ({interval})"
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
    windows = f"{of.present_kb} -> {of.proposed_kb} KiB"
    lines = [
        f"{head}: {windows} {gain_text(of)}",
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
    for name in ("target", "identity", "read_ahead_kb", "model", "device_model"):
        value = getattr(args, name)
        words += [f"--{name.replace('_', '-')}", str(value)] if value is not None else []
    words += ["--force"] if args.force else []
    return shlex.join([*words, "--resume"])
