"""The band of a saving with a list, learnt from some starts and judged on others.

    python -m studies.advice.bands FILE...

Each FILE is the measured.json of a start. Of a row's error, relative to its measured seconds, the
random draws explain a part; the rest is a standard deviation, which is learnt from the rows with
lists of all starts but those of one application, on which the band is judged: nine of ten measured
savings should be within it. The last row is learnt from all: LISTED in analyzer/advise/bench.py.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from foreread.analyzer.predict.bands import DEVIATIONS
from studies.accuracy.markdown import markdown, percent

HEAD = ("start", "learnt deviation", "rows with a list", "in the band", "median error", "largest")


def with_lists(document: Mapping[str, Any]) -> list[dict[str, float]]:
    """Return error (s), deviation of the draws (s) and seconds of each measured row with a list."""
    rows = [row for row in document["rows"] if not row["later"]]
    alone = [row for row in rows if row["list"] is None]
    present = next(row for row in alone if row["saved"] == 0)
    now = median(present["seconds"])
    return [
        {
            "error": row["saved"] - (now - median(row["seconds"])),
            "deviation": row["deviation"],
            "seconds": row["predicted"],
        }
        for row in rows
        if row["list"] is not None
    ]


def unexplained(rows: Sequence[Mapping[str, float]]) -> float:
    """Return the relative standard deviation that the draws leave unexplained."""
    squares = [(row["error"] ** 2 - row["deviation"] ** 2) / row["seconds"] ** 2 for row in rows]
    return float(np.sqrt(max(mean(squares), 0.0)))


def is_within(row: Mapping[str, float], beside: float) -> bool:
    """Return whether the measured saving is in the band of the predicted one."""
    half = DEVIATIONS * np.hypot(row["deviation"], beside * row["seconds"])
    return bool(abs(row["error"]) <= half)


def judged(starts: Mapping[str, Sequence[Mapping[str, float]]]) -> Iterator[Sequence[str]]:
    """Yield a row of HEAD for each start, judged by the other starts' band, and a row for all."""
    total = 0
    for name, own in starts.items():
        other_rows = [
            row for other, rows in starts.items() if _of(other) != _of(name) for row in rows
        ]
        beside = unexplained(other_rows)
        within = sum(is_within(row, beside) for row in own)
        total += within
        yield _row(name, beside, own, within)
    every = [row for rows in starts.values() for row in rows]
    yield _row("all", unexplained(every), every, total)


def _of(start: str) -> str:
    """Return the application of a start: BOARD-APPLICATION."""
    return start.rpartition("-")[2]


def _row(
    name: str, beside: float, rows: Sequence[Mapping[str, float]], within: int
) -> Sequence[str]:
    errors = [abs(row["error"]) / row["seconds"] for row in rows]
    error_texts = (percent(median(errors)), percent(max(errors)))
    return (name, percent(beside), str(len(rows)), str(within), *error_texts)


def main(files: Sequence[str]) -> int:
    """Print the table."""
    read = {Path(file).stem: json.loads(Path(file).read_text()) for file in files}
    starts = {name: with_lists(document) for name, document in read.items()}
    print("\n".join(markdown(HEAD, list(judged(starts)))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
