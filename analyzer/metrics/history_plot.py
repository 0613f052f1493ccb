"""The plot of a history: a panel for each start, its seconds by commit, and a drift."""

from __future__ import annotations

import io
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from foreread.analyzer.metrics.history import Series
from foreread.analyzer.report.style import (
    BLUE,
    GREY,
    SKY,
    VERMILLION,
    WIDTH_IN,
    axes,
    drawable,
    drawing,
    legend,
)
from foreread.analyzer.report.wording import shortened
from foreread.boards.base.units import percent_text

PANELS = 12  # the starts that drifted most
_PANEL_IN = 2.1
_TITLE, _COMMIT = 70, 8  # characters


def history_plot(series: Sequence[Series], suffix: str) -> bytes:
    """Return the plot as the content of a file with the suffix ``.png`` or ``.svg``."""
    ordered = sorted(series, key=lambda each: (not each.drift.is_significant, -each.drift.share))
    shown = ordered[:PANELS]
    with drawing():
        figure = Figure(figsize=(WIDTH_IN, _PANEL_IN * len(shown) + 0.3), facecolor="white")
        panels = figure.subfigures(len(shown), 1, squeeze=False)[:, 0]
        for panel, each in zip(panels, shown, strict=True):
            ax = axes(panel, left=0.7, top=0.55, bottom=0.42)
            _draw(ax, each)
        if len(shown) < len(series):
            panels[-1].text(0.99, 0.02, f"and {len(series) - len(shown)} more", ha="right")
        content = io.BytesIO()
        metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
        figure.savefig(content, format=suffix[1:], metadata=metadata)
    return content.getvalue()


def _draw(ax: Axes, series: Series) -> None:
    """Draw the seconds of a start with their bounds, and the medians at both ends."""
    seconds = [metric.value for metric in series.metrics]
    places = range(len(seconds))
    bounds = [(m.value if m.low is None else m.low, m.high or m.value) for m in series.metrics]
    ax.vlines(places, *zip(*bounds, strict=True), color=SKY, linewidth=1.2)
    ax.plot(places, seconds, "o", color=BLUE, markersize=3, label="seconds")
    drift = series.drift
    share = percent_text(drift.share, signed=True)
    colour = VERMILLION if drift.is_significant else GREY
    ends = drift.ends
    ax.hlines(
        drift.old, -0.4, ends - 0.6, color=colour, label="medians of the first and last commits"
    )
    ax.hlines(drift.new, len(seconds) - ends - 0.4, len(seconds) - 0.6, color=colour)
    if drift.is_significant and drift.alarm is not None:
        ax.axvline(drift.alarm, color=colour, linewidth=0.8, linestyle=":", label="drift found")
    answer = f"drift, {share}" if drift.is_significant else share
    title = drawable(shortened(series.title, _TITLE))
    ax.set_title(f"{title}: {answer}", loc="left", pad=18)
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda at, _: _commit(series.commits, at)))
    ax.set_xlim(-0.6, max(len(seconds) - 0.4, 1))
    ax.set_ylabel("seconds")
    legend(ax)


def _commit(commits: Sequence[str], at: float) -> str:
    """Return the label of a place on the axis: the commit that is there."""
    place = round(at)
    return drawable(commits[place][:_COMMIT]) if 0 <= place < len(commits) else ""
