"""Figure of every page read: time, file, and the unused pages that the window reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from foreread.analyzer.report.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    PURPLE,
    SKY,
    VERMILLION,
    Canvas,
    axes,
    drawable,
    legend,
)
from foreread.analyzer.report.subject import Subject
from foreread.analyzer.report.wording import shortened

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TOP_COLOURS = [BLUE, GREEN, PURPLE, SKY, BLACK]
OTHER_COLOURS = [GREY, "#a8a8a8"]  # neighbours differ
LABELLED = 14
BESIDE_IN = 0.035  # marks of unused pages stand right of the dots: grey print tells them apart
LONGEST_GAP = 32  # pages; longer stretches that nothing reads are drawn as long as this
ACCESSED_AT, WASTED_AT = 1.55, 1.66  # right edges, of the axes' width
LABEL_HEIGHT = 0.036  # of the axes' height, at least between two labels


@dataclass(frozen=True)
class Layout:
    """Positions on y: accesses, unused runs, and each file's low and high end."""

    access_y: Floats
    run_low: Floats
    run_high: Floats
    files: Ints  # rows of the files table, from the bottom upwards
    low: Floats
    high: Floats


def access_map(canvas: Canvas, subject: Subject) -> None:
    """Draw page accesses over time and file offset, files stacked by first access."""
    ax = axes(canvas, left=0.45, right=2.75, top=0.36)
    accesses, waste = subject.recording.accesses, subject.waste
    layout = stack(subject)
    time_s = _since_start(subject, accesses["time_ns"].astype(np.int64))
    ax.vlines(
        _since_start(subject, waste.run_ns),
        layout.run_low,
        layout.run_high,
        color=VERMILLION,
        linewidth=1.6,
        capstyle="projecting",
        snap=False,  # snapping would drop runs that are shorter than a dot of the screen
        transform=ax.transData + ScaledTranslation(BESIDE_IN, 0, canvas.dpi_scale_trans),
        rasterized=True,
        label=f"unused, read at {subject.window_kb:,} KiB",
    )
    colours = _colours(subject, layout)
    ax.scatter(
        time_s,
        layout.access_y,
        s=float(np.clip(16_000 / max(len(time_s), 1), 0.8, 5)),
        c=colours[accesses["file"]],
        marker="s",
        linewidths=0,
        rasterized=True,
    )
    ax.scatter([], [], s=12, c=BLACK, marker="s", label="page accessed (colour: file)")
    height = max(layout.high[-1], 1.0)
    ax.set_ylim(-0.01 * height, 1.01 * height)
    ax.set_xlim(0, max(time_s.max(), 1e-6) * 1.01)
    ax.set_yticks([])
    ax.grid(False, axis="y")
    ax.set_ylabel("files by first access, offset upwards")
    ax.set_xlabel("time since the start (s)")
    legend(ax)
    _label_files(ax, subject, layout, colours, height)


def stack(subject: Subject) -> Layout:
    """Return the layout: one unit of y a page, long stretches that nothing reads shortened."""
    accesses, waste = subject.recording.accesses, subject.waste
    accessed = len(accesses["file"])
    file = np.concatenate([accesses["file"].astype(np.int64), waste.run_file])
    page = np.concatenate([accesses["page"].astype(np.float64), waste.run_page])
    pages = np.concatenate([np.ones(accessed), waste.run_pages])
    files, first = np.unique(file[:accessed], return_index=True)
    rank = np.zeros(subject.recording.files.rows, np.int64)
    rank[files[np.argsort(first)]] = np.arange(len(files))

    order = np.lexsort((page, rank[file]))
    new_file = np.diff(rank[file[order]], prepend=-1) > 0
    end_before = np.concatenate([[0], (page + pages)[order][:-1]])
    gap = np.clip(page[order] - end_before, 0, LONGEST_GAP)
    gap[new_file] = max(1.0, pages.sum() / 400)
    top = np.cumsum(gap + pages[order])
    low = np.empty(len(order))
    low[order] = top - pages[order]
    starts = np.flatnonzero(new_file)
    return Layout(
        access_y=low[:accessed] + 0.5,
        run_low=low[accessed:],
        run_high=low[accessed:] + pages[accessed:],
        files=file[order][starts],
        low=low[order][starts],
        high=top[np.append(starts[1:], len(order)) - 1],
    )


def _since_start(subject: Subject, time_ns: Ints) -> Floats:
    return (time_ns - subject.start_ns) / 1e9


def _top_files(subject: Subject) -> Ints:
    """Return the rows of the files that most pages were read of, at most LABELLED."""
    cost = subject.recording.files["accessed"].astype(np.int64) + subject.waste.wasted
    top = np.argsort(-cost, kind="stable")[:LABELLED]
    return top[subject.recording.files["accessed"][top] > 0]


def _colours(subject: Subject, layout: Layout) -> npt.NDArray[np.str_]:
    """Return a colour for each row of the files table."""
    colours = np.full(subject.recording.files.rows, GREY)
    colours[layout.files[1::2]] = OTHER_COLOURS[1]
    top = _top_files(subject)[: len(TOP_COLOURS)]
    colours[top] = TOP_COLOURS[: len(top)]
    return colours


def _label_files(
    ax: Axes, subject: Subject, layout: Layout, colours: npt.NDArray[np.str_], height: float
) -> None:
    """Name the top files at the right: pages accessed + unused pages."""
    outside = ax.get_yaxis_transform()
    ax.vlines(
        np.full(len(layout.files), 1.012),
        layout.low,
        layout.high,
        color=colours[layout.files].tolist(),
        linewidth=3.5,
        capstyle="butt",
        transform=outside,
        clip_on=False,
        rasterized=True,
    )
    top = np.isin(layout.files, _top_files(subject))
    middle = (layout.low + layout.high)[top] / 2
    placed = spread(middle, LABEL_HEIGHT * height, height)
    for file, at, y in zip(layout.files[top], middle, placed, strict=True):
        accessed, wasted = subject.recording.files["accessed"][file], subject.waste.wasted[file]
        ax.text(ACCESSED_AT, y, f"{accessed:,}", **_number_style(ax))
        ax.text(WASTED_AT, y, f"{wasted:,}", **_number_style(ax))
        ax.annotate(
            drawable(shortened(subject.name(int(file)), 26)),
            xy=(1.017, at),
            xytext=(1.055, y),
            xycoords=outside,
            textcoords=outside,
            size=7,
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "linewidth": 0.5,
                "color": GREY,
                "relpos": (0.0, 0.5),  # to where the name begins, not across it
                "shrinkA": 1,
                "shrinkB": 0,
            },
        )
    for at, text in ((ACCESSED_AT, "pages\naccessed"), (WASTED_AT, "\nunused")):
        ax.text(at, 1.01, text, size=7, ha="right", va="bottom", transform=ax.transAxes)


def _number_style(ax: Axes) -> dict[str, Any]:
    return {"size": 7, "ha": "right", "va": "center", "transform": ax.get_yaxis_transform()}


def spread(wanted: Floats, distance: float, height: float) -> Floats:
    """Return ``wanted`` (rising) moved as little as a pass up and one down need.

    Neighbours end at least ``distance`` apart, within 0 to ``height`` where they fit.
    """
    placed = wanted.copy()
    for row in range(1, len(placed)):
        placed[row] = max(placed[row], placed[row - 1] + distance)
    limit = height
    for row in reversed(range(len(placed))):
        placed[row] = min(placed[row], limit)
        limit = placed[row] - distance
    return placed
