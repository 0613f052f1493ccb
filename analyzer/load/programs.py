"""The programs of a load: the requests of each, over all its processes that follow each other."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.program.schedule import rows_by

_WORKERS = "kworker/"
WRITEBACK = "kernel writeback"
JOURNAL = "journal"
HELD = "reads that a limiter held back"
KERNEL = (WRITEBACK, JOURNAL, HELD)  # threads of the kernel, which work for several programs
MOST = 16  # programs; the others are too small to matter beside so many
_MOST_THREADS = 1 << 12  # those with most requests


@dataclass(frozen=True, eq=False)
class Asker:
    """A program of the load: its threads and its requests (REQUEST), by time asked.

    It asks for one call after another: threads that work at the same time are askers of their own.
    """

    name: str
    threads: tuple[int, ...]
    rows: Array

    @property
    def nbytes(self) -> int:
        """The bytes of its requests."""
        return int(self.rows["sectors"].sum()) * 512

    @property
    def busy_ns(self) -> int:
        """The time in which a request of it was in flight."""
        begins, ends = busy_periods(self.rows)
        return int((ends - begins).sum())


def askers_of(rows: Array, names: Mapping[int, str]) -> list[Asker]:
    """Return the programs of requests (REQUEST) by falling number of bytes.

    ``names`` are those of the threads, as far as they are known.
    """
    by_name: dict[tuple[str, bool], dict[int, Array]] = {}
    of_threads = sorted(rows_by(rows["pid"]).items(), key=lambda item: -len(item[1]))
    for thread, own in of_threads[:_MOST_THREADS]:
        for write in (False, True):
            chosen = rows[own][rows["write"][own] == write]
            if len(chosen):
                name = _name(names.get(thread, f"thread {thread}"), write)
                by_name.setdefault((name, write), {})[thread] = chosen
    askers = []
    for (name, _), parts in by_name.items():
        for threads in _lanes(parts, name in KERNEL):
            own = np.concatenate([parts[thread] for thread in threads])
            own = own[np.argsort(own["asked_ns"], kind="stable")]
            askers.append(Asker(name, tuple(threads), own))
    return sorted(askers, key=lambda asker: -asker.nbytes)


def _name(name: str, write: bool) -> str:
    """Return whose requests these are: the kernel's threads work for the programs together."""
    if name.startswith("jbd2/"):
        return JOURNAL
    if name.startswith(_WORKERS):
        return WRITEBACK if write else HELD
    return name


def _lanes(of_threads: Mapping[int, Array], together: bool) -> list[list[int]]:
    """Return the threads in groups that never overlap: a thread follows one that has finished."""
    if together:
        return [[*of_threads]]
    ends: list[tuple[int, int]] = []  # when each lane has finished
    lanes: list[list[int]] = []
    for thread in sorted(of_threads, key=lambda thread: int(of_threads[thread]["asked_ns"][0])):
        own = of_threads[thread]
        if ends and ends[0][0] <= int(own["asked_ns"][0]):
            lane = heapq.heappop(ends)[1]
        else:
            lane = len(lanes)
            lanes.append([])
        lanes[lane].append(thread)
        heapq.heappush(ends, (int(own["done_ns"].max()), lane))
    return lanes


def busy_periods(rows: Array) -> tuple[Array, Array]:
    """Return begin and end of each period in which any of these requests was in flight."""
    if not len(rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    begin, end = rows["asked_ns"], np.maximum.accumulate(rows["done_ns"])
    first = np.concatenate(([True], begin[1:] > end[:-1]))
    return begin[first], end[np.concatenate((first[1:], [True]))]
