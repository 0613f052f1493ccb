"""Faults that only the recording causes: it turns fault-around off to see each touch.

In other runs a fault maps the cached pages around it (do_fault_around, mm/memory.c), and touches of
these cost nothing. The time of the further faults is not the application's.
"""

from __future__ import annotations

import numpy as np

from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Array, Kind, Table, of_kinds, order_by
from foreread.analyzer.program.schedule import rows_by

_MAPPED = "filemap:mm_filemap_map_pages"  # of each fault-around, since 6.12
_AROUND = 64 << 10  # bytes: fault_around_bytes
_FEWEST = 20  # pairs of faults
_SOONEST = 1  # percentile of the time from a fault to the next: hardly anything else is in it


class SparedFaults:
    """The further faults of each thread, and what one costs beside its event (``each_ns``).

    A thread faults once in each aligned 64 KiB of a file with fault-around; write faults, which it
    does not spare, count as well: the events do not distinguish them. There are none where
    fault-around was on, or unseen (before Linux 6.12).
    """

    def __init__(self, trace: Trace, page_size: int, event_ns: float) -> None:
        self.each_ns = 0.0
        self._times: dict[int, Array] = {}
        events = trace.events
        if _MAPPED not in trace.event_names or (events["kind"] == Kind.MAP_PAGES).any():
            return
        self.each_ns = max(_soonest(events) - event_ns, 0.0)
        faults = events.take(of_kinds(events, (Kind.FAULT, Kind.EXEC)))
        around = max(_AROUND // page_size, 1)
        self._times = {
            thread: _again(faults.take(rows), around)
            for thread, rows in rows_by(faults["pid"]).items()
        }

    @property
    def total_ns(self) -> float:
        """The time of all of them."""
        return self.each_ns * sum(len(times) for times in self._times.values())

    def before(self, thread: int, times: Array) -> Array:
        """Return how many of a thread's faults before each of ``times`` would be spared."""
        number: Array = np.searchsorted(self._times.get(thread, np.zeros(0, np.uint64)), times)
        return number


def _soonest(events: Table) -> float:
    """Return the shortest time (ns) from a fault to the next of its thread, nothing between."""
    order = order_by(events["cpu"], events["time_ns"])
    kind, thread, cpu, time = (events[name][order] for name in ("kind", "pid", "cpu", "time_ns"))
    fault = kind == Kind.FAULT
    pairs = fault[:-1] & fault[1:] & (thread[:-1] == thread[1:]) & (cpu[:-1] == cpu[1:])
    gaps = np.diff(time.astype(np.int64))[pairs]
    return float(np.percentile(gaps, _SOONEST)) if len(gaps) >= _FEWEST else 0.0


def _again(faults: Table, around: int) -> Array:
    """Return the times of one thread's faults where it has faulted since its last exec."""
    program = np.cumsum(faults["kind"] == Kind.EXEC)
    names = ("dev", "ino", "index")
    dev, ino, index = (faults[name].astype(np.int64) for name in names)
    place = np.stack((program, dev, ino, index // around), axis=1)
    rows = np.flatnonzero(faults["kind"] == Kind.FAULT)
    _, first = np.unique(place[rows], axis=0, return_index=True)
    times: Array = faults["time_ns"][np.delete(rows, first)]
    return times
