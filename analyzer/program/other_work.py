"""Work of processors other than the application's computing: others' work for it, and recording.

Threads that work for the application are found by wake-ups: those that its threads woke or made,
and so on (kernel workers, a disk's driver, readers of its output). They delay its threads in every
run; unrelated threads may be absent in another run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from foreread.analyzer.ingest.tables import Array, Kind, Table, of_kinds
from foreread.analyzer.program.schedule import IDLE, rows_by


class OtherWork:
    """The other work of each processor of a recording (ns).

    ``events`` are of a whole run, in order of time; ``threads`` the application's. Recording an
    event takes ``each_ns``.
    """

    def __init__(self, events: Table, threads: Collection[int], each_ns: float) -> None:
        self.each_ns = each_ns
        by_cpu = rows_by(events["cpu"])
        helps = _helping(events, threads)
        self._events = {cpu: events["time_ns"][rows] for cpu, rows in by_cpu.items()}
        self._worked, self._beside, self._left = {}, {}, {}
        of_application = np.isin(events["pid"], np.fromiter(threads, np.int64, len(threads)))
        for cpu, rows in by_cpu.items():
            switches = rows[events["kind"][rows] == Kind.SWITCH]
            switched = events["time_ns"][switches]
            stays_ns = np.where(helps[switches[:-1]], np.diff(switched).astype(float), 0.0)
            edges = switched.astype(float) if len(switched) > 1 else np.zeros(1)
            self._worked[cpu] = edges, np.concatenate(([0.0], np.cumsum(stays_ns)))
            self._left[cpu] = switched[of_application[switches]]
            stay = np.searchsorted(switches, rows, side="right")  # 0: before the first switch
            within = np.append(False, helps[switches])[stay]
            self._beside[cpu] = events["time_ns"][rows[within]]

    def recording(self, cpu: Array, since_ns: Array, until_ns: Array) -> Array:
        """Return the time of recording on each ``cpu`` from ``since_ns`` to before ``until_ns``."""
        recorded_ns = np.zeros(len(cpu))
        for number, rows in rows_by(cpu).items():
            recorded_ns[rows] = self._recorded(
                self._events, int(number), since_ns[rows], until_ns[rows]
            )
        return recorded_ns

    def without_application(self, cpu: Array, since_ns: Array, until_ns: Array) -> Array:
        """Return since when, at the earliest ``since_ns``, no thread of the application was there.

        Of several threads that wait while others work, the one that comes next has that time.
        """
        earliest = since_ns.copy()
        for number, rows in rows_by(cpu).items():
            left = np.append(np.zeros(1, np.uint64), self._left.get(int(number), ()))
            last = left[np.searchsorted(left, until_ns[rows], side="right") - 1]
            earliest[rows] = np.maximum(earliest[rows], last.astype(earliest.dtype))
        return earliest

    def worked(self, cpu: Array, since_ns: Array, until_ns: Array) -> Array:
        """Return how long others worked for the application there, without recording.

        Events count where they were recorded: all events of a long stay may be at its end.
        """
        worked_ns = np.zeros(len(cpu))
        for number, rows in rows_by(cpu).items():
            edges, total = self._worked.get(int(number), (np.zeros(1), np.zeros(1)))
            until, since = until_ns[rows].astype(float), since_ns[rows].astype(float)
            worked_ns[rows] = np.interp(until, edges, total) - np.interp(since, edges, total)
            worked_ns[rows] -= self._recorded(
                self._beside, int(number), since_ns[rows], until_ns[rows]
            )
        return np.maximum(worked_ns, 0.0)

    def switched(self, cpu: Array, since_ns: Array, until_ns: Array) -> Array:
        """Return whether each ``cpu`` switched tasks after ``since_ns``, until ``until_ns``."""
        has_switch = np.zeros(len(cpu), bool)
        for number, rows in rows_by(cpu).items():
            edges = self._worked.get(int(number), (np.zeros(0), np.zeros(0)))[0]
            times = (until_ns[rows].astype(float), since_ns[rows].astype(float))
            until, since = (np.searchsorted(edges, time, side="right") for time in times)
            has_switch[rows] = until > since
        return has_switch

    def _recorded(self, events: Mapping[int, Array], cpu: int, since: Array, until: Array) -> Array:
        times = events.get(cpu, np.zeros(0, np.uint64))
        number = np.searchsorted(times, until) - np.searchsorted(times, since)
        return np.asarray(number * self.each_ns)


def _helping(events: Table, threads: Collection[int]) -> Array:
    """Return of each row that is a switch whether a task goes on that works for ``threads``."""
    own = np.array([IDLE, *(thread for thread in threads if thread > IDLE)], np.uint64)
    rows = np.flatnonzero(of_kinds(events, (Kind.WAKING, Kind.FORK, Kind.SWITCH)))
    rows = rows[~np.isin(events["value"][rows], own)]
    names = ("kind", "pid", "value")
    columns = zip(rows.tolist(), *(events[name][rows].tolist() for name in names), strict=True)
    for_threads = np.zeros(events.rows, bool)
    helping = dict.fromkeys(threads, True)
    for row, kind, task, other in columns:
        if kind == Kind.SWITCH:
            for_threads[row] = helping.get(other, False)
        else:
            helping[other] = helping.get(task, False)
    return for_threads
