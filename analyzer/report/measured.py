"""Figures of predicted against measured, by window: the 2010 paper's figures 3, 5 and 7."""

from __future__ import annotations

from statistics import median
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from foreread.analyzer.predict.validate import Validation
from foreread.analyzer.report.style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    VERMILLION,
    Canvas,
    axes,
    count_axis,
    legend,
    window_axis,
)
from foreread.boards.base.units import kib_text
from foreread.tracer.formats.sweep import Sweep

Quantity = Literal["seconds", "requests", "pages"]

_LABEL = {"seconds": "start-up time (s)", "requests": "requests (F)", "pages": "pages read"}
STEEP = 4  # largest over smallest, above which a logarithmic axis is used


def against_measured(
    canvas: Canvas, validation: Validation, sweep: Sweep, page_kb: float, quantity: Quantity
) -> None:
    """Draw one quantity by window: each run, their median, the prediction, the marked windows.

    ``page_kb`` is the page size in KiB.
    """
    ax = axes(canvas, top=0.55)
    runs = _runs(validation, sweep, quantity)
    for window, values in runs.items():
        ax.plot([window] * len(values), values, "_", color=GREY, markersize=8, zorder=3)
    medians = {window: median(values) for window, values in runs.items()}
    ax.plot(
        list(medians),
        list(medians.values()),
        "o-",
        color=BLACK,
        linewidth=1.2,
        label="measured (median)",
    )
    predicted = _predicted(validation, quantity)
    if predicted:
        ax.plot(list(predicted), list(predicted.values()), "^--", color=BLUE, label="predicted")
    _mark(ax, validation, medians)
    values = [value for window in runs.values() for value in window] + list(predicted.values())
    value_axis(ax, _LABEL[quantity], values)
    window_axis(ax, list(runs), page_kb)
    legend(ax, columns=3)


def _runs(validation: Validation, sweep: Sweep, quantity: Quantity) -> dict[int, list[float]]:
    by_kb = {point.read_ahead_kb: point for point in sweep.points}
    return {p.window: getattr(by_kb[p.read_ahead_kb], quantity) for p in validation.points}


def _predicted(validation: Validation, quantity: Quantity) -> dict[int, float]:
    name = "f" if quantity == "requests" else quantity
    values = {p.window: getattr(p.predicted, name) for p in validation.points}
    return {window: value for window, value in values.items() if value is not None}


def _mark(ax: Axes, validation: Validation, medians: dict[int, float]) -> None:
    """Mark default, quasi-optimal, chosen and best; hollow marks, so that none hides another."""
    window_of: dict[int | None, int] = {p.read_ahead_kb: p.window for p in validation.points}
    marks: list[tuple[str, int | None, str, int, str, str]] = [
        ("quasi-optimal", validation.quasi_optimal_read_ahead_kb, "*", 13, ORANGE, ORANGE),
        ("best measured", validation.best_read_ahead_kb, "s", 12, BLACK, "none"),
        ("default", validation.default_read_ahead_kb, "D", 9, BLACK, "none"),
    ]
    chosen_kb = validation.chosen_read_ahead_kb
    if chosen_kb not in (None, validation.quasi_optimal_read_ahead_kb):
        marks.append(("predicted best", chosen_kb, "P", 9, VERMILLION, VERMILLION))
    for what, kb, marker, points, edge, face in marks:
        window = window_of.get(kb)
        if window is None:  # not measured
            continue
        ax.plot(
            [window],
            [medians[window]],
            linestyle="none",
            marker=marker,
            markersize=points,
            markeredgecolor=BLACK if face != "none" else edge,
            markerfacecolor=face,
            zorder=5,
            label=f"{what}: {kib_text(kb)}",
        )


def value_axis(ax: Axes, label: str, values: list[float]) -> None:
    """Make y an axis that shows ``values``: logarithmic where they are far apart."""
    if min(values) > 0 and max(values) / min(values) > STEEP:
        count_axis(ax, label, values)
        return
    low, high = min(values), max(values)
    margin = max(high - low, high * 0.02, 1e-3) * 0.12
    ax.set_ylim(max(0.0, low - margin), high + margin)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    ax.set_ylabel(label)
