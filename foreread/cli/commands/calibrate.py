"""``foreread calibrate``: the cost of a disk's requests, measured with fio."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from foreread.boards.base.outputs import check_new
from foreread.boards.base.printable import printable
from foreread.boards.base.units import percent_text
from foreread.boards.base.written import write_whole
from foreread.boards.profile import read_profile, with_cost
from foreread.boards.profile_toml import encode_profile
from foreread.cli.arguments.output import add_output
from foreread.cli.arguments.profile import check_profile
from foreread.cli.arguments.target import add_target, target_words, tell
from foreread.cli.text.answer import answer_text
from foreread.cli.text.progress import ProgressLine
from foreread.cli.text.table import render
from foreread.machine.calibration import Calibrated, calibrate
from foreread.tracer.calibrate.limits import Limit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "device",
        metavar="DEVICE",
        help="block device, large file, or directory on the disk; foreread only reads it",
    )
    add_target(parser)
    add_output(
        parser,
        "-o",
        "--output",
        metavar="FILE",
        check=check_new,
        help="device model to write (TOML)",
    )
    add_output(
        parser,
        "--profile",
        metavar="FILE",
        check=check_profile,
        help="board profile to store the cost in (`foreread boards new -o FILE` makes one)",
    )


def run(args: argparse.Namespace) -> int:
    """Measure, explain, print and write."""
    line = ProgressLine(sys.stderr)
    done = calibrate(
        args.device,
        target=args.target,
        identity=args.identity,
        tell=tell,
        limited=partial(_warn, args),
        progress=partial(_show_progress, line),
    )
    line.end()
    if args.output is not None:
        done.write(args.output)
    if args.profile is not None:
        changed = with_cost(read_profile(args.profile), done.place.disk, done.cost)
        write_whole(args.profile, encode_profile(changed).encode())
    print(done.to_json() if args.json else _text(done))
    return 0


def _warn(args: argparse.Namespace, limits: Sequence[Limit]) -> None:
    options = target_words(args)
    options += ["-o", str(args.output)] if args.output else []
    for limit in limits:
        warning = limit.warning(["foreread", "calibrate", *options, args.device])
        print(f"foreread: warning: {printable(warning)}", file=sys.stderr)


def _show_progress(line: ProgressLine, done: int, total: int) -> None:
    if done == 0:
        line.step(f"measuring {total} kinds of requests")
    else:
        line.part("measuring", done, total)


def _text(done: Calibrated) -> str:
    model, rows = done.found, done.document.trials
    head = ("KiB", "order", "under way", "requests", "a second", "MB/s", "model's error")
    cells = [
        (
            str(row.request_kib),
            "in order" if row.sequential else "at random",
            str(row.depth),
            str(row.requests),
            f"{row.per_second:,.1f}",
            f"{row.bytes_per_second / 1e6:,.1f}",
            f"{percent_text(row.error, signed=True)}",
        )
        for row in rows
    ]
    return answer_text(
        [
            model.device.describe(),
            f"error of the model: median {percent_text(model.median)}, worst "
            f"{percent_text(model.worst)}",
        ],
        [render(head, cells)],
        more="foreread predict CAPTURE --device-model FILE (predicts with it)",
    )
