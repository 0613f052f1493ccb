"""Assign recorded operations to threads, by the times of all their events."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind, Table, order_by
from foreread.analyzer.program.schedule import rows_by


def askers(requests: Table, events: Table) -> tuple[Array, Array]:
    """Return the thread that asked for each of ``requests``, and when: it queued the first bio.

    A kernel worker may issue what a thread has queued.
    """
    bios = events.take(events["kind"] == Kind.BIO_QUEUE)
    sector = np.concatenate((bios["index"], requests["sector"]))
    time = np.concatenate((bios["time_ns"], requests["issue_ns"]))
    is_bio = np.arange(len(sector)) < bios.rows
    order = order_by(sector, time, ~is_bio)
    latest = np.maximum.accumulate(np.where(is_bio[order], np.arange(len(order)), -1))
    bio = order[latest]  # the last one before each, of any sector
    has_bio = ~is_bio[order] & (latest >= 0) & (sector[bio] == sector[order])
    rows, bio = order[has_bio] - bios.rows, bio[has_bio]
    by, at = requests["pid"].copy(), requests["issue_ns"].copy()
    by[rows], at[rows] = bios["pid"][bio], bios["time_ns"][bio]
    return by, at


class ThreadEvents:
    """The times of all events of a recording by thread, system calls included."""

    def __init__(self, recording: Recording) -> None:
        trace = recording.trace
        times, pids = [trace.events["time_ns"]], [trace.events["pid"]]
        for name in sorted(trace.event_names):
            if name.startswith("syscalls:") and trace.read_fields is not None:
                call = trace.read_fields(name, ())
                times.append(call["time_ns"])
                pids.append(call["pid"])
        time, pid = np.concatenate(times), np.concatenate(pids)
        order = order_by(time)
        self._time, self._pid = time[order], pid[order]
        self._times = {pid: self._time[rows] for pid, rows in rows_by(self._pid).items()}

    def of(self, times: Array, first: int, threads: Collection[int]) -> Array:
        """Return which of ``threads`` was active at each of ``times``.

        Without one it is the thread that was active before, or finally the ``first``.
        """
        row = np.minimum(np.searchsorted(self._time, times), max(len(self._time) - 1, 0))
        pids = self._pid[row] if len(self._pid) else np.zeros(len(times), np.int32)
        is_active = np.isin(pids, list(threads))
        if len(self._time):
            is_active &= self._time[row] == times
        last = np.maximum.accumulate(np.where(is_active, np.arange(len(times)), -1))
        return np.where(last >= 0, pids[last], first)

    def before(self, thread: int, times: Array) -> Array:
        """Return how many events of a thread there are before each of ``times``."""
        own = self._times.get(thread, np.zeros(0, np.uint64))
        return np.searchsorted(own, times)
