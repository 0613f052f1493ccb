"""Waits that a recording shows in part: timeouts, idle sleeps, and joins of ended threads.

A thread that waits with a timeout (an idle worker, a virtual machine's watcher) continues after the
timeout, and waits again. The number of repetitions depends on the duration of the run. Demands of
other threads do not: they end the wait in a run of any duration.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind, order_by
from foreread.analyzer.program.off_cpu import Off, Why
from foreread.analyzer.program.schedule import NOBODY, rows_by

# 32-bit kernels have the latter two (kernel/time/hrtimer.c, posix-timers.c).
_SLEEPS = tuple(
    f"syscalls:sys_enter_{name}"
    for name in ("nanosleep", "clock_nanosleep", "nanosleep_time32", "clock_nanosleep_time32")
)
_NEVER = np.iinfo(np.uint64).max
_ENDING_NS = 200_000  # a thread wakes its waiters before its end is recorded

Join = tuple[int, int, list[int]]


@dataclass(frozen=True, eq=False)
class Demands:
    """Demands of other threads on one thread: ``thread`` acts at ``time_ns`` (rising)."""

    time_ns: Array
    thread: Array

    def after(self, times: Array) -> tuple[Array, Array]:
        """Return time (ns) and thread of the first demand after each of ``times``; else -1."""
        row = np.searchsorted(self.time_ns, times, side="right")
        return np.append(self.time_ns, _NEVER)[row], np.append(self.thread, -1)[row]


def demands_by_thread(offs: Mapping[int, Off]) -> dict[int, Demands]:
    """Return the demands on each thread: others wake it, or begin to wait for it."""
    by_thread: dict[int, list[tuple[Array, Array]]] = {}
    for thread, off in offs.items():
        rows = np.flatnonzero(off.why == Why.THREAD)
        by_thread.setdefault(thread, []).append((off.woken_ns[rows], off.waker[rows]))
        waits = rows[off.was_running[rows]]
        for waker, own in rows_by(off.waker[waits]).items():
            begun = off.left_ns[waits[own]]
            by_thread.setdefault(int(waker), []).append((begun, np.full(len(begun), thread)))
    demands = {}
    for thread, parts in by_thread.items():
        time = np.concatenate([part[0] for part in parts]).astype(np.uint64)
        by = np.concatenate([part[1] for part in parts]).astype(np.int64)
        order = order_by(time)
        demands[thread] = Demands(time[order], by[order])
    return demands


def ended_by_timer(off: Off, slept_ns: Array) -> Array:
    """Return a mask of the waits that a timeout ended.

    The thread asked for sleeps by nanosleep(2) at ``slept_ns`` (in order): these are not waits, and
    nothing would have ended them sooner.
    """
    timer = (off.why == Why.SLEEP) & (off.woken_ns > 0) & (off.waker == NOBODY)
    sleeps = np.flatnonzero(off.why == Why.SLEEP)
    first = np.searchsorted(off.left_ns[sleeps], slept_ns)
    timer[sleeps[first[first < len(sleeps)]]] = False
    return np.asarray(timer)


def nanosleeps(recording: Recording) -> dict[int, Array]:
    """Return when each thread called nanosleep(2) or clock_nanosleep(2), in order of time (ns)."""
    trace = recording.trace
    times, pids = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    for name in _SLEEPS:
        if name in trace.event_names and trace.read_fields is not None:
            call = trace.read_fields(name, ())
            times.append(call["time_ns"])
            pids.append(call["pid"].astype(np.int64))
    time, pid = np.concatenate(times), np.concatenate(pids)
    return {int(thread): np.sort(time[rows]) for thread, rows in rows_by(pid).items()}


def without_idle(offs: Mapping[int, Off], did_ns: Mapping[int, Array], last: int) -> dict[int, Off]:
    """Return the threads' times off their processors, idle sleeps among them as Why.IDLE.

    The idle threads of a pool wake by timeouts until they end by themselves. How often the timeouts
    pass follows from how long the run takes, and is not a cause of it: replayed one by one, the
    timeouts of a long run would keep a short one from its end.

    ``did_ns`` are the times of each thread's operations and requests; the run ends with thread
    ``last``. A sleep is idle if the thread does nothing that counts after it: no operation, no
    request, no waking or starting of a thread, no wait that a thread ended. The sleeps of ``last``
    are not idle.
    """
    woke: dict[int, list[Array]] = {thread: [] for thread in offs}
    for off in offs.values():
        by_thread = off.why == Why.THREAD
        for waker in np.unique(off.waker[by_thread]).tolist():
            woke[waker].append(off.woken_ns[by_thread & (off.waker == waker)])
    changed = dict(offs)
    for thread, off in offs.items():
        if thread != last:
            woken_ns = off.came_ns[off.why == Why.THREAD]
            acts = np.concatenate((did_ns[thread], woken_ns, *woke[thread])).astype(np.uint64)
            idle = (off.why == Why.SLEEP) & off.was_running
            idle &= off.came_ns > acts.max(initial=0)
            changed[thread] = replace(off, why=np.where(idle, Why.IDLE, off.why))
    return changed


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
