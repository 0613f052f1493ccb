"""The tables of the boots in ``raw/``, as Markdown: python -m studies.boot.tables FILE..."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from studies.accuracy.markdown import markdown

Document = dict[str, Any]
HEAD = (
    *("init, case", "KiB in phases", "predicted, s", "measured, s", "error, %"),
    "saving: predicted, measured, %",
)


def rows(document: Document) -> Iterator[Sequence[str]]:
    """Yield a row for each case that was measured; savings are relative to the first case."""
    first = document["cases"][0]
    board = f"{document['board']}, " if "recorded_from" in document else ""
    for case in document["cases"]:
        measured = case.get("measured")
        if not measured:
            continue
        seconds = _seconds(case)
        saved, expected = _seconds(first) - seconds, first["seconds"] - case["seconds"]
        shares = (expected / first["seconds"], saved / _seconds(first))
        boots = ", ".join(f"{boot['seconds']:.3f}" for boot in measured)
        yield (
            f"{board}{document['init']}, {case['name']}",
            _phases(case),
            f"{case['seconds']:.3f}",
            f"{seconds:.3f} ({boots})",
            f"{100 * (case['seconds'] / seconds - 1):.2f}",
            ", ".join(f"{100 * share:.2f}" for share in shares),
        )


def _phases(case: Document) -> str:
    """Return the windows at the begin and at the end of a boot, and after it, as measured."""
    windows = case["measured"][-1].get("read_ahead_kb", [case["read_ahead_kb"]])
    return "→".join(map(str, windows))


def _seconds(case: Document) -> float:
    return float(median(boot["seconds"] for boot in case["measured"]))


def table(files: Sequence[Path]) -> str:
    """Return the table of all files, as Markdown."""
    documents = [json.loads(file.read_text()) for file in files]
    return "\n".join(markdown(HEAD, [row for document in documents for row in rows(document)]))


def main(files: Sequence[str]) -> int:
    """Print the table of all files."""
    print(table([Path(file) for file in files]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
