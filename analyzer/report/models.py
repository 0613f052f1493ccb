"""Figures of requests and pages by window: the kernel's readahead beside the fixed window."""

from __future__ import annotations

from statistics import median
from typing import Literal

from foreread.analyzer.predict.prediction import Curve
from foreread.analyzer.report.style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    Canvas,
    axes,
    count_axis,
    legend,
    window_axis,
)
from foreread.analyzer.report.subject import Subject

Quantity = Literal["requests", "pages"]


def by_model(canvas: Canvas, subject: Subject, quantity: Quantity) -> None:
    """Draw both models' predictions for every window, and the measurements of a sweep, if any."""
    ax = axes(canvas, top=0.36)
    kernel, fixed = subject.compared
    name = "f" if quantity == "requests" else "pages"
    measured = _measured(subject, quantity)
    more = (_metadata(kernel, quantity) or 0) if measured else 0
    ours, published = ([n + more for n in getattr(curve, name)] for curve in (kernel, fixed))
    ax.plot(fixed.windows, published, ":", color=ORANGE, label="fixed window of the 2010 paper")
    ax.plot(kernel.windows, ours, "-", color=BLUE, label=f"{subject.model_name}, emulated")
    for window, values in measured.items():
        ax.plot([window] * len(values), values, "_", color=GREY, markersize=8, zorder=3)
    if measured:
        medians = [median(values) for values in measured.values()]
        ax.plot(list(measured), medians, "o", color=BLACK, markersize=4, label="measured")
    runs = [value for values in measured.values() for value in values]
    count_axis(ax, "requests" if quantity == "requests" else "pages", [*ours, *published, *runs])
    window_axis(ax, kernel.windows, subject.page_kb)
    legend(ax, columns=3)


def _metadata(curve: Curve, quantity: Quantity) -> int | None:
    """Return the metadata that the recorded run read; None if the recording does not show it."""
    return curve.metadata_requests if quantity == "requests" else curve.metadata_pages


def _measured(subject: Subject, quantity: Quantity) -> dict[int, list[float]]:
    if subject.validation is None or subject.sweep is None:
        return {}
    by_kb = {point.read_ahead_kb: point for point in subject.sweep.points}
    points = subject.validation.points
    return {p.window: [*map(float, getattr(by_kb[p.read_ahead_kb], quantity))] for p in points}
