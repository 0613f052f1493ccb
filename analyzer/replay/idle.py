"""Sleeps that nothing depends on: a thread that wakes by a timeout only to sleep again.

Housekeeping threads wait with a timeout, again and again, until another thread ends them; threads
of a pool end by themselves after a timeout. How often they time out follows from how long the run
takes, and is not a cause of it. Replayed one by one, the timeouts of a long run would keep a short
one from its end. Where a sleep is dropped that the run did depend on, the replay at window 0 gets
shorter than the recorded run, which is a finding (optimizer/check_replay.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from analyzer.ingest.tables import Array
from analyzer.replay.off_cpu import Off, Why

_FEWEST = 2  # sleeps in a row or of one length: a single one may be meant, as in sleep and join
_ALIKE_NS = 1_000_000  # a timer is late by less
_TIMEOUT_NS = 10_000_000  # no timeout of a housekeeping thread is shorter
_NEVER = np.iinfo(np.uint64).max


def without_idle(offs: Mapping[int, Off], did_ns: Mapping[int, Array], last: int) -> dict[int, Off]:
    """Return the threads' times off their processors, idle sleeps among them as Why.IDLE.

    ``did_ns`` are the times of each thread's operations and requests; the run ends with thread
    ``last``. A sleep is idle

    - if several follow one another, and the thread does nothing that counts (operation, request,
      waking or starting a thread) from the first one's end until another thread wakes it;
    - if the thread does nothing that counts until its own end, unless it is ``last``;
    - if the thread sleeps for the same time again, as a timer does, and is woken by another thread
      later, unless it is ``last``.
    """
    woke: dict[int, list[Array]] = {thread: [] for thread in offs}
    for off in offs.values():
        by_thread = off.why == Why.THREAD
        for waker in np.unique(off.waker[by_thread]).tolist():
            woke[waker].append(off.woken_ns[by_thread & (off.waker == waker)])
    found = {}
    for thread, off in offs.items():
        acts = np.sort(np.concatenate((did_ns[thread], *woke[thread])).astype(np.uint64))
        idle = _idle(off, acts, ends_run=thread == last)
        found[thread] = replace(off, why=np.where(idle, Why.IDLE, off.why))
    return found


def _idle(off: Off, acts: Array, *, ends_run: bool) -> Array:
    """Return which times off a processor are idle sleeps; ``acts`` are sorted."""
    sleeps = (off.why == Why.SLEEP) & off.was_running
    rows = np.arange(len(off.why))
    waits = np.append(rows[off.why == Why.THREAD], len(rows))
    wait = waits[np.searchsorted(waits, rows)]  # the next wait for a thread
    woken = wait < len(rows)
    until = np.append(off.left_ns, _NEVER)[wait]
    next_act = np.append(acts, _NEVER)[np.searchsorted(acts, off.came_ns)]
    quiet = sleeps & ((next_act > until) | (next_act == _NEVER))
    in_row = np.bincount(wait[quiet], minlength=len(rows) + 1)[wait] >= _FEWEST
    timer = sleeps & woken & (_alike(off, sleeps) >= _FEWEST)
    return np.asarray((quiet & woken & in_row) | ((timer | (quiet & ~woken)) & (not ends_run)))


def _alike(off: Off, sleeps: Array) -> Array:
    """Return how many of the ``sleeps`` are as long as each time off a processor."""
    length = (off.ready_ns - off.left_ns.astype(np.float64)).astype(np.float64)
    known = np.sort(length[sleeps])
    low, high = length - _ALIKE_NS / 2, length + _ALIKE_NS / 2
    number = np.searchsorted(known, high) - np.searchsorted(known, low)
    return np.where(length >= _TIMEOUT_NS, number, 0)
