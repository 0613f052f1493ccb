"""The tables of all cells, as Markdown; a figure stands before its target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from studies.accuracy import (
    coverage_tables,
    filesystem_tables,
    forecast_tables,
    kernel_tables,
    load_tables,
    memory_tables,
    reclaim_tables,
)
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
        rows = [result for result in results if result[0].area == area]
        parts.append(f"## {area}\n\n{_table(rows)}")
    return "\n\n".join([*parts, *coverage_tables.overall(results)])


def _table(results: Sequence[tuple[Cell, Document]]) -> str:
    finished = [(cell, document) for cell, document in results if "skipped" not in document]
    lines: list[str] = []
    if any("series" in document for _, document in finished):
        lines += [*kernel_tables.lines(finished), ""]
    if any("beside" in document for _, document in finished):
        return "\n".join([*load_tables.lines(finished), *_skipped(results)])
    if any("memory" in document for _, document in finished):
        return "\n".join([*memory_tables.lines(finished), *_skipped(results)])
    if any("touches" in document for _, document in finished):
        return "\n".join([*reclaim_tables.lines(finished), *_skipped(results)])
    if any("sweep" in document for _, document in finished):
        lines += markdown(_SECONDS_HEAD, _seconds(finished))
        lines += ["", *_summary(finished), "", *coverage_tables.by_window(finished)]
        lines += ["", *coverage_tables.misses(finished)]
    elif any("root" in document for _, document in finished):
        lines += filesystem_tables.lines(finished)
    elif any("runs" in document or "pair" in document for _, document in finished):
        lines += forecast_tables.lines(finished)
    elif finished:
        lines += markdown(_PAGES_HEAD, _pages(finished))
    return "\n".join([*lines, *_skipped(results)])


def _skipped(results: Sequence[tuple[Cell, Document]]) -> list[str]:
    skipped = [(cell, document) for cell, document in results if "skipped" in document]
    return [f"- {cell.name} skipped: {document['skipped']}" for cell, document in skipped]


def _seconds(results: Sequence[tuple[Cell, Document]]) -> Iterable[Sequence[str]]:
    for cell, document in results:
        for row in document["rows"]:
            spread = NONE if document["spread"] is None else percent(document["spread"]["median"])
            which = (cell.name, row["device"], str(row.get("capture", 1)))
            if "figures" not in row:
                yield (*which, NONE, spread, row["why"], *[NONE] * 6)
                continue
            kib = (row[name] for name in ("best_kb", "chosen_kb", "verdict_kb", "published_kb"))
            figures = [figure_text(figure) for figure in row["figures"]]
            yield (
                *(*which, f"{row['default_s']:.2f}", spread, *figures),
                coverage_tables.text(row["coverage"]),
                *(percent(row["regret_proposed"]), percent(row["regret_published"])),
                ", ".join(NONE if kb is None else str(kb) for kb in kib),
            )


def _summary(results: Sequence[tuple[Cell, Document]]) -> list[str]:
    """Return a line for each device model: medians and worst over all cells, and targets met."""
    by_device: dict[str, list[Mapping[str, Any]]] = {}
    for _, document in results:
        for row in document["rows"]:
            by_device.setdefault(row["device"], []).append(row)
    return [f"- {name}: {_over_all(rows)}" for name, rows in by_device.items()]


def _over_all(rows: Sequence[Mapping[str, Any]]) -> str:
    figures = [figure for row in rows for figure in row.get("figures", [])]
    met = sum(figure["met"] for figure in figures)
    parts = [f"{met} of {3 * len(rows)} targets met"]
    for name in ("median error", "worst error", "regret"):
        values = [figure["value"] for figure in figures if figure["name"] == name]
        parts.append(f"{name} {_middle_and_worst(values)}")
    published = [row["regret_published"] for row in rows if "figures" in row]
    parts.append(f"F² + G² regret {_middle_and_worst(published)}")
    parts.append(coverage_tables.together_text(rows))
    return "; ".join(parts)


def _middle_and_worst(values: Iterable[float | None]) -> str:
    present = [value for value in values if value is not None]
    if not present:
        return NONE
    return f"{percent(median(present))} (median), {percent(max(present))} (worst)"


def _pages(results: Sequence[tuple[Cell, Document]]) -> Iterable[Sequence[str]]:
    names = ("least Jaccard", "pages", "requests", "readahead calls", "requests beyond")
    for cell, document in results:
        by_name = {figure["name"]: figure for figure in document["figures"]}
        texts = [figure_text(by_name[name]) if name in by_name else NONE for name in names]
        yield (cell.name, *texts)


def figure_text(figure: Mapping[str, Any]) -> str:
    """Return a figure, its target, and whether it is met."""
    fraction = figure["name"] == "least Jaccard"
    show = (lambda value: f"{value:.4f}") if fraction else percent
    value = NONE if figure["value"] is None else show(figure["value"])
    return f"{value} ({show(figure['target'])}: {'met' if figure['met'] else 'missed'})"


def windows_text(document: Document) -> str:
    """Return a cell of pages window by window."""
    head = ("KiB", "Jaccard", "pages predicted, measured", "requests", "calls", "identical")
    rows = [
        (
            str(row["read_ahead_kb"]),
            f"{row['jaccard']:.5f}",
            *(_pair(row[name]) for name in ("pages", "requests", "calls")),
            "yes" if row["identical"] else "no",
        )
        for row in document["rows"]
    ]
    return "\n".join(markdown(head, rows))


def _pair(pair: Sequence[float]) -> str:
    error = relative_error(*pair)
    return f"{pair[0]:g}, {pair[1]:g}" + ("" if error is None else f" ({100 * error:+.2f} %)")
