"""Prediction against measurement: errors of F, pages and seconds by window, and the regret.

Errors and regret are fractions (0.034 is 3.4 %). An error is ``(predicted - measured) /
measured``: signed at each window, absolute in the summary. The measurement of a window is the
median over its repeats.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import Annotated

import msgspec

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.predict.prediction import Curve, Prediction
from foreread.analyzer.predict.remedy import target_words
from foreread.boards.base.brief import brief
from foreread.boards.base.counted import plural
from foreread.boards.base.document import Document, says
from foreread.boards.base.note import Note, NoteKind
from foreread.boards.base.units import KIB, kib_to_pages, size_word
from foreread.tracer.formats.capture import NO_METADATA, Metadata
from foreread.tracer.formats.scenario import IDLE, beside
from foreread.tracer.formats.sweep import Point, Sweep

METADATA_UNKNOWN = (
    "measured requests and pages include metadata reads; predicted ones do not, "
    "because the recording does not show them: expect lower predictions"
)

_LOADS_READ = (
    "requests and pages are not compared: beside a load the measured ones include those of the load"
)


_AGAIN = (
    "requests are not compared: in little memory only seconds and pages are predicted, and pages "
    "of metadata that are read again are not among them"
)


class ValidationError(AnalyzerError, ValueError):
    """A sweep that cannot be compared; ``remedy`` says what to do."""


class Figures(msgspec.Struct, frozen=True, rename={"f": "F"}):
    """F (requests), pages read and start-up seconds at one window; None where unknown.

    Metadata included: a disk's counters do not separate it.
    """

    f: float | None
    pages: float | None
    seconds: float | None


class WindowResult(msgspec.Struct, frozen=True):
    """One measured window with its prediction; ``error`` holds fractions."""

    __repr__ = brief

    read_ahead_kb: Annotated[int, says("the window in KiB")]
    window: Annotated[int, says("the window in pages")]
    predicted: Figures
    measured: Annotated[Figures, says("medians over the runs")]
    error: Annotated[Figures, says("(predicted − measured) / measured")]


Fraction = Annotated[float | None, says("a fraction: 0.034 is 3.4 %; null if unknown")]
_NAMES = {"f_error_median": "F_error_median", "f_error_max": "F_error_max"}


class Validation(Document, frozen=True, kw_only=True, rename=_NAMES):
    """The comparison of one prediction with one sweep; errors and regrets are fractions.

    ``device`` is the curve that was compared. ``chosen_read_ahead_kb`` is the predicted-best
    window, None where no seconds were predicted; ``proposed_read_ahead_kb`` is that which the
    verdict sets or keeps, None if it does neither. The regret of a window that the sweep did not
    measure is None, and a note says so.
    """

    device: Annotated[str, says("name of the disk that was compared, or total")]
    points: list[WindowResult]
    f_error_median: Fraction
    f_error_max: Fraction
    pages_error_median: Fraction
    seconds_error_median: Fraction
    seconds_error_max: Fraction
    regret: Annotated[Fraction, says("of the predicted-best window")]
    regret_quasi_optimal: Annotated[Fraction, says("of the window by F² + G²")]
    regret_proposed: Annotated[Fraction, says("of the window that the verdict proposes")] = None
    proposed_read_ahead_kb: Annotated[
        int | None, says("window in KiB that the verdict sets or keeps")
    ] = None
    chosen_read_ahead_kb: Annotated[int | None, says("predicted-best window in KiB")]
    quasi_optimal_read_ahead_kb: Annotated[int, says("window in KiB by F² + G²")]
    best_read_ahead_kb: Annotated[int, says("window in KiB with the fewest measured seconds")]
    default_read_ahead_kb: Annotated[int, says("window in KiB that regrets are relative to")]
    notes: tuple[str, ...] = ()


def validate(
    prediction: Prediction,
    sweep: Sweep,
    capture: Metadata = NO_METADATA,
) -> Validation:
    """Compare ``prediction`` with the cold runs measured in ``sweep``.

    Windows are matched through read_ahead_kb, rounded down to whole pages as the kernel does.
    The regret is (seconds at the chosen window - seconds at the measured best window) / seconds
    at the default window: the 2010 paper's missed optimisation, as a fraction. It is None for a
    window that was not measured; if the default window was not, the nearest measured one below it
    is used (or the smallest), with a note.

    Args:
        prediction: from :func:`foreread.predict`; for a sweep beside a load, with that load.
        sweep: from :func:`foreread.sweep` or :func:`foreread.read_sweep`.
        capture: what was recorded (``Recording.capture``): a sweep of another command gets a note,
            and commands that notes show name the recorded target.

    Raises:
        ValidationError: the sweep has no complete point, or was measured beside a load for which
            nothing is predicted.
    """
    is_alone, is_loaded = sweep.condition == IDLE, sweep.scenario != IDLE
    if not is_alone:
        prediction = _beside(prediction, sweep.condition)
    command = capture.command
    notes = [*sweep.notes, *_unlike(prediction, sweep)]
    if command and sweep.command and sweep.command != command:
        other = f"the command of the sweep differs from the recorded one: {' '.join(sweep.command)}"
        notes.append(_doubt(other))
    if not sweep.complete:
        notes.append(_doubt("the sweep was interrupted: some windows have fewer runs, or none"))
    measured = _complete_points(sweep, notes)
    curve = _curve_of(prediction, sweep, notes)
    notes.insert(0, _LOADS_READ if is_loaded else _about_metadata(curve))
    if not is_alone and not is_loaded:
        notes.append(_AGAIN)
    page_kb = prediction.page_size / KIB
    points = [
        _compare(curve, point, int(point.read_ahead_kb // page_kb), is_alone, not is_loaded)
        for point in measured
    ]
    _note_unpredicted(points, notes)

    seconds = {p.read_ahead_kb: p.measured.seconds or 0.0 for p in points}
    best_kb = min(seconds, key=lambda kb: (seconds[kb], kb))
    best = curve.predicted_best
    chosen_kb = None if best is None else int(best * page_kb)
    quasi_kb = int(curve.quasi_optimal * page_kb)
    default_kb = _measured_default(_default_kb(prediction, sweep, notes), seconds, notes)
    proposed_kb = _whole_pages(prediction.verdict.read_ahead_kb, page_kb, seconds)
    wanted = {"proposed": proposed_kb, "chosen": chosen_kb, "published criterion's": quasi_kb}
    notes += _unmeasured(wanted, seconds, sweep, target_words(capture))

    def regret(kb: int | None) -> float | None:
        if kb is None or kb not in seconds:
            return None
        return _fraction(seconds[kb] - seconds[best_kb], seconds[default_kb])

    f_errors = _absolute([p.error.f for p in points])
    second_errors = _absolute([p.error.seconds for p in points])
    return Validation(
        device=curve.name,
        points=points,
        f_error_median=_median(f_errors),
        f_error_max=max(f_errors, default=None),
        pages_error_median=_median(_absolute([p.error.pages for p in points])),
        seconds_error_median=_median(second_errors),
        seconds_error_max=max(second_errors, default=None),
        regret=regret(chosen_kb),
        regret_quasi_optimal=regret(quasi_kb),
        regret_proposed=regret(proposed_kb),
        proposed_read_ahead_kb=proposed_kb,
        chosen_read_ahead_kb=chosen_kb,
        quasi_optimal_read_ahead_kb=quasi_kb,
        best_read_ahead_kb=best_kb,
        default_read_ahead_kb=default_kb,
        notes=tuple(dict.fromkeys(notes)),
    )


def _doubt(text: str) -> Note:
    """Return a note on what could change the errors or the regret."""
    return Note(text, NoteKind.ANSWER)


def _unlike(prediction: Prediction, sweep: Sweep) -> list[str]:
    """Return notes where the sweep was made on another kernel or page size."""
    pairs = (
        ("kernel", prediction.kernel, sweep.kernel),
        ("page size", prediction.page_size, sweep.page_size),
    )
    return [
        _doubt(f"the {what} of the recording is {recorded}, that of the sweep {swept}")
        for what, recorded, swept in pairs
        if recorded and swept and recorded != swept
    ]


def _complete_points(sweep: Sweep, notes: list[str]) -> list[Point]:
    complete = [p for p in sweep.points if p.seconds and p.requests and p.pages and not p.killed]
    killed = [f"{point.read_ahead_kb:,}" for point in sweep.points if point.killed]
    if not complete:
        more = "; give its runs more memory: --memory SIZE" if killed else ""
        raise ValidationError("the sweep has no measured window", f"run foreread sweep again{more}")
    if killed:
        notes.append(
            _doubt(
                f"left out: {', '.join(killed)} KiB, where the limit of the runs' memory, or of "
                "their time, killed starts"
            )
        )
    for point in sweep.points:
        if point not in complete and not point.killed:
            notes.append(_doubt(f"{point.read_ahead_kb} KiB left out: its runs are incomplete"))
    return sorted(complete, key=lambda point: point.read_ahead_kb)


def _curve_of(prediction: Prediction, sweep: Sweep, notes: list[str]) -> Curve:
    """Return the curve of the one disk the sweep was made on, else the total's."""
    if len(prediction.devices) > 1:
        matching = [curve for curve in prediction.devices if [curve.name] == sweep.devices]
        if len(matching) == 1:
            return matching[0]
        notes.append("compared with the total of all devices of the prediction")
    return prediction.total


