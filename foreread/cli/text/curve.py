"""Seconds by window as a curve of text, where standard output is a terminal that can show it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from math import ceil, floor, log2
from typing import Any, TextIO

from foreread.cli.text.answer import can_print

_FEWEST_POINTS = 3
_NARROWEST, _WIDEST, _LINES = 40, 100, 9
_PLAIN_FRAME = str.maketrans("┌─┐│└┘", "+-+|++")
_MARGIN = 14  # columns of frame and numbers


def curve_text(
    read_ahead_kb: Sequence[int], seconds: Sequence[float | None], stream: TextIO | None = None
) -> str:
    """Return the curve; an empty text where none can be shown.

    That is if ``stream`` (standard output) is not a terminal, is too narrow, or says dumb, if there
    are too few points, and without uniplot (``foreread[plot]``). Colours are not used.
    """
    stream = sys.stdout if stream is None else stream
    timed = [
        (kb, value) for kb, value in zip(read_ahead_kb, seconds, strict=True) if value is not None
    ]
    points = sorted(point for point in timed if point[0] > 0)  # the axis is logarithmic
    columns = shutil.get_terminal_size().columns
    dumb = os.environ.get("TERM", "dumb") == "dumb"
    if not stream.isatty() or dumb or columns < _NARROWEST or len(points) < _FEWEST_POINTS:
        return ""
    draw = _drawing()
    if draw is None:
        return ""
    blocks = can_print("▚┌", stream)
    octaves = [log2(kb) for kb, _ in points]
    width = min(columns, _WIDEST) - _MARGIN
    drawn = draw(
        xs=octaves,
        ys=[value for _, value in points],
        x_min=octaves[0],
        x_max=octaves[-1],
        x_labels=False,
        lines=True,
        color=False,
        width=width,
        height=_LINES,
        line_length_hard_cap=columns,
        character_set="block" if blocks else "ascii",
    )
    title = "seconds by window (KiB)"
    zero = "".join(f"; at 0 KiB: {value:.3f} s" for kb, value in timed if kb == 0)
    title += zero if len(title + zero) <= columns else ""
    drawn = drawn if blocks else drawn.translate(_PLAIN_FRAME)
    scale = _scale(octaves[0], octaves[-1], width)
    return f"{title}\n{drawn.rstrip()}\n {scale}"


def _scale(least: float, most: float, width: int) -> str:
    """Return the windows below a drawing of ``width`` columns, where there is room for them."""
    scale = ""
    for octave in range(ceil(least), floor(most) + 1):
        text = str(1 << octave) if octave >= 0 else ""
        at = round((octave - least) / (most - least) * (width - 1))
        if at >= len(scale) + 2 * bool(scale) and at + len(text) <= width + _MARGIN - 2:
            scale = f"{scale:<{at}}{text}"
    return scale


def _drawing() -> Callable[..., Any] | None:
    """Return uniplot's function; None without the library."""
    try:
        plot_to_string: Callable[..., Any] = import_module("uniplot").plot_to_string
    except ImportError:
        return None
    return plot_to_string
