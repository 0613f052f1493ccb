"""The table of starts with little memory: pages and seconds by memory and window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from studies.accuracy.markdown import markdown
from studies.accuracy.store import Cell, Document


def lines(results: Sequence[tuple[Cell, Document]]) -> list[str]:
    """Return a row for each start and memory: pages read and seconds at each window."""
    windows: list[int] = next(
        [point["read_ahead_kb"] for point in points]
        for _, document in results
        for points in document["measured"].values()
    )
    return markdown(("start", "memory", *map(str, windows)), list(_rows(results)))


def _rows(results: Sequence[tuple[Cell, Document]]) -> Iterator[tuple[str, ...]]:
    for cell, document in results:
        for memory, points in sorted(document["measured"].items(), key=lambda row: _order(row[0])):
            yield (cell.name, memory, *map(_figure, points))


def _order(memory: str) -> tuple[bool, int]:
    """Return the place of a row: the idle machine, then falling memory."""
    number = memory.removesuffix("M")
    return number.isdecimal(), -int(number) if number.isdecimal() else 0


def _figure(point: Document) -> str:
    if point["seconds"] is None:
        pages = max((run["pages"] or 0 for run in point["killed"]), default=0)
        return f"killed after {pages:,.0f}"
    part = f" ({len(point['killed'])} killed)" if point["killed"] else ""
    return f"{point['pages']:,.0f} in {point['seconds']:.2f} s{part}"