def _beside(prediction: Prediction, condition: str) -> Prediction:
    """Return the prediction with verdict, seconds and pages beside a load or in little memory."""
    rows = () if prediction.loads is None else prediction.loads.rows
    row = next((row for row in rows if row.load == condition), None)
    if prediction.loads is None or row is None or not row.predicted:
        why = f": {row.why}" if row is not None and row.why else ""
        raise ValidationError(
            f"the sweep was measured{beside(condition)}, and nothing is predicted for that{why}",
            f"predict that, too: foreread predict CAPTURE --load {shlex.quote(condition)} "
            "--measured SWEEP",
        )
    windows = [kib_to_pages(kb, prediction.page_size) for kb in prediction.loads.read_ahead_kb]
    best = None if row.best_kb is None else kib_to_pages(row.best_kb, prediction.page_size)
    columns = (row.seconds, row.seconds_low, row.seconds_high)

    read = dict(zip(windows, row.pages, strict=bool(row.pages)))

    def loaded(curve: Curve) -> Curve:
        pages = [
            read.get(window, own) for window, own in zip(curve.windows, curve.pages, strict=True)
        ]
        changed = msgspec.structs.replace(curve, pages=pages)
        return changed.with_seconds(windows, columns, best)

    verdict = msgspec.structs.replace(prediction.verdict, read_ahead_kb=row.read_ahead_kb)
    devices = [curve if curve.seconds is None else loaded(curve) for curve in prediction.devices]
    return replace(prediction, verdict=verdict, devices=devices, total=loaded(prediction.total))


