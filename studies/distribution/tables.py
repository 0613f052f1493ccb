"""The tables of the distribution's boots and starts, as Markdown.

python -m studies.distribution.tables FOLDER
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from studies.accuracy.markdown import NONE, markdown, percent
from studies.distribution.predicted import STARTS, Predicted, predicted

Document = dict[str, Any]
# By the names of files: the default image first, to which savings are relative.
CASES = {
    "default": "default image, 128 KiB",
    "script": "boot script that sets 128 KiB",
    "window": "window: 0 KiB, by boot script",
    "list": "prefetch list, 128 KiB, by boot script",
    "order": "order",
    "lz4-order": "order, lz4",
    "everything": "order, lz4, window and list",
}
# By the first word of the files of measured runs.
TABLES = {
    "boots": "Boots of a new board",
    "second": "Boots of the board that was recorded, not its first",
    "starts": "Starts",
}
HEAD = ("case", "predicted s", "measured s", "lowest to highest", "runs", "error")
MORE = ("predicted saving", "measured saving", "requests", "MiB")


def rows(
    cases: Mapping[str, Sequence[Document]], expected: Mapping[str, Predicted]
) -> Iterator[Sequence[str]]:
    """Yield a row for each case that was measured: predicted beside the median of its runs."""
    first = _median(cases["default"], "seconds")
    for name, title in CASES.items():
        runs = cases.get(name)
        if not runs:
            continue
        seconds, mine = _median(runs, "seconds"), expected.get(name)
        every = [one["seconds"] for one in runs]
        yield (
            title,
            NONE if mine is None else f"{mine.seconds:.2f}",
            f"{seconds:.2f}",
            f"{min(every):.2f} to {max(every):.2f}",
            str(len(every)),
            NONE if mine is None else percent(mine.seconds / seconds - 1),
            NONE if mine is None else percent(1 - mine.seconds / mine.default),
            percent(1 - seconds / first),
            f"{_median(runs, 'requests'):,.0f}",
            f"{_median(runs, 'read_bytes') / (1 << 20):.1f}",
        )


def _median(runs: Sequence[Document], name: str) -> float:
    return float(median(one[name] for one in runs))


def measured(folder: Path, what: str) -> dict[str, list[Document]]:
    """Return the runs of the cases in a folder; ``what`` is one of TABLES."""
    files = {name: folder / f"{what}-{name}.json" for name in CASES}
    return {
        name: json.loads(file.read_text())["runs"] for name, file in files.items() if file.exists()
    }


def _predicted_as(what: str) -> str:
    return STARTS[1] if what == STARTS[1] else STARTS[0]


def main(folders: Sequence[str]) -> int:
    """Print the tables of a folder."""
    folder = Path(folders[0])
    for what, title in TABLES.items():
        print(f"\n## {title}\n")
        found = rows(measured(folder, what), predicted(folder, _predicted_as(what)))
        print("\n".join(markdown((*HEAD, *MORE), found)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
