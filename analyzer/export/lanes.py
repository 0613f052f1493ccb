"""Lanes for requests: viewers draw overlapping slices of one track only if they nest."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

import numpy as np

from foreread.analyzer.export.events import Exported, Track
from foreread.analyzer.ingest.tables import Array


def lanes(start: Array, duration: Array) -> Array:
    """Return the lane of each slice, so that no two slices of a lane overlap. ``start`` rises."""
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    lane_count = 0
    lane_of = np.zeros(len(start), np.int64)
    for row, (begin, length) in enumerate(zip(start.tolist(), duration.tolist(), strict=True)):
        while busy and busy[0][0] <= begin:
            heappush(free, heappop(busy)[1])
        if free:
            lane = heappop(free)
        else:
            lane, lane_count = lane_count, lane_count + 1
        lane_of[row] = lane
        heappush(busy, (begin + max(length, 0), lane))
    return lane_of


def lanes_of_requests(exported: Exported, run: int) -> Array:
    """Return the lane of each request of a run."""
    rows = rows_of(exported, run, Track.REQUESTS)
    events = exported.events
    return lanes(events["start_ns"][rows], events["duration_ns"][rows])


def rows_of(exported: Exported, run: int, track: Track) -> Array:
    """Return the rows of one track of a run, in order of time."""
    events = exported.events
    return np.flatnonzero((events["run"] == run) & (events["track"] == track))


def columns_of(
    exported: Exported, run: int, track: Track, *names: str
) -> Iterator[tuple[int, ...]]:
    """Yield the values of columns for each event of one track of a run, in order of time."""
    rows = rows_of(exported, run, track)
    return zip(*(exported.events[name][rows].tolist() for name in names), strict=True)


def threads_that_wait(exported: Exported, run: int) -> list[int]:
    """Return the threads with waits in a run."""
    rows = rows_of(exported, run, Track.WAITING)
    threads: list[int] = np.unique(exported.events["thread"][rows]).tolist()
    return threads