def _compare(
    curve: Curve, point: Point, window: int, has_requests: bool, has_pages: bool
) -> WindowResult:
    predicted = _predicted(curve, window)
    measured = Figures(
        median(point.requests) if has_requests else None,
        median(point.pages) if has_pages else None,
        median(point.seconds),
    )
    return WindowResult(
        read_ahead_kb=point.read_ahead_kb,
        window=window,
        predicted=predicted,
        measured=measured,
        error=Figures(
            _error(predicted.f, measured.f),
            _error(predicted.pages, measured.pages),
            _error(predicted.seconds, measured.seconds),
        ),
    )


def _predicted(curve: Curve, window: int) -> Figures:
    if window not in curve.windows:
        return Figures(None, None, None)
    row = curve.windows.index(window)
    seconds = None if curve.seconds is None else curve.seconds[row]
    requests, pages = curve.metadata_requests or 0, curve.metadata_pages or 0
    return Figures(curve.f[row] + requests, curve.pages[row] + pages, seconds)


def _note_unpredicted(points: list[WindowResult], notes: list[str]) -> None:
    missing = [str(point.read_ahead_kb) for point in points if point.predicted.f is None]
    if missing:
        notes.append(f"not compared (measured, but not predicted): {', '.join(missing)} KiB")


def _default_kb(prediction: Prediction, sweep: Sweep, notes: list[str]) -> int:
    if sweep.default_read_ahead_kb is not None:
        return sweep.default_read_ahead_kb
    reference = prediction.reference
    if not reference.in_force:
        text = (
            f"the window in force before is unknown: regrets are relative to {reference.kb} KiB "
            f"({reference.name})"
        )
        notes.append(_doubt(text))
    return reference.kb


