"""Predicted against measured, of all that was measured: python -m studies.advice.tables FILE..."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from analyzer.advise.lists import WHOLE
from studies.accuracy.markdown import markdown, percent

HEAD = ("start", "what", "rows", "median error", "from", "to", "seconds of the best")
KINDS = ("windows", "windows in phases", "list of the start", "list of some files")
FIRST = ("start", "ranked first", "measured s", "best of all", "measured s", "longer")
_SHORT = 60  # characters of a row's name

Document = Mapping[str, Any]


def kind_of(row: Document) -> str:
    """Return what a measured row is, of KINDS."""
    if row["later"]:
        return KINDS[1]
    if row["list"] is None:
        return KINDS[0]
    return KINDS[2] if row["list"] == WHOLE else KINDS[3]


def errors(document: Document) -> dict[str, list[float]]:
    """Return by kind what predictions are longer than the measured median, as fractions."""
    found: dict[str, list[float]] = {}
    for row in document["rows"]:
        if row["predicted"] is not None:
            error = row["predicted"] / _seconds(row) - 1
            found.setdefault(kind_of(row), []).append(error)
    return found


def rows(name: str, document: Document) -> Iterator[Sequence[str]]:
    """Yield a row of HEAD for each kind."""
    by_kind = errors(document)
    for kind in KINDS:
        if kind in by_kind:
            own = by_kind[kind]
            best = min(_seconds(row) for row in document["rows"] if kind_of(row) == kind)
            middle = median(map(abs, own))
            yield (
                name,
                kind,
                str(len(own)),
                *(percent(one) for one in (middle, min(own), max(own))),
                f"{best:.3f}",
            )


def first(name: str, document: Document) -> Sequence[str]:
    """Return the row of FIRST: the row that is ranked first, against the best of all."""
    verdict = document["verdict"]
    return (
        name,
        str(verdict["first"])[:_SHORT],
        f"{verdict['first_seconds']:.3f}",
        str(verdict["best"])[:_SHORT],
        f"{verdict['best_seconds']:.3f}",
        f"{verdict['longer_percent']:.1f} %",
    )


def _seconds(row: Document) -> float:
    return float(median(row["seconds"]))


def main(files: Sequence[str]) -> int:
    """Print both tables of all files."""
    documents = {Path(file).stem: json.loads(Path(file).read_text()) for file in files}
    every = [row for name, one in documents.items() for row in rows(name, one)]
    print("\n".join(markdown(HEAD, every)), end="\n\n")
    print("\n".join(markdown(FIRST, [first(*one) for one in documents.items()])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
