"""``foreread report``: the board report, in a folder or in the browser of this desktop."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET

from foreread.analyzer.predict.criterion import PUBLISHED
from foreread.analyzer.prefetch.measured import read_measurement
from foreread.analyzer.tuner.findings.results import Results, read_results
from foreread.analyzer.tuner.store.store_file import is_store
from foreread.boards.base.outputs import check_folder
from foreread.boards.base.printable import printable
from foreread.browsing import Viewed, folder_of, view
from foreread.cli.arguments import UsageError
from foreread.cli.arguments.capture import add_capture
from foreread.cli.arguments.load import add_load
from foreread.cli.arguments.model import add_criterion, add_model, question_of
from foreread.cli.arguments.output import add_output
from foreread.cli.arguments.recording import recording_of
from foreread.cli.text.progress import ProgressLine
from foreread.documents.report import ReportDocument
from foreread.tracer.formats.sweep import Sweep, read_sweep

if TYPE_CHECKING:
    from foreread.analyzer.report.write import ReportFiles  # which imports matplotlib


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser, metavar="CAPTURE|TUNING")
    add_model(parser)
    add_criterion(parser)
    add_load(parser)
    parser.add_argument(
        "measured",
        metavar="SWEEP|TUNING",
        type=Path,
        nargs="*",
        help="files written by foreread sweep and foreread tune, at most one of each",
    )
    parser.add_argument(
        "--prefetch",
        metavar="MEASURED",
        type=Path,
        help="measured.json of studies/prefetch: measured runs with window, list, both and neither",
    )
    parser.add_argument(
        "--static",
        action="store_true",
        help="leave out all scripts, and the part of the page that recomputes",
    )
    add_output(
        parser,
        "-o",
        "--output",
        metavar="DIR",
        check=check_folder,
        help="folder to write the report to (with --open, by default one in your cache)",
    )
    parser.add_argument(
        "--open",
        action="store_true",
        help="open the report in the browser; over ssh, print how to reach it from your computer",
    )


def run(args: argparse.Namespace) -> int:
    """Write the report, open it if wanted, and print its path."""
    if args.output is None and not args.open:
        raise UsageError("add --open to read the report, or -o DIR to write it to a folder")
    files = _written(args, args.output or folder_of([args.capture, *args.measured]))
    seen = view(files.html) if args.open else None
    if args.json:
        print(_document(files, seen).to_json())
        return 0
    print(f"report: {printable(str(files.html))}")
    if seen is not None:
        _print_commands(seen.commands)
    return 0


def _document(files: ReportFiles, seen: Viewed | None) -> ReportDocument:
    return ReportDocument(
        html=str(files.html),
        pdf=str(files.pdf),
        json=str(files.json),
        opened=UNSET if seen is None else seen.opened,
        commands=UNSET if seen is None else seen.commands,
    )


def _print_commands(commands: list[str]) -> None:
    """Print how to reach a report for which no browser was opened."""
    if commands:
        where = "on your computer, one of" if len(commands) > 1 else "where a desktop is"
        print(f"no browser can be opened here; type {where}:")
    for command in commands:
        print(f"  {printable(command)}")


def _written(args: argparse.Namespace, output: Path) -> ReportFiles:
    """Write the report that the arguments ask for."""
    # matplotlib says so at import where its cache cannot be written: our stderr is for errors.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    line = ProgressLine()
    try:
        if is_store(args.capture):
            return _of_tuning(args, output, line)
        return _of_capture(args, output, line)
    finally:
        line.end()


def _of_tuning(args: argparse.Namespace, output: Path, line: ProgressLine) -> ReportFiles:
    """Write the report of a TUNING alone."""
    given = args.model or args.device_model or args.criterion == PUBLISHED
    given = given or args.loads or args.weigh
    if args.measured or given or args.prefetch:
        raise UsageError(
            f"{args.capture} is a TUNING: give it alone without other options, or after a CAPTURE"
        )
    from foreread.analyzer.report.make import report  # noqa: PLC0415  (matplotlib)

    return report(read_results(args.capture), output, step=line.step, part=line.part)


def _of_capture(args: argparse.Namespace, output: Path, line: ProgressLine) -> ReportFiles:
    sweep, tuning = _measured(args.measured)  # wrong files are refused before the prediction
    if args.prefetch is not None:
        read_measurement(args.prefetch)
    line.step(f"reading {printable(str(args.capture))}")
    recording = recording_of(args.capture, args)
    line.step("predicting every window")
    prediction = question_of(args).predicted(recording)
    from foreread.analyzer.report.make import report  # noqa: PLC0415  (matplotlib)

    return report(
        recording,
        output,
        prediction=prediction,
        sweep=sweep,
        tuning=tuning,
        device_model=args.device_model,
        prefetch_runs=args.prefetch,
        static=args.static,
        step=line.step,
        part=line.part,
    )


def _measured(paths: list[Path]) -> tuple[Sweep | None, Results | None]:
    """Return the sweep and the tuning among the files given, which are distinguished by content."""
    tunings = [path for path in paths if is_store(path)]
    sweeps = [path for path in paths if path not in tunings]
    for files, what in ((tunings, "TUNING"), (sweeps, "SWEEP")):
        if len(files) > 1:
            raise UsageError(f"{files[1]}: give at most one {what}")
    return (
        read_sweep(sweeps[0]) if sweeps else None,
        read_results(tunings[0]) if tunings else None,
    )
