"""The table of random touches under little memory: MiB read by window, emulated and measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean, median

from studies.accuracy.markdown import markdown, percent
from studies.accuracy.store import Cell, Document

_HEAD = ("cell", "mapping", "lists", "KiB", "pages in memory")


def lines(results: Sequence[tuple[Cell, Document]]) -> list[str]:
    """Return a row for each cell, mapping, kind of lists and window, and the errors of each kind.

    A row has the mean of its seeds.
    """
    head = (*_HEAD, "read, MiB", "emulated, MiB", "error")
    rows = [row for _, document in results for row in document["touches"]]
    return [*markdown(head, _rows(results)), "", *_over_all(rows)]


def _rows(results: Sequence[tuple[Cell, Document]]) -> Iterator[tuple[str, ...]]:
    for cell, document in results:
        groups: dict[tuple[str, str, int], list[Document]] = {}
        for row in document["touches"]:
            groups.setdefault((_mapping(row), _lists(row), row["read_ahead_kb"]), []).append(row)
        for (mapping, lists, kb), rows in groups.items():
            pages, read, emulated = (
                mean(row[name] for row in rows)
                for name in ("cache_pages", "read_mib", "emulated_mib")
            )
            error = f"{100 * (emulated / read - 1):+.1f} %"
            figures = (f"{pages:,.0f}", f"{read:,.1f}", f"{emulated:,.1f}", error)
            yield (cell.name, mapping, lists, str(kb), *figures)


def _over_all(rows: Sequence[Document]) -> Iterator[str]:
    for lists in dict.fromkeys(map(_lists, rows)):
        errors = [abs(row["error"]) for row in rows if _lists(row) == lists]
        yield (
            f"- {lists}: error {percent(median(errors))} (median), {percent(max(errors))} (worst)"
        )


def _mapping(row: Document) -> str:
    return "code" if row["executes"] else "data"


def _lists(row: Document) -> str:
    return "generations" if row["generations"] else "two"
