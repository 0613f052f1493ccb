"""Markdown tables, and numbers as they show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from foreread.boards.base.units import percent_text

NONE = "–"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows) if len(line)]


def percent(fraction: float | None) -> str:
    """Return a fraction in per cent."""
    return percent_text(fraction, 2, absent=NONE)
