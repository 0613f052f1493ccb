"""``foreread predict``: every window from one capture."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence

import msgspec

from analyzer.confirm.text import cited, stored
from analyzer.ingest.load import load
from analyzer.ingest.recording import Recording
from analyzer.predict.choice import predict_by
from analyzer.predict.linux import FIXED, model_for
from analyzer.predict.prediction import Curve, Prediction
from boards.counted import plural
from foreread.cli.arguments import UsageError, add_capture, add_windows, parse_windows
from foreread.cli.main import printable
from foreread.cli.text.table import render
from tracer.formats.confirmation import Confirmation

SECONDS, PUBLISHED = "seconds", "published"
_SHOWN_WINDOWS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1023)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser, nargs="+")
    add_windows(parser, "0-1023")
    add_model(parser)
    add_criterion(parser)


def add_criterion(parser: argparse.ArgumentParser) -> None:
    """Add the choice between seconds and the published criterion."""
    parser.add_argument(
        "--criterion",
        choices=(SECONDS, PUBLISHED),
        default=SECONDS,
        help="criterion of the verdict: predicted seconds (default), or the 2010 paper's "
        "F² + G² (published), which ignores the speed of the disk",
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the choice of a model, and of the disk's."""
    parser.add_argument(
        "--model",
        metavar="MODEL",
        type=_model,
        help="linux: readahead of the capture's kernel, with seconds (default for captures "
        "made at read_ahead_kb=0); linux-X.Y: readahead of another kernel; fixed: the 2010 "
        "paper's model, where each miss reads a whole window (default for other captures)",
    )
    parser.add_argument(
        "--device-model",
        metavar="FILE",
        help='cost of the disk for seconds: kind = "fixed", latency_us and ns_per_kib (TOML), or '
        "a board profile (default: learnt from the capture)",
    )


def predicted(
    recording: Recording,
    args: argparse.Namespace,
    windows: list[int] | None = None,
    more: Sequence[Recording] = (),
) -> Prediction:
    """Return the prediction that was asked for; ``more`` are recordings of the same start."""
    model, file = args.model or model_for(recording), args.device_model
    if model == FIXED and file is not None:
        raise UsageError("--device-model: seconds need --model linux")
    if model == FIXED and more:
        raise UsageError("several captures: seconds need --model linux")
    found = predict_by(recording, model, windows, file, more)
    return found.by_criterion() if getattr(args, "criterion", SECONDS) == PUBLISHED else found


def _model(text: str) -> str:
    """Return a model's name; ValueError if it is none."""
    if re.fullmatch(r"fixed|linux(-\d+\.\d+[\w.+~-]*)?", text, re.ASCII) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not fixed, linux or linux-X.Y")
    return text


def run(args: argparse.Namespace) -> int:
    """Print the prediction."""
    recording, *more = (load(path, args.pids) for path in args.capture)
    for path, other in zip(args.capture[1:], more, strict=True):
        _check_same(recording, other, str(path))
    windows = parse_windows(args.windows, recording.page_size) if args.windows is not None else None
    prediction = predicted(recording, args, windows, more)
    confirmations = stored(recording.capture)
    if args.json:
        found = [msgspec.to_builtins(one) for one in confirmations]
        print(json.dumps({**prediction.to_json(), "confirmations": found}))
    else:
        print(_text(prediction, confirmations))
    return 0


def _check_same(first: Recording, other: Recording, path: str) -> None:
    """Refuse captures that are not of one start on one board."""
    if first.capture is None or other.capture is None:
        raise UsageError(f"{path}: several captures must all be recorded with `foreread record`")
    for what, one, two in (
        ("command", first.capture.command, other.capture.command),
        ("kernel", first.kernel, other.kernel),
        ("page size", first.page_size, other.page_size),
        ("disks", *({disk for _, disk in r.devices.items()} for r in (first, other))),
    ):
        if one != two:
            raise UsageError(f"{path}: its {what} differs from that of the first capture")


def _text(prediction: Prediction, confirmations: Sequence[Confirmation] = ()) -> str:
    curves = prediction.devices if len(prediction.devices) > 1 else []
    parts = [_curve_text(curve) for curve in (*curves, prediction.total)]
    verdict = prediction.verdict
    value = "" if verdict.read_ahead_kb is None else f" read_ahead_kb={verdict.read_ahead_kb}"
    lines = [f"verdict: {verdict.action}{value}", f"  {printable(verdict.why)}"]
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
    return f"{curve.name}: {accessed}\n{render(head, rows)}\n{pareto}"


def _beside(curve: Curve) -> str:
    if curve.metadata_requests is None or curve.metadata_pages is None:
        return ""
    requests = plural(curve.metadata_requests, "request")
    pages = plural(curve.metadata_pages, "page")
    return f"; metadata beside it, at every window: {requests}, {pages}"


def _marks(curve: Curve) -> dict[int, list[str]]:
    """Return what is to be said of some windows."""
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
