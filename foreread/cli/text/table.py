"""Text tables for terminals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from foreread.boards.base.printable import printable
from foreread.cli.text.answer import columns, cut


def render(
    head: Sequence[str], rows: Sequence[Sequence[str]], left: frozenset[int] = frozenset()
) -> str:
    """Return rows under a head, right-aligned but for the columns in ``left``; cells escaped."""
    cells = [[printable(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = []
    for row in cells:
        aligned = (
            cell.ljust(width) if i in left or i == len(head) - 1 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(aligned).rstrip())
    return "\n".join(lines)


def render_cut(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    least: int,
    left: frozenset[int] = frozenset(),
    cut_last: Callable[[str, int], str] = cut,
) -> str:
    """Return a table as wide as standard output: its last column is cut, to ``least`` columns."""
    widths = [max(map(len, column)) + 2 for column in zip(head, *rows, strict=True)][:-1]
    room = max(columns() - sum(widths), least)
    return render(head, [(*row[:-1], cut_last(printable(row[-1]), room)) for row in rows], left)


_LEAST = 0.0005  # smaller ones would be written as 0.000


def seconds_cell(seconds: float | None) -> str:
    """Return seconds as a cell: ``0.123``, or ``-`` if they are unknown."""
    return "-" if seconds is None else f"{seconds:.3f}"


def plus_minus(half_width: float) -> str:
    """Return the half width of a band: ``±0.012``; one that rounds to nothing is ``<0.001``."""
    return f"±{half_width:.3f}" if half_width >= _LEAST else "<0.001"
