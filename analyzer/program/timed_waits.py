"""Waits with a timeout: the demand that would have ended each of them earlier.

A thread that waits with a timeout (an idle worker, a virtual machine's watcher) continues after the
timeout, and waits again. The number of repetitions depends on the duration of the run. Demands of
other threads do not: they end the wait in a run of any duration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.program.off_cpu import Off, Why
from foreread.analyzer.program.schedule import NOBODY, rows_by

# 32-bit kernels have the latter two (kernel/time/hrtimer.c, posix-timers.c).
_SLEEPS = tuple(
    f"syscalls:sys_enter_{name}"
    for name in ("nanosleep", "clock_nanosleep", "nanosleep_time32", "clock_nanosleep_time32")
)
_NEVER = np.iinfo(np.uint64).max


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
    return {thread: _in_order(parts) for thread, parts in by_thread.items()}


def _in_order(parts: list[tuple[Array, Array]]) -> Demands:
    time = np.concatenate([part[0] for part in parts]).astype(np.uint64)
    thread = np.concatenate([part[1] for part in parts]).astype(np.int64)
    order = np.argsort(time, kind="stable")
    return Demands(time[order], thread[order])


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
