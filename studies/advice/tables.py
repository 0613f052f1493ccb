"""Predicted against measured, of all that was measured: python -m studies.advice.tables FILE..."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from foreread.analyzer.advise.lists import WHOLE
from studies.accuracy.markdown import NONE, markdown

KINDS = ("windows", "windows in phases", "list of the start", "list of some files")
HEAD = ("start", *KINDS, "first-ranked longer than the best")

Document = Mapping[str, Any]


def kind_of(row: Document) -> str:
    """Return the kind of a measured row: one of KINDS."""
    if row["later"]:
        return KINDS[1]
    if row["list"] is None:
        return KINDS[0]
    return KINDS[2] if row["list"] == WHOLE else KINDS[3]


def errors(document: Document) -> dict[str, list[float]]:
    """Return by kind what predictions are longer than the measured median, as fractions."""
    by_kind: dict[str, list[float]] = {}
    for row in document["rows"]:
        if row["predicted"] is not None:
            error = row["predicted"] / _seconds(row) - 1
            by_kind.setdefault(kind_of(row), []).append(error)
    return by_kind


def row_of(name: str, document: Document) -> Sequence[str]:
    """Return the row of HEAD of a start, in per cent: median error, and the signed extremes."""
    by_kind = errors(document)
    cells = [_cell(by_kind[kind]) if kind in by_kind else NONE for kind in KINDS]
    return (name, *cells, f"{document['verdict']['longer_percent']:.1f}")


def _cell(own: Sequence[float]) -> str:
    middle, least, most = (100 * share for share in (median(map(abs, own)), min(own), max(own)))
    return f"{middle:.2f} ({least:.2f}…{most:.2f})"


def _seconds(row: Document) -> float:
    return float(median(row["seconds"]))


def table(files: Sequence[Path]) -> str:
    """Return the table of all files, as Markdown."""
    documents = {file.stem: json.loads(file.read_text()) for file in files}
    return "\n".join(markdown(HEAD, [row_of(*start) for start in documents.items()]))


def main(files: Sequence[str]) -> int:
    """Print the table of all files."""
    print(table([Path(file) for file in files]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
