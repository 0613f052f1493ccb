"""The tables of root file systems: one row for each root and kernel, and one for each window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from studies.accuracy.figures import relative_error
from studies.accuracy.markdown import NONE, markdown, percent
from studies.accuracy.on_filesystems import IN_CLUSTERS, USUAL
from studies.accuracy.store import Cell, Document

_HEAD = (
    *("root", "kernel", "starts", "least Jaccard", "pages", "requests"),
    *("seconds: median error", "worst error", "regret"),
)
_FIGURES = ("median error", "worst error", "regret")
_BY_WINDOW = (
    *("start", "KiB", "Jaccard", "pages", "requests", "seconds predicted", "measured", "error"),
)

Made = Sequence[tuple[Cell, Document]]
Row = Sequence[str]


def lines(results: Made) -> list[str]:
    """Return the tables: of several starts and windows the worst counts in the first."""
    groups: dict[tuple[str, str], list[Document]] = {}
    for _, document in results:
        groups.setdefault(_root(document["root"]), []).append(document)
    whole = markdown(_HEAD, [_row(*key, documents) for key, documents in groups.items()])
    windows = [row for cell, document in results for row in _windows(cell.name, document)]
    return [
        *whole,
        "",
        "Pages and requests are predicted / measured.",
        "",
        *markdown(_BY_WINDOW, windows),
    ]


def _root(root: Mapping[str, str]) -> tuple[str, str]:
    """Return the file system, with the machine if that is not the usual one, and the kernel."""
    on = "" if root["machine"] == USUAL else f" ({root['machine']})"
    return f"{root['file_system']}{on}", root["kernel"]


def _row(root: str, kernel: str, documents: Sequence[Document]) -> Row:
    rows = [row for document in documents for row in document["pages"]]
    predicted = all(map(_has_requests, documents))
    jaccard = min((row["jaccard"] for row in rows), default=None)
    return (
        root,
        kernel,
        str(len(documents)),
        NONE if jaccard is None else f"{jaccard:.4f}",
        _worst(abs(_error(row["pages"])) for row in rows),
        _worst(abs(_error(row["requests"])) for row in rows if predicted),
        *(_worst(_figures(documents, name)) for name in _FIGURES),
    )


def _windows(name: str, document: Document) -> Iterator[Row]:
    """Yield the rows of a start; a window whose pages were not recorded has seconds only."""
    pages = {row["read_ahead_kb"]: row for row in document["pages"]}
    points = {
        point["read_ahead_kb"]: point
        for row in document["seconds"]["rows"]
        for point in row.get("points", [])
    }
    for kb in sorted(pages.keys() | points.keys()):
        jaccard, counted, requests = _of_pages(pages.get(kb))
        requests = requests if _has_requests(document) else NONE
        yield name, str(kb), jaccard, counted, requests, *_of_seconds(points.get(kb))


def _has_requests(document: Document) -> bool:
    """Return whether requests of file data are known: there are predictions, and no clusters."""
    if document["root"]["file_system"] in IN_CLUSTERS:
        return False
    rows = document["seconds"]["rows"]
    points = (point for row in rows for point in row.get("points", []))
    return any((point["predicted"] or {}).get("seconds") is not None for point in points)


def _of_pages(row: Mapping[str, Any] | None) -> Row:
    if row is None:
        return NONE, NONE, NONE
    pairs = (" / ".join(str(number) for number in row[name]) for name in ("pages", "requests"))
    return f"{row['jaccard']:.4f}", *pairs


def _of_seconds(point: Mapping[str, Any] | None) -> Row:
    if point is None:
        return NONE, NONE, NONE
    measured, predicted = point["measured"]["seconds"], (point["predicted"] or {}).get("seconds")
    if predicted is None:
        return NONE, f"{measured:.3f}", NONE
    return f"{predicted:.3f}", f"{measured:.3f}", percent(predicted / measured - 1)


def _error(pair: Sequence[float]) -> float:
    error = relative_error(*pair)
    return 0.0 if error is None else error


def _figures(documents: Sequence[Document], name: str) -> Iterable[float]:
    rows: list[Mapping[str, Any]] = [
        row for document in documents for row in document["seconds"]["rows"]
    ]
    for figure in (figure for row in rows for figure in row.get("figures", [])):
        if figure["name"] == name and figure["value"] is not None:
            yield figure["value"]


def _worst(values: Iterable[float]) -> str:
    errors = list(values)
    return percent(max(errors)) if errors else NONE
