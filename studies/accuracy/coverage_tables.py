"""Tables: how often measured seconds lie in the predicted band, and the error by window.

A band should hold 90 % of the measured points; between 85 and 95 % meet the target.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from studies.accuracy.figures import COVERAGE, Coverage, together
from studies.accuracy.markdown import NONE, markdown, percent
from studies.accuracy.store import Cell, Document

Made = Sequence[tuple[Cell, Document]]
Row = Mapping[str, Any]


def text(counted: Mapping[str, int]) -> str:
    """Return the coverage of a row, as it is stored."""
    return f"{counted['held']} of {counted['points']}" if counted["points"] else NONE


def together_text(rows: Iterable[Row]) -> str:
    """Return the coverage of all rows with its target."""
    return f"in the band {_judged(_all(rows))}"


def overall(results: Made) -> list[str]:
    """Return the section with the coverage of each area and over all; none without bands."""
    rows = {
        area: [
            row
            for cell, document in results
            if cell.area == area
            for row in document.get("rows", ())
        ]
        for area in dict.fromkeys(cell.area for cell, _ in results)
    }
    counted = {area: _all(each) for area, each in rows.items()}
    covered = {area: part for area, part in counted.items() if part.points}
    if not covered:
        return []
    least, most = (f"{100 * share:.0f}" for share in COVERAGE)
    lines = [(area, _judged(part)) for area, part in covered.items()]
    lines.append(("all", _judged(together(covered.values()))))
    table = markdown(("area", f"in the 90 % band (target {least} to {most} %)"), lines)
    return ["## Coverage of the 90 % band\n\n" + "\n".join(table)]


def by_window(results: Made) -> list[str]:
    """Return the error of each cell at each window: the median over captures and devices."""
    windows = sorted({kb for _, document in results for kb in _errors(document)})
    lines = []
    for cell, document in results:
        errors = _errors(document)
        each = [f"{100 * errors[kb]:+.1f}" if kb in errors else NONE for kb in windows]
        lines.append((cell.name, *each))
    head = ("error in % at KiB", *(str(kb) for kb in windows))
    return markdown(head, lines) if windows else []


def misses(results: Made) -> list[str]:
    """Return a line for each measured window that lies outside its band."""
    return [
        f"- {cell.name}, capture {row.get('capture', 1)}, {row['device']}, {_miss(point)}"
        for cell, document in results
        for row in document["rows"]
        for point in row.get("points", ())
        if point.get("in_band") is False
    ]


def _miss(point: Row) -> str:
    low, high = point["band"]
    measured, predicted = (point[name]["seconds"] for name in ("measured", "predicted"))
    seconds = f"measured {measured:.3f} s, predicted {predicted:.3f} s ({low:.3f} to {high:.3f})"
    return f"{point['read_ahead_kb']} KiB: {seconds}"


def _errors(document: Document) -> dict[int, float]:
    errors: dict[int, list[float]] = {}
    for row in document.get("rows", ()):
        for point in row.get("points", ()):
            if point["error"]["seconds"] is not None:
                errors.setdefault(point["read_ahead_kb"], []).append(point["error"]["seconds"])
    return {kb: median(each) for kb, each in errors.items()}


def _all(rows: Iterable[Row]) -> Coverage:
    counted = (row["coverage"] for row in rows if "coverage" in row)
    return together(Coverage(count["held"], count["points"]) for count in counted)


def _judged(counted: Coverage) -> str:
    if not counted.points:
        return NONE
    verdict = "met" if counted.honest else "missed"
    return f"{counted.held} of {counted.points} ({percent(counted.share)}: {verdict})"
