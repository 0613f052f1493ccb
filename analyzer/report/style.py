"""One look for all figures: colours, fonts, axes of windows, and escaping of text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ticker import FixedLocator, FuncFormatter

from foreread.analyzer.report.wording import tick
from foreread.boards.base.printable import printable

Canvas = Figure | SubFigure
Weight = Literal["normal", "bold"]

WIDTH_IN = 7.2  # the text width of an A4 page

# Okabe and Ito's colours, distinguished with any colour vision; yellow is left out (white page).
BLACK, ORANGE, SKY, GREEN, BLUE, VERMILLION, PURPLE, GREY = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#767676",
)
SERIES = [(BLUE, "-", "o"), (GREEN, "--", "s"), (PURPLE, "-.", "^"), (SKY, ":", "v")]

_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same on every machine
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.labelsize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 4,
    "hatch.linewidth": 0.5,
    "text.parse_math": False,  # a file name with $ is not a formula
    "svg.fonttype": "none",
    "svg.hashsalt": "foreread",
    "pdf.fonttype": 42,
    "figure.dpi": 100,
    "savefig.dpi": 160,
}


@contextmanager
def drawing() -> Iterator[None]:
    """Draw in the report's style, whatever the caller's matplotlib settings are."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        with matplotlib.rc_context(_RC):
            yield


@cache
def _font_file(weight: Weight = "normal") -> str:
    return str(findfont(FontProperties(family="DejaVu Sans", weight=weight)))


def drawable(text: str) -> str:
    """Return ``text`` as it can be drawn: unseen characters and missing glyphs as escapes."""
    font = get_font(_font_file())
    return "".join(c if font.get_char_index(ord(c)) else _escaped(c) for c in printable(text))


def _escaped(character: str) -> str:
    code = ord(character)
    return rf"\u{code:04x}" if code < 0x10000 else rf"\U{code:08x}"


def text_width_pt(text: str, size_pt: float, weight: Weight = "normal") -> float:
    """Return the width of drawable ``text`` in points, kerning left out."""
    return size_pt * sum(_advance(character, weight) for character in text)


@cache
def _advance(character: str, weight: Weight) -> float:
    """Return the width of a glyph in em."""
    font = get_font(_font_file(weight))
    font.set_size(1000, 72)
    advance: float = font.load_char(ord(character)).linearHoriAdvance / 65536 / 1000
    return advance


def axes(
    canvas: Canvas, *, left: float = 0.8, right: float = 0.2, top: float = 0.32, bottom: float = 0.5
) -> Axes:
    """Return axes filling ``canvas`` but for margins in inches."""
    box = canvas.bbox
    width, height = box.width / canvas.dpi, box.height / canvas.dpi
    return canvas.add_axes(
        (left / width, bottom / height, 1 - (left + right) / width, 1 - (top + bottom) / height)
    )


def window_axis(ax: Axes, windows: list[int], page_kb: float) -> None:
    """Make x an axis of windows: pages, logarithmic from 1 and with room for 0, labelled in KiB."""
    last = max([*windows, 1])
    ticks = [0, *(1 << power_of_2 for power_of_2 in range(21) if 1 << power_of_2 <= last * 1.03)]
    ax.set_xscale("symlog", base=2, linthresh=1, linscale=1)
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(FixedLocator([]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda window, _: f"{window * page_kb:g}"))
    ax.set_xlim(-0.15, last * 1.15)
    ax.set_xlabel("read_ahead_kb (KiB)")


def count_axis(ax: Axes, label: str, values: list[int] | list[float]) -> None:
    """Make y a logarithmic axis that shows ``values``, with room for zeros where there are any."""
    positive = [value for value in values if value > 0] or [1]
    decades = math.log10(max(positive) / min(positive))
    if min(values, default=1) > 0:
        ax.set_yscale("log")
        ax.set_ylim(min(positive) / 1.6, max(positive) * 1.6)
    else:
        ax.set_yscale("symlog", base=10, linthresh=1, linscale=0.6)
        ax.set_ylim(-0.2, max(positive) * 2)
        decades = math.log10(max(positive))
    steps: tuple[float, ...] = (1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)
    if decades < 0.5:  # one or two of these would be no axis
        steps = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
    ax.yaxis.set_major_locator(FixedLocator(_log_ticks(ax.get_ylim(), steps)))
    ax.yaxis.set_minor_locator(FixedLocator([]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))
    ax.set_ylabel(label)


def _log_ticks(limits: tuple[float, float], steps: tuple[float, ...]) -> list[float]:
    low, high = limits
    first, last = (math.floor(math.log10(max(limit, 1e-3))) for limit in limits)
    stride = max(1, (last - first) // 8)
    decades = range(max(first, 0) if low <= 0 else first, last + 1, stride)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    zero = [0.0] if low <= 0 else []
    return zero + [at for at in ticks if low <= at <= high]


def legend(ax: Axes, columns: int = 4) -> None:
    """Put the legend above the axes, where no data can be under it."""
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2, columnspacing=1.4
    )
