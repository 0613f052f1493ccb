"""A table as a reader meets it: some lines of text, or an HTML table for a notebook.

Names and values come from captures, which may be hostile: what cannot be seen is an escape.
"""

from __future__ import annotations

from html import escape
from math import isnan
from typing import TYPE_CHECKING

from foreread.boards.base.counted import plural
from foreread.boards.base.printable import printable

if TYPE_CHECKING:
    from foreread.analyzer.ingest.tables import Array, Column, Table

_WIDTH = 100
_TEXT_ROWS, _HTML_ROWS = 8, 10  # larger tables: the first and the last of them
_TEXT_CELL, _HTML_CELL = 36, 160  # characters
_LARGE = 10_000  # from here on a number is shown with four digits
_NUMBER, _WORDS = "text-align:right;white-space:nowrap", "text-align:left"
_SCROLL = "overflow-x:auto;max-width:100%"


def text_of(table: Table) -> str:
    """Return at most eleven lines: the size, the names of the columns, the first and last rows."""
    rows, gap = _rows(table, _TEXT_ROWS)
    shown: list[list[str]] = []
    width, left_out = 0, 0
    for column in table.schema.columns:
        cells = [visible(column.name, _TEXT_CELL)]
        cells += _cells(table[column.name][rows], _TEXT_CELL)
        longest = max(map(len, cells))
        if width + longest > _WIDTH or left_out:
            left_out += 1
            continue
        width += longest + 2
        is_words = _is_words(column)
        shown.append([cell.ljust(longest) if is_words else cell.rjust(longest) for cell in cells])
    lines = ["  ".join(cells).rstrip() for cells in zip(*shown, strict=True)]
    if gap is not None:
        lines.insert(gap + 1, "…")
    more = f"; {left_out} to the right not shown" if left_out else ""
    return "\n".join([f"{_size(table)}{more}", *lines])


def html_of(table: Table, caption: str = "") -> str:
    """Return an HTML table of at most ten rows; it scrolls where it is too wide."""
    rows, gap = _rows(table, _HTML_ROWS)
    columns = table.schema.columns
    head = "".join(_heading(column) for column in columns)
    cells = [_html_cells(column, table[column.name][rows]) for column in columns]
    body = ["".join(row) for row in zip(*cells, strict=True)]
    if gap is not None:
        body.insert(gap, f'<td style="{_NUMBER}">…</td>' * len(columns))
    content = "".join(f"<tr>{cells}</tr>" for cells in body)
    return (
        f'<div style="{_SCROLL}"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{content}</tbody></table></div>"
        f"<p><small>{escape(caption or _size(table))}</small></p>"
    )


def visible(text: str, longest: int) -> str:
    """Return a text on one line, its unseen characters as escapes, cut to ``longest``."""
    shown = printable(text[: longest + 1])
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def _heading(column: Column) -> str:
    name, unit, title = (
        escape(visible(text, _HTML_CELL)) for text in (column.name, column.unit, column.meaning)
    )
    below = f"<br><small>{unit}</small>" if unit else ""
    return f'<th style="{_style(column)};vertical-align:bottom" title="{title}">{name}{below}</th>'


def _html_cells(column: Column, values: Array) -> list[str]:
    style = _style(column)
    return [f'<td style="{style}">{escape(cell)}</td>' for cell in _cells(values, _HTML_CELL)]


def _style(column: Column) -> str:
    return _WORDS if _is_words(column) else _NUMBER


def _is_words(column: Column) -> bool:
    return column.dtype == "U"


def _size(table: Table) -> str:
    rows, columns = plural(table.rows, "row"), plural(len(table.schema.columns), "column")
    return f"{visible(table.schema.name, _TEXT_CELL)}: {rows}, {columns}"


def _rows(table: Table, most: int) -> tuple[list[int], int | None]:
    """Return the rows to show, and where some are left out; None if none are."""
    if table.rows <= most:
        return list(range(table.rows)), None
    half = most // 2
    return [*range(half), *range(table.rows - half, table.rows)], half


def _cells(values: Array, longest: int) -> list[str]:
    """Return the values of a column as text: numbers of equal precision, a dash for NaN."""
    if values.dtype.kind != "f":
        return [visible(str(value), longest) for value in values.tolist()]
    magnitudes = [abs(value) for value in values.tolist() if not isnan(value)]
    form = ".3f" if max(magnitudes, default=0) < _LARGE else ".4g"
    form = ".0f" if form == ".3f" and all(value.is_integer() for value in magnitudes) else form
    return ["–" if isnan(value) else format(value, form) for value in values.tolist()]
