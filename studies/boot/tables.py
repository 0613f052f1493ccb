"""The tables of the boots in ``raw/``, as Markdown: python -m studies.boot.tables FILE..."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from studies.accuracy.markdown import markdown, percent

Document = dict[str, Any]
HEAD = (
    "init",
    "case",
    "KiB in phases",
    "predicted",
    "measured",
    "error",
    "measured saving",
    "predicted saving",
    "boots",
)


def rows(document: Document) -> Iterator[Sequence[str]]:
    """Yield a row for each case that was measured; savings are relative to the first case."""
    first = document["cases"][0]
    for case in document["cases"]:
        measured = case.get("measured")
        if not measured:
            continue
        seconds = _seconds(case)
        saved, expected = _seconds(first) - seconds, first["seconds"] - case["seconds"]
        yield (
            document["init"],
            case["name"],
            _phases(case),
            f"{case['seconds']:.3f} s",
            f"{seconds:.3f} s",
            percent((case["seconds"] - seconds) / seconds),
            percent(saved / _seconds(first)),
            percent(expected / first["seconds"]),
            " ".join(f"{boot['seconds']:.3f}" for boot in measured),
        )


def _phases(case: Document) -> str:
    """Return the windows at the begin and at the end of a boot, and after it, as measured."""
    windows = case["measured"][-1].get("read_ahead_kb", [case["read_ahead_kb"]])
    return " → ".join(map(str, windows))


def _seconds(case: Document) -> float:
    return float(median(boot["seconds"] for boot in case["measured"]))


def main(files: Sequence[str]) -> int:
    """Print the table of all files."""
    documents = [json.loads(Path(file).read_text()) for file in files]
    print("\n".join(markdown(HEAD, [row for one in documents for row in rows(one)])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
