"""``foreread calibrate``: the cost of a disk's requests, measured with fio."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from analyzer.predict.disk.calibration import Found, Trial, explain
from analyzer.predict.disk.device_model import cost_of
from analyzer.predict.disk.document import CalibrationDocument, TrialDocument, trial_documents
from boards.cost import Calibration, Cost
from boards.open import open_target
from boards.profile import builtin_names, read_profile, with_cost
from boards.profile_toml import encode_cost, encode_profile
from foreread.cli.arguments import UsageError
from foreread.cli.arguments.target import add_target, target_words, tell
from foreread.cli.main import printable
from foreread.cli.text.progress import ProgressLine
from foreread.cli.text.table import render
from foreread.version import VERSION
from tracer.calibrate.fio import Place, find_place
from tracer.calibrate.limits import Limit, limits_elsewhere
from tracer.calibrate.run import measure_all
from tracer.formats.sweep import check_writable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "device",
        metavar="DEVICE",
        help="block device, large file, or directory on the disk; foreread only reads it",
    )
    add_target(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="device model to write (TOML)"
    )
    parser.add_argument(
        "--profile",
        metavar="FILE",
        type=Path,
        help="board profile to store the cost in (`foreread boards new -o FILE` makes one)",
    )


def run(args: argparse.Namespace) -> int:
    """Measure, explain, print and write."""
    if args.profile is not None:
        _check_profile(args.profile)
    if args.output is not None:
        check_writable(args.output)
    with open_target(args.target, identity=args.identity, tell=tell) as target:
        place = find_place(target, args.device)
        limits = limits_elsewhere(target, place.disk) if place.disk else []
        _warn(limits, args)
        line = ProgressLine(sys.stderr)
        seen = measure_all(target, place, partial(_show_progress, line))
        line.end()
    trials = [
        Trial(one.job.kib, one.job.sequential, one.job.depth, one.done_ns, one.latency_ns)
        for one in seen
    ]
    found = explain(trials)
    cost = cost_of(found.device, found.band, _calibration(place, found))
    if args.output is not None:
        args.output.write_text(encode_cost(cost), encoding="utf-8")
    if args.profile is not None:
        changed = with_cost(read_profile(args.profile), place.disk, cost)
        args.profile.write_text(encode_profile(changed), encoding="utf-8")
    rows = trial_documents(trials, found)
    print(_document(place, found, cost, rows).to_json() if args.json else _text(found, rows))
    return 0


def _warn(limits: Sequence[Limit], args: argparse.Namespace) -> None:
    options = target_words(args)
    options += ["-o", str(args.output)] if args.output else []
    for limit in limits:
        warning = limit.warning(["foreread", "calibrate", *options, args.device])
        print(f"foreread: warning: {printable(warning)}", file=sys.stderr)


def _check_profile(path: Path) -> None:
    if str(path) in builtin_names():
        raise UsageError(
            f"--profile: {path} comes with foreread and is not changed; create your own with "
            "`foreread boards new -o FILE`"
        )
    read_profile(path)


def _calibration(place: Place, found: Found) -> Calibration:
    return Calibration(
        date=datetime.now(UTC).date().isoformat(),
        kernel=place.kernel,
        tool=f"{place.fio}, foreread {VERSION}",
        device=place.path,
        error_median=round(found.median, 4),
        error_worst=round(found.worst, 4),
    )


def _show_progress(line: ProgressLine, done: int, total: int) -> None:
    if done == 0:
        line.step(f"measuring {total} kinds of requests")
    else:
        line.part("measuring", done, total)


def _document(
    place: Place, found: Found, cost: Cost, rows: list[TrialDocument]
) -> CalibrationDocument:
    return CalibrationDocument(
        device=place.path,
        size_bytes=place.size,
        cost=cost,
        summary=found.device.describe(),
        error_median=found.median,
        error_worst=found.worst,
        trials=rows,
    )


def _text(found: Found, rows: Sequence[TrialDocument]) -> str:
    head = ("KiB", "order", "under way", "requests", "a second", "MB/s", "model's error")
    cells = [
        (
            str(row.request_kib),
            "in order" if row.sequential else "at random",
            str(row.depth),
            str(row.requests),
            f"{row.per_second:,.1f}",
            f"{row.bytes_per_second / 1e6:,.1f}",
            f"{100 * row.error:+.1f} %",
        )
        for row in rows
    ]
    return (
        f"{render(head, cells)}\n\n{found.device.describe()}\n"
        f"error of the model: median {100 * found.median:.1f} %, worst {100 * found.worst:.1f} %"
    )
