"""The tables of all cells, as Markdown; a figure stands before its target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from studies.accuracy import coverage_tables, filesystem_tables, forecast_tables, kernel_tables
from studies.accuracy.figures import relative_error
from studies.accuracy.markdown import NONE, markdown, percent
from studies.accuracy.store import Cell, Document

_SECONDS_HEAD = (
    *("cell", "device", "capture", "start, s", "spread"),
    *("median error", "worst error", "regret", "in the band"),
    *("verdict: regret", "F² + G²: regret", "KiB: best, ours, verdict, F² + G²"),
)
_PAGES_HEAD = ("cell", "Jaccard", "pages", "requests", "calls", "requests beyond 512 KiB")


def text(results: Sequence[tuple[Cell, Document]]) -> str:
    """Return every area's table, the coverage of bands, and missing measurements with reasons."""
    parts = []
    for area in dict.fromkeys(cell.area for cell, _ in results):
        rows = [one for one in results if one[0].area == area]
        parts.append(f"## {area}\n\n{_table(rows)}")
    return "\n\n".join([*parts, *coverage_tables.overall(results)])


def _table(results: Sequence[tuple[Cell, Document]]) -> str:
    made = [(cell, found) for cell, found in results if "skipped" not in found]
    lines: list[str] = []
    if any("series" in found for _, found in made):
        lines += [*kernel_tables.lines(made), ""]
    if any("sweep" in found for _, found in made):
        lines += markdown(_SECONDS_HEAD, _seconds(made))
        lines += ["", *_summary(made), "", *coverage_tables.by_window(made)]
        lines += ["", *coverage_tables.misses(made)]
    elif any("root" in found for _, found in made):
        lines += filesystem_tables.lines(made)
    elif any("runs" in found or "pair" in found for _, found in made):
        lines += forecast_tables.lines(made)
    elif made:
        lines += markdown(_PAGES_HEAD, _pages(made))
    skipped = [(cell, found) for cell, found in results if "skipped" in found]
    lines += [f"- {cell.name} skipped: {found['skipped']}" for cell, found in skipped]
    return "\n".join(lines)


def _seconds(made: Sequence[tuple[Cell, Document]]) -> Iterable[Sequence[str]]:
    for cell, found in made:
        for row in found["rows"]:
            spread = NONE if found["spread"] is None else percent(found["spread"]["median"])
            which = (cell.name, row["device"], str(row.get("capture", 1)))
            if "figures" not in row:
                yield (*which, NONE, spread, row["why"], *[NONE] * 6)
                continue
            kib = (row[name] for name in ("best_kb", "chosen_kb", "verdict_kb", "published_kb"))
            figures = [figure_text(one) for one in row["figures"]]
            yield (
                *(*which, f"{row['default_s']:.2f}", spread, *figures),
                coverage_tables.text(row["coverage"]),
                *(percent(row["regret_proposed"]), percent(row["regret_published"])),
                ", ".join(NONE if kb is None else str(kb) for kb in kib),
            )


def _summary(made: Sequence[tuple[Cell, Document]]) -> list[str]:
    """Return a line for each device model: medians and worst over all cells, and targets met."""
    by_device: dict[str, list[Mapping[str, Any]]] = {}
    for _, found in made:
        for row in found["rows"]:
            by_device.setdefault(row["device"], []).append(row)
    return [f"- {name}: {_over_all(rows)}" for name, rows in by_device.items()]


def _over_all(rows: Sequence[Mapping[str, Any]]) -> str:
    figures = [one for row in rows for one in row.get("figures", [])]
    met = sum(one["met"] for one in figures)
    parts = [f"{met} of {3 * len(rows)} targets met"]
    for name in ("median error", "worst error", "regret"):
        values = [one["value"] for one in figures if one["name"] == name]
        parts.append(f"{name} {_middle_and_worst(values)}")
    published = [row["regret_published"] for row in rows if "figures" in row]
    parts.append(f"F² + G² regret {_middle_and_worst(published)}")
    parts.append(coverage_tables.together_text(rows))
    return "; ".join(parts)


def _middle_and_worst(values: Iterable[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return NONE
    return f"{percent(median(known))} (median), {percent(max(known))} (worst)"


def _pages(made: Sequence[tuple[Cell, Document]]) -> Iterable[Sequence[str]]:
    names = ("least Jaccard", "pages", "requests", "readahead calls", "requests beyond")
    for cell, found in made:
        by_name = {one["name"]: one for one in found["figures"]}
        texts = [figure_text(by_name[name]) if name in by_name else NONE for name in names]
        yield (cell.name, *texts)


def figure_text(figure: Mapping[str, Any]) -> str:
    """Return a figure, its target, and whether it is met."""
    fraction = figure["name"] == "least Jaccard"
    show = (lambda value: f"{value:.4f}") if fraction else percent
    value = NONE if figure["value"] is None else show(figure["value"])
    return f"{value} ({show(figure['target'])}: {'met' if figure['met'] else 'missed'})"


def windows_text(found: Document) -> str:
    """Return a cell of pages window by window."""
    head = ("KiB", "Jaccard", "pages predicted, measured", "requests", "calls", "identical")
    rows = [
        (
            str(row["read_ahead_kb"]),
            f"{row['jaccard']:.5f}",
            *(_pair(row[name]) for name in ("pages", "requests", "calls")),
            "yes" if row["identical"] else "no",
        )
        for row in found["rows"]
    ]
    return "\n".join(markdown(head, rows))


def _pair(pair: Sequence[float]) -> str:
    error = relative_error(*pair)
    return f"{pair[0]:g}, {pair[1]:g}" + ("" if error is None else f" ({100 * error:+.2f} %)")
