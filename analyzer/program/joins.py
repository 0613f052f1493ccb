"""Waits for the end of threads, including those that had already ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind
from foreread.analyzer.program.off_cpu import Off, Why

_ENDING_NS = 200_000  # a thread wakes its waiters before its end is recorded

Join = tuple[int, int, list[int]]


def joins(
    stays: Mapping[int, Array], offs: Mapping[int, Off], recording: Recording, last: int
) -> Iterator[Join]:
    """Yield (thread, when, threads that were over by then and that it presumably waited for).

    A parent that joins a child has also joined its children that exited earlier; no event records
    that, since it did not sleep. And threads that ended by themselves before the ``last`` one,
    which ends the run, had to end before it.
    """
    events = recording.trace.events
    exits = events.take(events["kind"] == Kind.EXIT)
    exit_ns = dict(zip(exits["pid"].tolist(), exits["time_ns"].tolist(), strict=True))
    forks = events.take(events["kind"] == Kind.FORK)
    parent = dict(zip(forks["value"].tolist(), forks["pid"].tolist(), strict=True))
    over = [thread for thread in stays if thread in exit_ns and thread != last]
    over.sort(key=exit_ns.__getitem__)
    by_parent: defaultdict[int | None, list[int]] = defaultdict(list)
    for thread in over:
        by_parent[parent.get(thread)].append(thread)
    for thread, off in offs.items():
        children = by_parent.get(thread, [])
        waits = np.flatnonzero(off.why == Why.THREAD) if children else ()
        for row in waits:
            waker, woken = int(off.waker[row]), int(off.woken_ns[row])
            if woken + _ENDING_NS < exit_ns.get(waker, woken + 2 * _ENDING_NS):
                continue
            ended = [c for c in children if exit_ns[c] <= woken and c != waker]
            children = [c for c in children if c not in ended and c != waker]
            if ended:
                yield thread, int(off.came_ns[row]), ended
    end = int(stays[last]["end_ns"][-1])
    before = [thread for thread in over if exit_ns[thread] < exit_ns.get(last, 0)]
    if before:
        yield last, end, before
