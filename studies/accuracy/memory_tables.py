"""The table of starts with little memory: pages and seconds, and errors, by memory and window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import hypot, inf, sqrt
from statistics import median

from foreread.analyzer.load.verdicts import AGAIN
from foreread.analyzer.predict.bands import DEVIATIONS, REPLAY
from studies.accuracy.markdown import NONE, markdown, percent
from studies.accuracy.store import Cell, Document

_SHORT = 0.2  # of the pages are read again at most: memory is a little short

Made = Sequence[tuple[Cell, Document]]


def lines(results: Made) -> list[str]:
    """Return the table of all cells and sizes, and the errors over all of them."""
    rows = [(cell, row) for cell, document in results for row in document["memory"]]
    windows = sorted({point["read_ahead_kb"] for _, row in rows for point in row["points"]})
    head = ("start", "memory", "recorded", *(f"{kb} KiB: pages, s (errors, %)" for kb in windows))
    table = [*markdown(head, (_row(cell, row, windows) for cell, row in rows))]
    for recorded in dict.fromkeys(row["recorded"] for _, row in rows):
        of = [row for _, row in rows if row["recorded"] == recorded]
        table += ["", f"{recorded}:", "", *_over_all([p for row in of for p in row["points"]])]
        table.append(_regret(of))
    return table


def _regret(rows: Sequence[Document]) -> str:
    """Return how much longer starts take at the window that is predicted to be the fastest."""
    regrets = []
    for row in rows:
        points = [point for point in row["points"] if point["seconds"]]
        if points:
            chosen = min(row["points"], key=lambda point: point["predicted_seconds"])
            best = min(point["seconds"] for point in points)
            regrets.append(chosen["seconds"] / best - 1 if chosen["seconds"] else inf)
    return f"- regret: {percent(median(regrets))} (median), {percent(max(regrets))} (worst)"


def _row(cell: Cell, row: Document, windows: Sequence[int]) -> Sequence[str]:
    points = {point["read_ahead_kb"]: point for point in row["points"]}
    return cell.name, row["memory"], row["recorded"], *(_cell(points.get(kb)) for kb in windows)


def _cell(point: Document | None) -> str:
    if point is None:
        return NONE
    if point["pages"] is None:
        return f"killed ({point['predicted_pages']:,} predicted)"
    seconds, off = point["seconds"], point["predicted_seconds"] / point["seconds"] - 1
    return f"{point['pages']:,.0f} ({100 * point['error']:+.1f}), {seconds:.2f} ({100 * off:+.1f})"


def _over_all(points: Sequence[Document]) -> Iterable[str]:
    """Yield a line for starts that read nothing again, a few pages, and many."""
    known = [point for point in points if point["pages"]]
    again = {id(point): point["pages"] / point["idle_pages"] - 1 for point in known}
    groups = {
        "no page read again": [point for point in known if again[id(point)] <= 0.01],
        f"up to {percent(_SHORT)} more pages": [
            point for point in known if 0.01 < again[id(point)] <= _SHORT
        ],
        "more": [point for point in known if again[id(point)] > _SHORT],
    }
    for name, group in groups.items():
        if group:
            pages = [abs(point["error"]) for point in group]
            seconds = [abs(point["predicted_seconds"] / point["seconds"] - 1) for point in group]
            yield (
                f"- {name}: {len(group)} windows, error of pages {percent(median(pages))} (median) "
                f"and {percent(max(pages))} (worst), of seconds {percent(median(seconds))} and "
                f"{percent(max(seconds))}"
            )
    again_read = [point for point in known if point["predicted_pages"] > point["idle_pages"]]
    inside = sum(map(_is_inside, again_read))
    yield f"- in the band of a row that reads pages again: {inside} of {len(again_read)} windows"


def _is_inside(point: Document) -> bool:
    """Return whether the pages are in the band that the seconds of such a start have."""
    share = 1 - point["idle_pages"] / point["predicted_pages"]
    half = DEVIATIONS * hypot(REPLAY, AGAIN * sqrt(share))
    return bool(abs(point["pages"] / point["predicted_pages"] - 1) <= half)
