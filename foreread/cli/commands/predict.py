"""``foreread predict``: every window from one capture."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from analyzer.confirm.text import cited, stored, warnings_of
from analyzer.predict.holds_for import holds_for
from analyzer.predict.prediction import Curve, Prediction
from analyzer.predict.validate import validate
from analyzer.suite.predicted import SuiteQuestion, predict_suite
from analyzer.suite.read import is_suite, read_suite
from boards.counted import plural
from foreread.cli.arguments import UsageError, add_capture, add_windows, parse_windows
from foreread.cli.arguments.model import add_criterion, add_image, add_model, question_of
from foreread.cli.arguments.recording import recording_of
from foreread.cli.main import printable
from foreread.cli.text.curve import curve_text
from foreread.cli.text.progress import ProgressLine
from foreread.cli.text.suite import suite_text
from foreread.cli.text.table import render
from foreread.cli.text.validation import validation_text
from tracer.formats.confirmation import Confirmation
from tracer.formats.sweep import read_sweep

_SHOWN_WINDOWS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1023)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser, nargs="+", suite=True)
    add_windows(parser, "every window up to 1,023 pages")
    add_model(parser)
    add_image(parser)
    add_criterion(parser)
    parser.add_argument(
        "--measured",
        metavar="SWEEP",
        type=Path,
        help="print the prediction beside this file of foreread sweep: errors of requests, pages "
        "and seconds, and the regret",
    )


def run(args: argparse.Namespace) -> int:
    """Print the prediction."""
    if any(map(is_suite, args.capture)):
        return _suite(args)
    sweep = None if args.measured is None else read_sweep(args.measured)
    recording, *more = (recording_of(path, args) for path in args.capture)
    windows = parse_windows(args.windows, recording.page_size) if args.windows is not None else None
    prediction = question_of(args).predicted(recording, windows, more)
    if sweep is not None:
        comparison = validate(prediction, sweep, recording.capture)
        print(comparison.to_json() if args.json else validation_text(comparison))
        return 0
    confirmations = stored(recording.capture)
    if args.json:
        print(prediction.document(list(confirmations)).to_json())
    else:
        warnings = warnings_of(recording.capture, prediction.verdict.read_ahead_kb)
        print(_text(prediction, confirmations, warnings, shlex.quote(str(args.capture[0]))))
    return 0


def _suite(args: argparse.Namespace) -> int:
    """Print the answer for a suite."""
    if len(args.capture) > 1:
        raise UsageError("a suite names its captures itself: give the suite alone")
    own = {
        "--pid": args.pids != "tree",
        "--page-size": args.page_size,
        "--measured": args.measured is not None,
    }
    for name, given in own.items():
        if given:
            raise UsageError(f"{name} is for single captures: remove it")
    asked = SuiteQuestion(
        args.model,
        args.device_model,
        args.criterion,
        None if args.windows is None else partial(_windows_kib, args.windows),
    )
    line = ProgressLine()
    try:
        found = predict_suite(read_suite(args.capture[0]), asked, line.step)
    finally:
        line.end()
    print(found.to_json() if args.json else suite_text(found))
    return 0


def _windows_kib(text: str, page_size: int) -> list[int]:
    return [window * page_size // 1024 for window in parse_windows(text, page_size)]


def _text(
    prediction: Prediction,
    confirmations: Sequence[Confirmation],
    warnings: Sequence[str],
    path: str,
) -> str:
    curves = prediction.devices if len(prediction.devices) > 1 else []
    parts = [_curve_text(curve) for curve in (*curves, prediction.total)]
    total = prediction.total
    if total.seconds is not None:
        parts += filter(None, [curve_text(total.read_ahead_kb, total.seconds)])
    verdict = prediction.verdict
    value = "" if verdict.read_ahead_kb is None else f" read_ahead_kb={verdict.read_ahead_kb}"
    lines = [f"verdict: {verdict.action}{value}", f"  {printable(verdict.why)}"]
    if load := holds_for(verdict, path):
        lines.append(f"  load: {printable(load)}")
    lines += [f"  warning: {printable(warning)}" for warning in warnings]
    lines += [f"  doubt: {printable(doubt)}" for doubt in prediction.doubts]
    if verdict.remedy is not None:
        lines.append(f"  run: {printable(verdict.remedy)}")
    parts.append("\n".join(lines))
    parts += [printable(cited(one)) for one in confirmations]
    parts += [f"note: {printable(note)}" for note in prediction.ordered_notes]
    return "\n\n".join(parts)


def _curve_text(curve: Curve) -> str:
    marks = _marks(curve)
    shown = [w for w in curve.windows if w in _SHOWN_WINDOWS or w in marks]
    rows = [_row(curve, w, ", ".join(marks.get(w, []))) for w in (shown or curve.windows[:16])]
    timed = ("seconds", "band") if curve.seconds is not None else ()
    head = (
        "window",
        "KiB",
        "F requests",
        "pages",
        "G unused",
        "G fixed",
        "C_opt fixed",
        *timed,
        "",
    )
    front = [curve.read_ahead_kb[curve.windows.index(w)] for w in curve.pareto]
    pareto = f"Pareto-optimal windows (no other has both fewer F and fewer G): {_listed(front)} KiB"
    accessed = f"{plural(curve.tap, 'page')} accessed{_beside(curve)}"
    return f"{printable(curve.name)}: {accessed}\n{render(head, rows)}\n{pareto}"


def _beside(curve: Curve) -> str:
    if curve.metadata_requests is None or curve.metadata_pages is None:
        return ""
    requests = plural(curve.metadata_requests, "request")
    pages = plural(curve.metadata_pages, "page")
    return f"; metadata beside it, at every window: {requests}, {pages}"


def _marks(curve: Curve) -> dict[int, list[str]]:
    """Return remarks about some windows."""
    marks = {curve.quasi_optimal: ["quasi-optimal"]}
    if curve.predicted_best is not None:
        marks.setdefault(curve.predicted_best, []).insert(0, "predicted best")
    if curve.smallest_within not in (None, curve.predicted_best):
        marks.setdefault(curve.smallest_within, []).insert(0, "smallest within its band")
    return marks


def _listed(numbers: list[int]) -> str:
    """Return the first numbers, how many more, and the last."""
    if len(numbers) <= 12:
        return ", ".join(map(str, numbers))
    return f"{', '.join(map(str, numbers[:8]))}, {len(numbers) - 9} more, {numbers[-1]}"


def _row(curve: Curve, window: int, mark: str) -> tuple[str, ...]:
    at = curve.windows.index(window)
    numbers = (curve.read_ahead_kb, curve.f, curve.pages, curve.g, curve.g_formula)
    timed = _seconds(curve, at) if curve.seconds is not None else ()
    return (str(window), *(str(c[at]) for c in numbers), f"{curve.c_opt[at]:.4g}", *timed, mark)


def _seconds(curve: Curve, at: int) -> tuple[str, str]:
    low, middle, high = (
        None if column is None else column[at]
        for column in (curve.seconds_low, curve.seconds, curve.seconds_high)
    )
    band = "-" if low is None or high is None else f"{low:.3f}-{high:.3f}"
    return "-" if middle is None else f"{middle:.3f}", band
