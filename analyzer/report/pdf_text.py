"""Text of the PDF: lines that fit their room, cells of tables."""

from __future__ import annotations

from functools import lru_cache

from foreread.analyzer.report.blocks import Column
from foreread.analyzer.report.style import WIDTH_IN, drawable, text_width_pt

MOST_LINES = 4  # of one table cell


@lru_cache(4096)  # the PDF is measured at several scales, and each line before it is set
def wrapped(text: str, size_pt: float, room_pt: float) -> tuple[str, ...]:
    """Return ``text`` in lines of at most ``room_pt``, as it can be drawn.

    Words that are too long are cut.
    """
    lines, line = [], ""
    for word in drawable(text).split(" "):
        candidate = f"{line} {word}" if line else word
        if text_width_pt(candidate, size_pt) <= room_pt:
            line = candidate
            continue
        if line:
            lines.append(line)
        *full, line = _cut(word, size_pt, room_pt)
        lines += full
    return (*lines, line)


def _cut(word: str, size_pt: float, room_pt: float) -> list[str]:
    """Return a word in pieces that fit; a path is cut after a slash where a piece has one."""
    pieces = [""]
    for character in word:
        if pieces[-1] and text_width_pt(pieces[-1] + character, size_pt) > room_pt:
            kept, slash, moved = pieces[-1].rpartition("/")
            pieces[-1:] = [kept + slash, moved] if kept else [pieces[-1], ""]
        pieces[-1] += character
    return pieces


def width_of(columns: list[Column], column: Column) -> float:
    """Return the width of a column in inches."""
    return WIDTH_IN * column.share / sum(each.share for each in columns)


def cell_lines(
    columns: list[Column], cells: list[str], size_pt: float, most_lines: int
) -> list[tuple[str, ...]]:
    """Return each cell's lines, at most ``most_lines``."""
    cell_by_cell = []
    for column, cell in zip(columns, cells, strict=True):
        room_pt = (width_of(columns, column) - 0.08) * 72 / 1.08  # bold runs wider
        lines = wrapped(cell, size_pt, room_pt)
        if len(lines) > most_lines:
            lines = (*lines[: most_lines - 1], f"{lines[most_lines - 1]}…")
        cell_by_cell.append(lines)
    return cell_by_cell