def _measured_default(wanted_kb: int, seconds: dict[int, float], notes: list[str]) -> int:
    if wanted_kb in seconds:
        return wanted_kb
    nearest = max((kb for kb in seconds if kb < wanted_kb), default=min(seconds))
    text = f"the default window, {wanted_kb} KiB, was not measured: {nearest} KiB is used"
    notes.append(_doubt(text))
    return nearest


def _whole_pages(kb: int | None, page_kb: float, seconds: dict[int, float]) -> int | None:
    """Return a window as it was measured: the kernel rounds it down to whole pages."""
    if kb is None or kb in seconds:
        return kb
    window = int(kb // page_kb)
    return next(
        (measured_kb for measured_kb in seconds if int(measured_kb // page_kb) == window), kb
    )


def _sweep_of(kb: int, sweep: Sweep, target: Sequence[str]) -> str:
    """Return the command that measures one more window (KiB) of the command of a sweep."""
    devices = [word for name in sweep.devices for word in ("--device", name)]
    loads = ["--scenario", sweep.scenario] if sweep.scenario != IDLE else []
    loads += [] if sweep.memory_kib is None else ["--memory", size_word(sweep.memory_kib)]
    options = [*target, "--windows", str(kb), *loads, *devices, "-o", f"{kb}k.sweep.json"]
    return shlex.join(["foreread", "sweep", *options, "--", *(sweep.command or ["COMMAND"])])


def _unmeasured(
    wanted: dict[str, int | None],
    seconds: dict[int, float],
    sweep: Sweep,
    target: Sequence[str],
) -> Iterator[str]:
    """Yield a note for each wanted window (KiB) that the sweep did not measure."""
    missing: dict[int, list[str]] = {}
    for what, kb in wanted.items():
        if kb is not None and kb not in seconds:
            missing.setdefault(kb, []).append(what)
    for kb, names in missing.items():
        yield _doubt(
            f"the {' and '.join(names)} window, {kb} KiB, was not measured, so its regret is "
            f"unknown; measure it: {_sweep_of(kb, sweep, target)}"
        )


def _about_metadata(curve: Curve) -> str:
    if curve.metadata_requests is None or curve.metadata_pages is None:
        return METADATA_UNKNOWN
    return (
        "predicted requests and pages include the metadata reads of the recorded run: "
        f"{plural(curve.metadata_requests, 'request')}, {plural(curve.metadata_pages, 'page')}"
    )


def _error(predicted: float | None, measured: float | None) -> float | None:
    if predicted is None or measured is None:
        return None
    return _fraction(predicted - measured, measured)


def _fraction(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _absolute(errors: list[float | None]) -> list[float]:
    return [abs(error) for error in errors if error is not None]


def _median(values: list[float]) -> float | None:
    return median(values) if values else None
