"""The possible gain of a workload: settings tried under it, and the best of them run again.

The best of many runs is partly the luckiest. So settings are chosen by their first runs, and what
counts are others, of the chosen and of the default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from foreread.analyzer.tuner import Chromosome, Space
from studies.tuning.ioperf_chromosomes import PATTERN
from studies.tuning.workload import Done, Workload
from studies.tuning.workload_board import DISK, WorkloadBoard

SCHEDULER = f"/sys/block/{DISK}/queue/scheduler"
WINDOW = f"/sys/block/{DISK}/queue/read_ahead_kb"
SWAPPINESS = "/proc/sys/vm/swappiness"
WINDOWS_KB = (16, 64, 128, 256, 1020)
_SWAPPINESS = (0, 100)
_FRESH = 2  # runs of each that count
_DEFAULTS_BEFORE = 2  # which the comparison may have made

Point = tuple[str, int]  # scheduler, window in KiB


def workload_of(pattern: Chromosome) -> Workload:
    """Return the workload that the first part of a chromosome describes."""
    return Workload(**{gene.name: int(pattern[gene.name]) for gene in PATTERN})


def exhaust(board: WorkloadBoard, space: Space, pattern: Chromosome) -> list[dict[str, Any]]:
    """Run a workload under every scheduler and window, and at other values of swappiness."""
    points = [(name, window) for name in _schedulers(space) for window in WINDOWS_KB]
    settings = [*map(_settings, points), *(((SWAPPINESS, str(value)),) for value in _SWAPPINESS)]
    return [
        {
            "set": {knob.rpartition("/")[2]: value for knob, value in setting},
            **asdict(board.run(setting, workload_of(pattern))),
        }
        for setting in settings
    ]


def climb(board: WorkloadBoard, space: Space, row: Mapping[str, Any]) -> dict[str, Any]:
    """Try windows, then schedulers at the best of those; run what is best and the default again.

    Of four schedulers and five windows, seven combinations besides the default: what is found is
    the least that there is to gain.
    """
    workload = workload_of(row["workload"])
    default = _default(space)
    tried: dict[Point, Done] = {default: Done(**row["default"])}

    def best(points: Iterable[Point]) -> Point:
        tried.update(
            (point, board.run(_settings(point), workload)) for point in points if point not in tried
        )
        return max(tried, key=lambda point: tried[point].bytes_per_second)

    _, window = best((default[0], window) for window in WINDOWS_KB)
    best_point = best((scheduler, window) for scheduler in _schedulers(space))
    return {
        "tried": [_point(point) | asdict(done) for point, done in tried.items()],
        "best": _point(best_point),
        "fresh_default": [
            asdict(board.run((), workload, _DEFAULTS_BEFORE + number)) for number in range(_FRESH)
        ],
        "fresh_best": [
            asdict(board.run(_settings(best_point), workload, 1 + number))
            for number in range(_FRESH)
            if best_point != default
        ],
    }


def _settings(point: Point) -> tuple[tuple[str, str], ...]:
    scheduler, window = point
    return ((SCHEDULER, scheduler), (WINDOW, str(window)))


def _point(point: Point) -> dict[str, Any]:
    return {"scheduler": point[0], "read_ahead_kb": point[1]}


def _default(space: Space) -> Point:
    default = space.default()
    return str(default["scheduler"]), int(default["read_ahead_kb"])


def _schedulers(space: Space) -> Sequence[str]:
    (gene,) = (gene for gene in space.genes if gene.name == "scheduler")
    return [str(allele) for allele in gene.alleles]
