"""The pictures of a fleet's report."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import MaxNLocator

from analyzer.fleet.document import FleetBuild, FleetFigures, FleetStart, FleetWindow
from analyzer.fleet.tables import rows_of
from analyzer.report.plots import Plot
from analyzer.report.style import BLUE, GREY, SERIES, VERMILLION, Canvas, axes, drawable, legend
from analyzer.report.wording import percent, shortened

MOST_BOARDS, MOST_STARTS, MOST_LINES = 24, 10, 4
_LABEL = 26  # characters
_GAINS = LinearSegmentedColormap.from_list("gains", ["#ffffff", "#8cc5e8", BLUE])

_CURVES = """
SELECT read_ahead_kb, approx_quantile(seconds, 0.5) AS seconds FROM {rows}
WHERE board = ? AND start = ? AND row = 'window' AND seconds IS NOT NULL
GROUP BY ALL ORDER BY read_ahead_kb
"""


def plots(database: Any, rows: str, found: FleetFigures) -> dict[str, Plot]:
    """Return the pictures by name; those without anything to show are left out."""
    gaining = [one for one in found.start_rows if one.gain is not None]
    made = []
    if gaining:
        made += [_map_plot(gaining), _window_plot(found.windows)]
        curves = [(one, _curve(database, rows, one)) for one in gaining[:MOST_LINES]]
        made += [_curves_plot(curves)]
    series = _series(found.builds)
    if series:
        made += [_drift_plot(series)]
    return {plot.name: plot for plot in made}


def label(name: str) -> str:
    """Return hostile text as a picture shows it: short, and with glyphs that the font has."""
    return shortened(drawable(name), _LABEL)


def _curve(database: Any, rows: str, of: FleetStart) -> list[tuple[int, float]]:
    query = _CURVES.replace("{rows}", rows)
    found = rows_of(database, query, of.board, of.start)
    return [(row["read_ahead_kb"], row["seconds"]) for row in found]


def _map_plot(starts: Sequence[FleetStart]) -> Plot:
    boards = list(dict.fromkeys(one.board for one in starts))[:MOST_BOARDS]
    bottom = 0.3 + 0.04 * max(len(label(one.start)) for one in starts)
    return Plot(
        name="boards-and-starts",
        title="Gain by board and start",
        caption="Share of the predicted seconds that the recommended window saves, median of the "
        "captures; below it the window in KiB. Boards and starts with the largest gains; grey: no "
        "capture with seconds.",
        height_in=0.2 + bottom + 0.42 * len(boards),
        draw=partial(_map, starts=starts, boards=boards, bottom=bottom),
    )


def _map(canvas: Canvas, starts: Sequence[FleetStart], boards: list[str], bottom: float) -> None:
    columns = list(dict.fromkeys(one.start for one in starts if one.board in boards))[:MOST_STARTS]
    gains = np.full((len(boards), len(columns)), np.nan)
    ax = axes(canvas, left=1.9, top=0.15, bottom=bottom)
    ax.set_facecolor("#e4e4e4")
    for one in starts:
        if one.board in boards and one.start in columns:
            at = boards.index(one.board), columns.index(one.start)
            gains[at] = one.gain
            dark = (one.gain or 0) > 0.6 * max((s.gain or 0) for s in starts)
            text = f"{percent(one.gain)}\n{one.proposed_kb} KiB"
            colour = "white" if dark else "black"
            ax.text(at[1], at[0], text, ha="center", va="center", fontsize=7, color=colour)
    top = max(float(np.nanmax(gains)), 0.01)
    ax.imshow(gains, cmap=_GAINS, vmin=0, vmax=top, aspect="auto")
    ax.set_xticks(range(len(columns)), [label(one) for one in columns], rotation=35, ha="right")
    ax.set_yticks(range(len(boards)), [label(one) for one in boards])
    ax.grid(False)


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
    known = [one.read_ahead_kb for one in counts]
    ax = axes(canvas, top=0.35)
    for shift, name, colour, heights in (
        (-0.2, "now", GREY, [one.now for one in counts]),
        (0.2, "recommended", BLUE, [one.proposed for one in counts]),
    ):
        ax.bar(np.arange(len(known)) + shift, heights, 0.4, label=name, color=colour)
    ax.set_xticks(range(len(known)), [f"{kb:,}" for kb in known])
    ax.set_xlabel("read_ahead_kb (KiB)")
    ax.set_ylabel("starts on boards")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(visible=False, axis="x")
    legend(ax)


def _curves_plot(curves: Sequence[tuple[FleetStart, list[tuple[int, float]]]]) -> Plot:
    return Plot(
        name="seconds-by-window",
        title="Seconds by window",
        caption="The starts with the largest gains: predicted seconds, median of the captures, as "
        "a part of the seconds with their window now (dashed line).",
        height_in=3.2,
        draw=partial(_curves, curves=curves),
    )


def _curves(canvas: Canvas, curves: Sequence[tuple[FleetStart, list[tuple[int, float]]]]) -> None:
    ax = axes(canvas, top=0.2 + 0.17 * len(curves), bottom=0.75)
    windows = sorted({kb for _, points in curves for kb, _ in points})
    places = {kb: place for place, kb in enumerate(windows)}
    for (of, points), (colour, dash, mark) in zip(curves, SERIES, strict=False):
        now = of.seconds_now or 1.0
        ax.plot(
            [places[kb] for kb, _ in points],
            [seconds / now for _, seconds in points],
            dash,
            marker=mark,
            color=colour,
            label=f"{label(of.start)} on {label(of.board)}",
        )
    ax.axhline(1, color=GREY, linestyle="--", linewidth=0.8)
    ax.set_xticks(list(places.values()), [f"{kb:g}" for kb in windows], rotation=60)
    ax.set_xlabel("read_ahead_kb (KiB)")
    ax.set_ylabel("seconds / seconds now")
    ax.set_ylim(bottom=0)
    legend(ax, columns=1)


def _series(builds: Sequence[FleetBuild]) -> list[list[FleetBuild]]:
    """Return the builds of each start on a board, in the order of the starts' drifts."""
    found: dict[tuple[str, str], list[FleetBuild]] = {}
    for one in builds:
        found.setdefault((one.board, one.start), []).append(one)
    return [some for some in found.values() if len(some) > 1][:MOST_LINES]


def _drift_plot(series: Sequence[list[FleetBuild]]) -> Plot:
    return Plot(
        name="drift",
        title="Drift over builds",
        caption="Predicted seconds with the window now, median of each build's captures, as a "
        "part of the first build's. Builds in the order of their first recording.",
        height_in=2.9,
        draw=partial(_drift, series=series),
    )


def _drift(canvas: Canvas, series: Sequence[list[FleetBuild]]) -> None:
    ax = axes(canvas, top=0.2 + 0.17 * len(series))
    for builds, (colour, dash, mark) in zip(series, SERIES, strict=False):
        first = builds[0].seconds or 1.0
        ax.plot(
            range(1, len(builds) + 1),
            [one.seconds / first for one in builds],
            dash,
            marker=mark,
            color=colour,
            label=f"{label(builds[0].start)} on {label(builds[0].board)}",
        )
    ax.axhline(1, color=VERMILLION, linestyle="--", linewidth=0.8)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("build")
    ax.set_ylabel("seconds / first build's")
    legend(ax, columns=1)
