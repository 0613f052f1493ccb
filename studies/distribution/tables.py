"""The table of the distribution's boots and starts, as Markdown.

python -m studies.distribution.tables FOLDER
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from studies.accuracy.markdown import NONE, markdown
from studies.distribution.predicted import STARTS, Predicted, predicted

Document = dict[str, Any]
# By the names of files: the default image first, to which savings are relative.
CASES = {
    "default": "default image",
    "script": "boot script, 128 KiB",
    "window": "window of 0 KiB",
    "list": "list",
    "order": "order",
    "lz4-order": "order, lz4",
    "everything": "all four",
}
# By the first word of the files of measured runs.
TABLES = {
    "boots": "new board",
    "second": "recorded board",
    "starts": "start",
}
HEAD = (
    *("case", "predicted, s", "measured, s (range, runs)", "error, %"),
    "saving: predicted, measured, %",
)


def rows(
    cases: Mapping[str, Sequence[Document]], expected: Mapping[str, Predicted]
) -> Iterator[Sequence[str]]:
    """Yield a row for each measured case: the prediction and the median of its runs."""
    first = _median(cases["default"], "seconds")
    for name, title in CASES.items():
        runs = cases.get(name)
        if not runs:
            continue
        seconds, mine = _median(runs, "seconds"), expected.get(name)
        every = [run["seconds"] for run in runs]
        shares = (None if mine is None else 1 - mine.seconds / mine.default, 1 - seconds / first)
        yield (
            title,
            NONE if mine is None else f"{mine.seconds:.2f}",
            f"{seconds:.2f} ({min(every):.2f}…{max(every):.2f}, {len(every)})",
            NONE if mine is None else f"{100 * (mine.seconds / seconds - 1):.1f}",
            ", ".join(NONE if share is None else f"{100 * share:.1f}" for share in shares),
        )


def _median(runs: Sequence[Document], name: str) -> float:
    return float(median(run[name] for run in runs))


def measured(folder: Path, what: str) -> dict[str, list[Document]]:
    """Return the runs of the cases in a folder; ``what`` is one of TABLES."""
    files = {name: folder / f"{what}-{name}.json" for name in CASES}
    return {
        name: json.loads(file.read_text())["runs"] for name, file in files.items() if file.exists()
    }


def _predicted_as(what: str) -> str:
    return STARTS[1] if what == STARTS[1] else STARTS[0]


def table(folder: Path) -> str:
    """Return the table of a folder, as Markdown."""
    lines = [
        (f"{title}: {case}", *cells)
        for what, title in TABLES.items()
        for case, *cells in rows(measured(folder, what), predicted(folder, _predicted_as(what)))
    ]
    return "\n".join(markdown(HEAD, lines))


def main(folders: Sequence[str]) -> int:
    """Print the table of a folder."""
    print(table(Path(folders[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
