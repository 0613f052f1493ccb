"""Compares the figures of two reports: totals, without files."""

from __future__ import annotations

from pathlib import Path

from foreread.analyzer.diff.compare import exceeds, share_of
from foreread.analyzer.diff.document import DiffCause, DiffSide, StartDiff
from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.predict.prediction import Curve, PredictionDocument
from foreread.analyzer.report.document import ReportFigures
from foreread.boards.base.document import read_document
from foreread.boards.base.units import pages_to_kib

FIGURES = "report.json"


class ReportError(AnalyzerError, ValueError):
    """A report that cannot be compared; ``remedy`` says what to do."""


def is_report(path: Path) -> bool:
    """Return whether a path is the folder of a report, or its figures."""
    return (path / FIGURES).is_file() or (path.name == FIGURES and path.is_file())


def compare_reports(old: Path, new: Path, limit: float | None = None) -> StartDiff:
    """Return what changed between two reports: requests, pages and seconds at each report's window.

    A report does not list all files, so the difference is not explained by file.
    """
    predictions = [_prediction(path) for path in (old, new)]
    sides = [
        _side(path, prediction) for path, prediction in zip((old, new), predictions, strict=True)
    ]
    share = share_of(sides[0].seconds, sides[1].seconds)
    doubts = [
        f"{which}: {doubt}"
        for which, prediction in zip(("OLD", "NEW"), predictions, strict=True)
        for doubt in prediction.doubts
    ]
    doubts += [
        f"{which}: no predicted seconds: {prediction.verdict.why}"
        for which, prediction, side in zip(("OLD", "NEW"), predictions, sides, strict=True)
        if side.seconds is None
    ]
    return StartDiff(
        name=new.name if new.name != FIGURES else new.parent.name,
        board=None,
        weight=1.0,
        old=sides[0],
        new=sides[1],
        share=share,
        regressed=exceeds(share, limit),
        causes=_causes(sides[0], sides[1], predictions[0].total),
        files=[],
        doubts=[
            *doubts,
            "reports do not list all files: compare the captures to see which changed",
        ],
    )


def _prediction(path: Path) -> PredictionDocument:
    file = path / FIGURES if path.is_dir() else path
    remedy = "write the report again: foreread report CAPTURE -o DIR"
    figures = read_document(file, ReportFigures, ReportError, remedy)
    if not isinstance(figures.prediction, PredictionDocument):
        raise ReportError(f"{file} is a report without a capture", "compare reports of captures")
    return figures.prediction


def _side(path: Path, of: PredictionDocument) -> DiffSide:
    total = of.total
    current, default = total.current_read_ahead_kb, total.default_read_ahead_kb
    kib, name = next(
        (kib, name)
        for kib, name in (
            (current, "in force before"),
            (default, "kernel's default"),
            (0, "no readahead"),
        )
        if kib is not None
    )
    at = _row(total, kib)
    if at is None:
        raise ReportError(
            f"{path}: its window of {kib:,} KiB was not predicted",
            "write the report again with this window: add --windows LIST",
        )
    best = total.predicted_best
    return DiffSide(
        path=str(path),
        recorded=None,
        kernel=of.kernel,
        machine=None,
        board=None,
        model=of.model,
        disk=None,
        read_ahead_kb=kib,
        window_is=name,
        best_read_ahead_kb=None if best is None else pages_to_kib(best, of.page_size),
        accessed=total.tap,
        requests=total.f[at],
        pages=total.pages[at],
        metadata_requests=total.metadata_requests,
        seconds=_at(total.seconds, at),
        seconds_low=_at(total.seconds_low, at),
        seconds_high=_at(total.seconds_high, at),
    )


def _at(column: list[float | None] | None, row: int) -> float | None:
    return None if column is None or row >= len(column) else column[row]


def _row(total: Curve, kib: int) -> int | None:
    return total.read_ahead_kb.index(kib) if kib in total.read_ahead_kb else None


def _causes(old: DiffSide, new: DiffSide, curve: Curve) -> list[DiffCause]:
    """Return the window's part, if OLD has a prediction at NEW's window, and the rest."""
    at = None if old.read_ahead_kb == new.read_ahead_kb else _row(curve, new.read_ahead_kb)
    requests, pages, seconds = old.requests, old.pages, old.seconds
    causes = []
    if at is not None:
        seconds_there = _at(curve.seconds, at)
        causes.append(
            DiffCause(
                kind="window",
                what=f"window: {old.read_ahead_kb:,} to {new.read_ahead_kb:,} KiB "
                f"({new.window_is})",
                requests=curve.f[at] - requests,
                pages=curve.pages[at] - pages,
                seconds=None
                if seconds_there is None or seconds is None
                else seconds_there - seconds,
            )
        )
        requests, pages, seconds = curve.f[at], curve.pages[at], seconds_there
    causes.append(
        DiffCause(
            kind="application",
            what="the application, its files, kernel and disk",
            requests=new.requests - requests,
            pages=new.pages - pages,
            seconds=None if new.seconds is None or seconds is None else new.seconds - seconds,
        )
    )
    return causes
