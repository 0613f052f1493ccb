"""Text tables for terminals."""

from __future__ import annotations

from collections.abc import Sequence

from foreread.boards.base.printable import printable


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


_LEAST = 0.0005  # smaller ones would be written as 0.000


def plus_minus(half_width: float) -> str:
    """Return the half width of a band: ``±0.012``; one that rounds to nothing is ``<0.001``."""
    return f"±{half_width:.3f}" if half_width >= _LEAST else "<0.001"
