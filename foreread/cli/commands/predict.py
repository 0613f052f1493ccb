"""``foreread predict``: every window from one capture."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from foreread.analyzer.suite import is_suite
from foreread.cli.arguments import UsageError, refuse
from foreread.cli.arguments.capture import add_capture
from foreread.cli.arguments.forms import FORMS, add_forms, given_forms, write_forms
from foreread.cli.arguments.history import add_history, keep_history
from foreread.cli.arguments.load import add_load
from foreread.cli.arguments.model import add_criterion, add_image, add_model, question_of
from foreread.cli.arguments.verbose import add_verbose
from foreread.cli.arguments.windows import add_windows, parse_windows, parse_windows_kib, window_kb

if TYPE_CHECKING:
    from foreread.analyzer.metrics.metric import Metric
    from foreread.analyzer.predict.prediction import Prediction
    from foreread.tracer.formats.capture import Metadata
    from foreread.tracer.formats.confirmation import Confirmation

_MORE = "every disk, the published criterion with G fixed and C_opt, the bands, and all notes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser, nargs="+", suite=True)
    add_windows(parser, "every window up to 1,023 pages")
    add_model(parser)
    add_image(parser)
    add_criterion(parser)
    add_load(parser)
    parser.add_argument(
        "--measured",
        metavar="SWEEP",
        type=Path,
        help="compare the prediction with this file of foreread sweep: errors of requests, pages "
        "and seconds, and the regret; of a sweep beside a load, beside that load",
    )
    parser.add_argument(
        "--explain",
        metavar="WINDOW",
        type=window_kb,
        help="print how the seconds of this window (KiB) come about, from events to their sum",
    )
    add_forms(parser, FORMS)
    add_history(parser)
    add_verbose(parser, _MORE)


def run(args: argparse.Namespace) -> int:
    """Print the prediction."""
    if any(map(is_suite, args.capture)):
        return _suite(args)
    if args.loads:
        alone = {"--explain": args.explain is not None}
        refuse(alone, "this is about an idle machine, and --load about others")
    if args.explain is not None:
        _check_explained(args)
    _check_kept(args)
    if args.measured is not None:
        return _compared(args)
    prediction, capture = _predicted(args)
    if args.explain is not None:
        from foreread.cli.text.explained import explained_text  # noqa: PLC0415  (few are explained)

        print(explained_text(prediction, args.explain))
        return 0
    proofs = _proofs(capture, prediction.verdict.read_ahead_kb)
    metrics: Sequence[Metric] = ()
    if _is_kept(args):
        from foreread.analyzer.metrics.results import of_prediction  # noqa: PLC0415

        metrics = of_prediction(prediction, capture, args.capture[0])
        write_forms(args, FORMS, metrics)
    if args.json:
        print(prediction.document(proofs.confirmations).to_json())
    else:
        from foreread.cli.text.prediction import prediction_text  # noqa: PLC0415  (not for JSON)

        path = shlex.quote(str(args.capture[0]))
        print(prediction_text(prediction, proofs.lines, path, verbose=args.verbose))
    keep_history(args, metrics)
    return 0


@dataclass(frozen=True)
class _Proofs:
    """The measured proofs in a capture, and the lines that cite them, warnings at the end."""

    confirmations: list[Confirmation]
    lines: list[str]


def _proofs(capture: Metadata, read_ahead_kb: int | None) -> _Proofs:
    """Return what a capture holds of measured runs at a window."""
    if not capture.confirmations:
        return _Proofs([], [])
    # Few captures have them.
    from foreread.analyzer.confirm.text import cited, stored, warnings_of  # noqa: PLC0415

    results = stored(capture)
    warnings = [f"  warning: {warning}" for warning in warnings_of(capture, read_ahead_kb)]
    return _Proofs(results, [*map(cited, results), *warnings])


def _check_explained(args: argparse.Namespace) -> None:
    """Raise UsageError for options that --explain does not go with."""
    if args.json:
        raise UsageError("--explain prints text, and --json has the same figures: remove one")
    for name, given in (("--image", args.image), ("--measured", args.measured)):
        if given is not None:
            raise UsageError(f"--explain is for a prediction without {name}: remove one")


def _check_kept(args: argparse.Namespace) -> None:
    """Raise UsageError for files of metrics beside options that print something else."""
    if args.explain is not None or args.measured is not None:
        files = {f"--{name}": path for name, path in given_forms(args, FORMS).items()}
        why = "this is for a prediction without --explain and --measured"
        refuse({**files, "--history": args.history}, why)


def _predicted(args: argparse.Namespace) -> tuple[Prediction, Metadata]:
    """Return the prediction of the start that ``args`` name, and its capture."""
    from foreread.cli.arguments.recording import recording_of  # noqa: PLC0415  (not for the help)

    recording, *more = (recording_of(path, args) for path in args.capture)
    windows = parse_windows(args.windows, recording.page_size) if args.windows is not None else None
    return question_of(args).predicted(recording, windows, more), recording.capture


def _compared(args: argparse.Namespace) -> int:
    """Print the prediction compared with the measured runs of a SWEEP."""
    # Few predictions are compared with runs.
    from foreread.analyzer.predict.validate import validate  # noqa: PLC0415
    from foreread.cli.text.validation import validation_text  # noqa: PLC0415
    from foreread.tracer.formats.scenario import IDLE  # noqa: PLC0415
    from foreread.tracer.formats.sweep import read_sweep  # noqa: PLC0415

    sweep = read_sweep(args.measured)
    if sweep.condition != IDLE and sweep.condition not in args.loads:
        args.loads = [*args.loads, sweep.condition]
    prediction, capture = _predicted(args)
    comparison = validate(prediction, sweep, capture)
    text = comparison.to_json() if args.json else validation_text(comparison, verbose=args.verbose)
    print(text)
    return 0


def _suite(args: argparse.Namespace) -> int:
    """Print the answer for a suite."""
    # Few predictions are for a suite.
    from foreread.analyzer.suite.predicted import SuiteQuestion, predict_suite  # noqa: PLC0415
    from foreread.analyzer.suite.read import read_suite  # noqa: PLC0415
    from foreread.cli.text.progress import ProgressLine  # noqa: PLC0415
    from foreread.cli.text.suite import suite_text  # noqa: PLC0415

    if len(args.capture) > 1:
        raise UsageError("a suite names its captures itself: give the suite alone")
    own = {
        "--pid": args.pids != "tree",
        "--page-size": args.page_size,
        "--measured": args.measured is not None,
        "--explain": args.explain is not None,
        "--load": args.loads,
        "--weigh": args.weigh,
    }
    refuse(own, "this is for single starts, not for a suite")
    question = SuiteQuestion(
        args.model,
        args.device_model,
        args.criterion,
        None if args.windows is None else partial(parse_windows_kib, args.windows),
    )
    line = ProgressLine()
    try:
        answer = predict_suite(read_suite(args.capture[0]), question, line.step)
    finally:
        line.end()
    metrics: Sequence[Metric] = ()
    if _is_kept(args):
        from foreread.analyzer.metrics.results import of_suite  # noqa: PLC0415

        metrics = of_suite(answer)
        write_forms(args, FORMS, metrics)
    print(answer.to_json() if args.json else suite_text(answer, verbose=args.verbose))
    keep_history(args, metrics)
    return 0


def _is_kept(args: argparse.Namespace) -> bool:
    """Return whether the metrics of the prediction go to a file."""
    return bool(given_forms(args, FORMS)) or args.history is not None
