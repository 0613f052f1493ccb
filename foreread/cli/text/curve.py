"""Seconds by window as a curve of text, where standard output is a terminal that can show it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TextIO

_FEWEST_POINTS = 3
_NARROWEST, _WIDEST, _LINES = 40, 100, 12
_PLAIN_FRAME = str.maketrans("┌─┐│└┘", "+-+|++")
_MARGIN = 14  # columns beside the drawing: frame and numbers


def curve_text(
    read_ahead_kb: Sequence[int], seconds: Sequence[float | None], stream: TextIO | None = None
) -> str:
    """Return the curve; an empty text where none can be shown.

    That is if ``stream`` (standard output) is not a terminal, is too narrow, or says dumb, if there
    are too few points, and without uniplot (``foreread[plot]``). Colours are not used.
    """
    stream = sys.stdout if stream is None else stream
    known = [
        (kb, value) for kb, value in zip(read_ahead_kb, seconds, strict=True) if value is not None
    ]
    points = sorted(point for point in known if point[0] > 0)  # the axis is logarithmic
    columns = shutil.get_terminal_size().columns
    draw = _drawing()
    dumb = os.environ.get("TERM", "dumb") == "dumb"
    if not stream.isatty() or dumb or columns < _NARROWEST or draw is None:
        return ""
    if len(points) < _FEWEST_POINTS:
        return ""
    blocks = _has_blocks(stream)
    drawn = draw(
        xs=[kb for kb, _ in points],
        ys=[value for _, value in points],
        x_as_log=True,
        lines=True,
        color=False,
        width=min(columns, _WIDEST) - _MARGIN,
        height=_LINES,
        line_length_hard_cap=columns,
        character_set="block" if blocks else "ascii",
    )
    zero = "".join(f"at 0 KiB: {value:.3f} s\n" for kb, value in known if kb == 0)
    drawn = drawn if blocks else drawn.translate(_PLAIN_FRAME)
    return f"seconds by window (KiB)\n{drawn.rstrip()}\n{zero}".rstrip()


def _drawing() -> Callable[..., Any] | None:
    """Return uniplot's function; None without the library."""
    try:
        found: Callable[..., Any] = import_module("uniplot").plot_to_string
    except ImportError:
        return None
    return found


def _has_blocks(stream: TextIO) -> bool:
    """Return whether the stream can print block characters."""
    try:
        "▚┌".encode(stream.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True
