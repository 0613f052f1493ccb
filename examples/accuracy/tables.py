"""The tables of all cells, as Markdown; a figure stands before its target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from figures import relative_error
from store import Cell, Document

NONE = "–"
_SECONDS_HEAD = (
    *("cell", "device", "start, s", "spread"),
    *("median error", "worst error", "regret", "F² + G²: regret", "KiB: best, ours, F² + G²"),
)
_PAGES_HEAD = ("cell", "Jaccard", "pages", "requests", "calls", "requests beyond 512 KiB")


def text(results: Sequence[tuple[Cell, Document]]) -> str:
    """Return every area's table, and what was not measured and why."""
    parts = []
    for area in dict.fromkeys(cell.area for cell, _ in results):
        rows = [one for one in results if one[0].area == area]
        parts.append(f"## {area}\n\n{_table(rows)}")
    return "\n\n".join(parts)


def _table(results: Sequence[tuple[Cell, Document]]) -> str:
    made = [(cell, found) for cell, found in results if "skipped" not in found]
    lines: list[str] = []
    if any("sweep" in found for _, found in made):
        lines += _markdown(_SECONDS_HEAD, _seconds(made))
        lines += ["", *_summary(made)]
    elif made:
        lines += _markdown(_PAGES_HEAD, _pages(made))
    skipped = [(cell, found) for cell, found in results if "skipped" in found]
    lines += [f"- {cell.name} skipped: {found['skipped']}" for cell, found in skipped]
    return "\n".join(lines)


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows) if len(line)]


def _seconds(made: Sequence[tuple[Cell, Document]]) -> Iterable[Sequence[str]]:
    for cell, found in made:
        for row in found["rows"]:
            spread = found["spread"]
            told = NONE if spread is None else f"{percent(spread['median'])}"
            if "figures" not in row:
                yield (cell.name, row["device"], NONE, told, row["why"], *[NONE] * 4)
                continue
            picks = f"{row['best_kb']}, {row['chosen_kb']}, {row['published_kb']}"
            figures = [figure_text(one) for one in row["figures"]]
            start = f"{row['default_s']:.2f}"
            published = percent(row["regret_published"])
            yield (cell.name, row["device"], start, told, *figures, published, picks)


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


def percent(fraction: float | None) -> str:
    """Return a fraction in per cent."""
    return NONE if fraction is None else f"{100 * fraction:.2f} %"


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
    return "\n".join(_markdown(head, rows))


def _pair(pair: Sequence[float]) -> str:
    error = relative_error(*pair)
    return f"{pair[0]:g}, {pair[1]:g}" + ("" if error is None else f" ({100 * error:+.2f} %)")
