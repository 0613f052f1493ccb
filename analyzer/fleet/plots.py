"""The pictures of a fleet's report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from foreread.analyzer.fleet.document import FleetBuild, FleetFigures, FleetStart, FleetWindow
from foreread.analyzer.fleet.gain_map import gain_map
from foreread.analyzer.fleet.lines import MOST_LINES, Line, Points, draw_lines, lines_of, shared
from foreread.analyzer.fleet.tables import rows_of
from foreread.analyzer.report.plots import Plot
from foreread.analyzer.report.style import BLUE, GREY, Canvas, axes, legend
from foreread.analyzer.report.wording import count

_COMPARED = 12  # starts whose curves are compared
_FEWEST_BARS = 6  # a picture of fewer bars draws them in this width

_CURVES = """
SELECT board, start, read_ahead_kb, approx_quantile(seconds, 0.5) AS seconds FROM {rows}
WHERE board || '/' || start IN ({named}) AND row = 'window' AND seconds IS NOT NULL
GROUP BY ALL ORDER BY read_ahead_kb
"""


def plots(database: Any, rows: str, fleet: FleetFigures) -> dict[str, Plot]:
    """Return the pictures by name; those without anything to show are left out."""
    gaining = [start for start in fleet.start_rows if start.gain is not None][:_COMPARED]
    drawn = []
    if gaining:
        drawn += [gain_map(database, fleet), _window_plot(fleet.windows)]
    if curves := lines_of(_curves(database, rows, gaining)):
        drawn += [_curves_plot(curves, len(gaining))]
    if series := lines_of(_series(fleet.builds)):
        drawn += [_drift_plot(series)]
    return {plot.name: plot for plot in drawn}


def _curves(
    database: Any, rows: str, starts: Sequence[FleetStart]
) -> Iterator[tuple[FleetStart, Points]]:
    """Yield starts with their seconds by window, as a part of those now."""
    named = ", ".join("?" * len(starts))
    points: dict[tuple[str, str], list[tuple[int, float]]] = {}
    if starts:
        query = _CURVES.replace("{rows}", rows).replace("{named}", named)
        for row in rows_of(database, query, *(f"{start.board}/{start.start}" for start in starts)):
            of = points.setdefault((row["board"], row["start"]), [])
            of.append((row["read_ahead_kb"], row["seconds"]))
    for start in starts:
        now = start.seconds_now or 1.0
        yield (
            start,
            [(kb, seconds / now) for kb, seconds in points.get((start.board, start.start), [])],
        )


def _window_plot(counts: Sequence[FleetWindow]) -> Plot:
    return Plot(
        name="recommended-windows",
        title="Recommended windows",
        caption="Starts on boards by the window that most of their captures recommend, and by "
        "their window now.",
        height_in=2.4,
        draw=partial(_windows, counts=counts),
    )


def _windows(canvas: Canvas, counts: Sequence[FleetWindow]) -> None:
    windows = [window_count.read_ahead_kb for window_count in counts]
    ax = axes(canvas, top=0.35)
    for shift, name, colour, heights in (
        (-0.2, "now", GREY, [window_count.now for window_count in counts]),
        (0.2, "recommended", BLUE, [window_count.proposed for window_count in counts]),
    ):
        bars = ax.bar(np.arange(len(windows)) + shift, heights, 0.4, label=name, color=colour)
        ax.bar_label(
            bars, [count(height) if height else "" for height in heights], fontsize=7, padding=1
        )
    ax.set_xticks(range(len(windows)), [count(kb) for kb in windows])
    spare = max(_FEWEST_BARS - len(windows), 0) / 2
    ax.set_xlim(-0.6 - spare, len(windows) - 0.4 + spare)
    ax.margins(y=0.12)  # for the numbers on the bars
    ax.set_xlabel("read_ahead_kb (KiB)")
    ax.set_ylabel("starts on boards")
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: count(value)))
    ax.grid(visible=False, axis="x")
    legend(ax)


def _curves_plot(curves: Sequence[Line], compared: int) -> Plot:
    return Plot(
        name="seconds-by-window",
        title="Seconds by window",
        caption=f"The starts with the largest gains ({compared} compared, up to {MOST_LINES} "
        "different curves drawn): predicted seconds, median of the captures, as a part of the "
        "seconds with their window now (dashed line)." + shared(curves),
        height_in=3.2,
        draw=partial(_draw_curves, curves=curves),
    )


def _draw_curves(canvas: Canvas, curves: Sequence[Line]) -> None:
    ax = axes(canvas, top=0.2 + 0.17 * len(curves), bottom=0.75)
    windows = sorted({kb for line in curves for kb, _ in line.points})
    places = {kb: place for place, kb in enumerate(windows)}
    draw_lines(
        ax,
        [Line(of.of, [(places[kb], part) for kb, part in of.points], of.others) for of in curves],
    )
    ax.set_xticks(list(places.values()), [count(kb) for kb in windows], rotation=60)
    ax.set_xlabel("read_ahead_kb (KiB)")
    ax.set_ylabel("seconds / seconds now")


def _series(builds: Sequence[FleetBuild]) -> Iterator[tuple[FleetBuild, Points]]:
    """Yield the starts with several builds, and their seconds as a part of the first build's."""
    by_start: dict[tuple[str, str], list[FleetBuild]] = {}
    for build in builds:
        by_start.setdefault((build.board, build.start), []).append(build)
    for some in by_start.values():
        if len(some) > 1:
            first = some[0].seconds or 1.0
            yield some[0], [(at, build.seconds / first) for at, build in enumerate(some, 1)]


def _drift_plot(series: Sequence[Line]) -> Plot:
    return Plot(
        name="drift",
        title="Drift over builds",
        caption="Predicted seconds with the window now, median of each build's captures, as a "
        "part of the first build's (dashed line). Builds in the order of their first recording."
        + shared(series),
        height_in=2.9,
        draw=partial(_draw_drift, series=series),
    )


def _draw_drift(canvas: Canvas, series: Sequence[Line]) -> None:
    ax = axes(canvas, top=0.2 + 0.17 * len(series))
    draw_lines(ax, series)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("build")
    ax.set_ylabel("seconds / first build's")
