"""The map of a fleet's report: what each start gains on each board."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from foreread.analyzer.fleet.document import FleetFigures
from foreread.analyzer.fleet.lines import label
from foreread.analyzer.fleet.order import equal
from foreread.analyzer.fleet.tables import rows_of
from foreread.analyzer.report.plots import Plot
from foreread.analyzer.report.style import BLUE, Canvas, axes, text_width_pt
from foreread.analyzer.report.wording import count, percent

MOST_BOARDS, MOST_STARTS = 16, 10
_TICK_PT, _CELL_PT, _PT_PER_IN = 8.5, 7, 72
_DARK = 0.8  # of the colours' range: above it black text is hard to read
_GAINS = LinearSegmentedColormap.from_list("gains", ["#ffffff", "#8cc5e8", BLUE])

_CELLS = f"""
WITH gaining AS (FROM starts WHERE gain IS NOT NULL), most AS (
    SELECT board FROM gaining GROUP BY board
    ORDER BY {equal("max(gain)")} DESC, natural_order(board), board LIMIT ?
), of_most AS (FROM gaining WHERE board IN (FROM most)), shown AS (
    SELECT start FROM of_most GROUP BY start
    ORDER BY {equal("max(gain)")} DESC, natural_order(start), start LIMIT ?
)
SELECT board, start, gain, proposed_kb,
       dense_rank() OVER (ORDER BY natural_order(board), board) - 1 AS row,
       dense_rank() OVER (ORDER BY natural_order(start), start) - 1 AS place
FROM of_most WHERE start IN (FROM shown)
"""


def gain_map(database: Any, fleet: FleetFigures) -> Plot:
    """Return the map of the boards and starts with the largest gains; there is at least one."""
    cells = list(rows_of(database, _CELLS, MOST_BOARDS, MOST_STARTS))
    boards = {cell["row"]: label(cell["board"]) for cell in cells}
    starts = {cell["place"]: label(cell["start"]) for cell in cells}
    # Names of starts are turned by 35 degrees: sin 35° = 0.57.
    bottom = (
        0.25 + 0.57 * max(text_width_pt(name, _TICK_PT) for name in starts.values()) / _PT_PER_IN
    )
    some = f" ({len(boards)} of {count(fleet.boards)})" if len(boards) < fleet.boards else ""
    return Plot(
        name="boards-and-starts",
        title="Gain by board and start",
        caption="Share of the predicted seconds that the recommended window saves, median of the "
        f"captures; below it the window in KiB. The boards{some} and starts with the largest "
        "gains. Grey: no window is recommended.",
        height_in=0.2 + bottom + 0.42 * len(boards),
        draw=partial(_map, cells=cells, boards=boards, starts=starts, bottom=bottom),
    )


def _map(
    canvas: Canvas,
    cells: Sequence[dict[str, Any]],
    boards: dict[int, str],
    starts: dict[int, str],
    bottom: float,
) -> None:
    gains = np.full((len(boards), len(starts)), np.nan)
    for cell in cells:
        gains[cell["row"], cell["place"]] = cell["gain"]
    top = max(float(np.nanmax(gains)), 0.01)
    left = 0.2 + max(text_width_pt(name, _TICK_PT) for name in boards.values()) / _PT_PER_IN
    ax = axes(canvas, left=left, top=0.15, bottom=bottom)
    ax.set_facecolor("#e4e4e4")
    ax.imshow(gains, cmap=_GAINS, vmin=0, vmax=top, aspect="auto")
    for cell in cells:
        text = f"{percent(cell['gain'])}\n{count(cell['proposed_kb'])} KiB"
        colour = "white" if cell["gain"] > _DARK * top else "black"
        at = cell["place"], cell["row"]
        ax.text(*at, text, ha="center", va="center", fontsize=_CELL_PT, color=colour)
    ax.set_xticks(range(len(starts)), [starts[at] for at in range(len(starts))])
    ax.tick_params(axis="x", rotation=35)
    for name in ax.get_xticklabels():
        name.set_horizontalalignment("right")
        name.set_rotation_mode("anchor")
    ax.set_yticks(range(len(boards)), [boards[at] for at in range(len(boards))])
    ax.grid(visible=False)
    ax.set_xticks(np.arange(len(starts) - 1) + 0.5, minor=True)
    ax.set_yticks(np.arange(len(boards) - 1) + 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=0.8)
    ax.tick_params(which="minor", length=0)
