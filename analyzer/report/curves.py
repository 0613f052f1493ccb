"""Figures of the predictions by window: C_opt, F and G, the Pareto front."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes

from foreread.analyzer.predict.prediction import Curve
from foreread.analyzer.report.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    SERIES,
    VERMILLION,
    Canvas,
    axes,
    count_axis,
    drawable,
    legend,
    window_axis,
)
from foreread.analyzer.report.subject import Subject, row_of
from foreread.analyzer.report.wording import tick
from foreread.boards.base.units import kib_text

FEW = 40  # windows that are worth a marker each


BESIDE_POINT, BESIDE_STAR = (6, 4), (9, 8)  # points from a mark to its label


def c_opt(canvas: Canvas, subject: Subject) -> None:
    """Draw C_opt by window, total and devices, the quasi-optimal window starred.

    The 2010 paper's figures 2, 4 and 6.
    """
    ax = axes(canvas, top=0.5)
    total = subject.prediction.total
    if subject.several_devices:
        for curve, (colour, line, _) in zip(subject.prediction.devices, SERIES, strict=False):
            ax.plot(curve.windows, curve.c_opt, line, color=colour, label=drawable(curve.name))
            _star(ax, curve, colour)
    marker = "." if len(total.windows) <= FEW else ""
    label = "total" if subject.several_devices else "C_opt = F² + G²"
    ax.plot(total.windows, total.c_opt, marker=marker, color=BLACK, label=label)
    _star(ax, total, ORANGE, f"quasi-optimal: {kib_text(total.quasi_optimal * subject.page_kb)}")
    _mark_windows(ax, subject)
    drawn = [total, *subject.prediction.devices[: len(SERIES)]]
    count_axis(ax, "C_opt", [value for curve in drawn for value in curve.c_opt])
    window_axis(ax, total.windows, subject.page_kb)
    legend(ax, columns=3)


def requests_and_waste(canvas: Canvas, subject: Subject, curve: Curve) -> None:
    """Draw F, exact G and the paper's G (equation 3) by window."""
    ax = axes(canvas, top=0.5)
    every = [row for row, window in enumerate(curve.windows) if window & (window - 1) == 0]
    ax.plot(
        curve.windows, curve.f, "o-", color=BLUE, markevery=every, label="F: requests to the device"
    )
    ax.plot(
        curve.windows, curve.g, "s--", color=GREEN, markevery=every, label="G: unused pages read"
    )
    ax.plot(
        curve.windows, curve.g_formula, ":", color=GREY, label="G of the paper: F·(Rws + 1) − Tap"
    )
    _mark_windows(ax, subject)
    count_axis(ax, "requests, pages", [*curve.f, *curve.g, *curve.g_formula])
    window_axis(ax, curve.windows, subject.page_kb)
    legend(ax, columns=3)


def pareto(canvas: Canvas, subject: Subject, curve: Curve) -> None:
    """Draw F against G for every window, the Pareto front joined and labelled."""
    ax = axes(canvas, top=0.36)
    ax.plot(curve.g, curve.f, ".", color=GREY, markersize=3, rasterized=True, label="a window")
    front = sorted(row for row, window in enumerate(curve.windows) if window in set(curve.pareto))
    front.sort(key=lambda row: curve.g[row])
    ax.plot(
        [curve.g[row] for row in front],
        [curve.f[row] for row in front],
        "-",
        color=BLUE,
        label="Pareto front: fewer requests only with more waste",
    )
    best = curve.windows.index(curve.quasi_optimal)
    ax.plot(
        [curve.g[best]], [curve.f[best]], "*", **_star_style(ORANGE), label="quasi-optimal window"
    )
    count_axis(ax, "F: requests", curve.f)
    _waste_axis(ax, curve)
    _label_octaves(ax, subject, curve)
    legend(ax, columns=3)


def _waste_axis(ax: Axes, curve: Curve) -> None:
    """Give x the same kind of axis as counts have on y."""
    ax.set_xscale("symlog", base=10, linthresh=10, linscale=0.5)
    ax.set_xlim(-2, max([*curve.g, 10]) * 2)
    ticks = [0, *(10**n for n in range(1, 16) if 10**n <= ax.get_xlim()[1])]
    ax.set_xticks(ticks, [tick(at) for at in ticks])
    ax.minorticks_off()
    ax.set_xlabel("G: unused pages read")


def _label_octaves(ax: Axes, subject: Subject, curve: Curve) -> None:
    """Label the powers of two, leaving out labels that would lie on each other."""
    free = ax.figure.dpi / 72
    drawn: list[tuple[float, float]] = []
    for window in [0, *(1 << n for n in range(11))]:
        row = row_of(curve, window)
        if row is None:
            continue
        x, y = ax.transData.transform((curve.g[row], curve.f[row]))
        if all(abs(x - a) > 45 * free or abs(y - b) > 11 * free for a, b in drawn):
            drawn.append((x, y))
            offset = BESIDE_STAR if window == curve.quasi_optimal else BESIDE_POINT
            text = f"{window * subject.page_kb:g} KiB"
            _label_point(ax, curve.g[row], curve.f[row], text, offset)


def _label_point(ax: Axes, x: float, y: float, text: str, offset: tuple[int, int]) -> None:
    ax.plot([x], [y], "o", color=BLUE)
    ax.annotate(text, (x, y), offset, textcoords="offset points", size=7.5)


def _mark_windows(ax: Axes, subject: Subject) -> None:
    """Mark the recommended window and the one in force before."""
    if subject.prediction.verdict.action == "set":
        text = f"recommended: {kib_text(subject.window_kb)}"
        ax.axvline(subject.window, color=VERMILLION, linestyle="-", linewidth=1.1, label=text)
    reference_name = subject.reference.name
    beyond = subject.current_window > max(subject.prediction.total.windows)
    text = (
        f"{reference_name}: {kib_text(subject.current_kb)}{', beyond this axis' if beyond else ''}"
    )
    ax.axvline(
        subject.current_window, color=BLACK, linestyle=(0, (1, 2)), linewidth=1.1, label=text
    )


def _star(ax: Axes, curve: Curve, colour: str, label: str | None = None) -> None:
    lowest = curve.c_opt[curve.windows.index(curve.quasi_optimal)]
    ax.plot([curve.quasi_optimal], [lowest], "*", **_star_style(colour), label=label)


def _star_style(colour: str) -> dict[str, Any]:
    return {"color": colour, "markersize": 14, "markeredgecolor": BLACK, "zorder": 5}
