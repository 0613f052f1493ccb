"""The report that several commands write: its arguments, and its making with a progress line."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.predict.choice import PUBLISHED
from analyzer.prefetch.measured import read_measurement
from analyzer.tuner.findings.results import Results, read_results
from analyzer.tuner.store.store_file import is_store
from foreread.cli.arguments import UsageError, add_capture
from foreread.cli.arguments.model import add_criterion, add_model, question_of
from foreread.cli.arguments.recording import recording_of
from foreread.cli.main import printable
from foreread.cli.text.progress import ProgressLine
from tracer.formats.sweep import Sweep, read_sweep

if TYPE_CHECKING:
    from analyzer.report.write import ReportFiles  # which imports matplotlib


def add_content(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that say what is in a report."""
    add_capture(parser, metavar="CAPTURE|TUNING")
    add_model(parser)
    add_criterion(parser)
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
        help="leave out the part of the page that recomputes, and every script",
    )


def written(args: argparse.Namespace, output: Path) -> ReportFiles:
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
    if args.measured or given or args.prefetch:
        raise UsageError(
            f"{args.capture} is a TUNING: give it alone without other options, or after a CAPTURE"
        )
    from analyzer.report.make import report  # noqa: PLC0415  (matplotlib)

    return report(read_results(args.capture), output, step=line.step, part=line.part)


def _of_capture(args: argparse.Namespace, output: Path, line: ProgressLine) -> ReportFiles:
    sweep, tuning = _measured(args.measured)  # wrong files are refused before the prediction
    if args.prefetch is not None:
        read_measurement(args.prefetch)
    line.step(f"reading {printable(str(args.capture))}")
    recording = recording_of(args.capture, args)
    line.step("predicting every window")
    prediction = question_of(args).predicted(recording)
    from analyzer.report.make import report  # noqa: PLC0415  (matplotlib)

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
    for found, what in ((tunings, "TUNING"), (sweeps, "SWEEP")):
        if len(found) > 1:
            raise UsageError(f"{found[1]}: give at most one {what}")
    return (
        read_sweep(sweeps[0]) if sweeps else None,
        read_results(tunings[0]) if tunings else None,
    )
