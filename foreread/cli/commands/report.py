"""``foreread report``: the board report."""

from __future__ import annotations

import argparse
import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.ingest.load import load
from analyzer.ingest.recording import Recording
from analyzer.predict.choice import PUBLISHED
from analyzer.predict.disk.device_model import read_device_model
from analyzer.predict.linux import PREFIX
from analyzer.predict.prediction import Prediction
from analyzer.predict.remedy import target_words
from analyzer.predict.validate import validate
from analyzer.prefetch import PrefetchError, compare
from analyzer.prefetch.measured import Listed, read_measurement
from analyzer.tuner.findings.results import Results, read_results
from analyzer.tuner.store.store_file import is_store
from foreread.cli.arguments import UsageError, add_capture
from foreread.cli.arguments.model import add_criterion, add_model, question_of
from foreread.cli.main import printable
from foreread.cli.text.progress import ProgressLine
from foreread.documents.report import ReportDocument
from tracer.formats.sweep import Sweep, read_sweep

DRAWING = "drawing figures"

if TYPE_CHECKING:
    from analyzer.report import ReportFiles  # which imports matplotlib


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
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
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        required=True,
        help="folder to write the report to",
    )


def run(args: argparse.Namespace) -> int:
    """Write the report and print its path."""
    # matplotlib says so at import where its cache cannot be written: our stderr is for errors.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    line = ProgressLine()
    try:
        files = _of_tuning(args, line) if is_store(args.capture) else _of_capture(args, line)
    finally:
        line.end()
    if args.json:
        paths = (str(files.html), str(files.pdf), str(files.json))
        print(ReportDocument(html=paths[0], pdf=paths[1], json=paths[2]).to_json())
    else:
        print(f"report: {files.html}")
    return 0


def _of_tuning(args: argparse.Namespace, line: ProgressLine) -> ReportFiles:
    """Write the report of a TUNING alone."""
    given = args.model or args.device_model or args.criterion == PUBLISHED
    if args.measured or given or args.prefetch:
        raise UsageError(
            f"{args.capture} is a TUNING: give it alone without other options, or after a CAPTURE"
        )
    from analyzer.report import write_tuning_report  # noqa: PLC0415

    line.step(DRAWING)
    results = read_results(args.capture)
    return write_tuning_report(results, args.output, partial(line.part, DRAWING))


def _of_capture(args: argparse.Namespace, line: ProgressLine) -> ReportFiles:
    line.step(f"reading {printable(str(args.capture))}")
    recording = load(args.capture, args.pids)
    line.step("predicting every window")
    prediction = question_of(args).predicted(recording)
    sweep, tuned = _measured(args.measured)
    command = recording.capture.command if recording.capture else None
    validation = (
        validate(prediction, sweep, command, target_words(recording.capture)) if sweep else None
    )
    line.step("predicting window against prefetch list")
    listed = _listed(recording, prediction, args)
    from analyzer.report import write_report  # noqa: PLC0415

    line.step(DRAWING)
    told = partial(line.part, DRAWING)
    return write_report(recording, prediction, sweep, validation, args.output, listed, tuned, told)


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


def _listed(
    recording: Recording, prediction: Prediction, args: argparse.Namespace
) -> Listed | None:
    """Return the effect of the recording's prefetch list; None if none can be made."""
    runs = None if args.prefetch is None else read_measurement(args.prefetch)
    try:
        if not prediction.model.startswith(PREFIX):
            raise PrefetchError("a prefetch list needs the kernel's model", "add --model linux")
        device = None if args.device_model is None else read_device_model(args.device_model)
        return Listed(compare(recording, device=device, prediction=prediction), runs)
    except PrefetchError:
        if runs is not None:
            raise
        return None
