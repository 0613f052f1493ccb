"""Sleeps that nothing depends on: a thread wakes by timeouts until it ends by itself.

The idle threads of a pool end so. How often their timeouts pass follows from how long the run
takes, and is not a cause of it. Replayed one by one, the timeouts of a long run would keep a short
one from its end. Timeouts of a thread that another one wakes later are in timed_waits.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.program.off_cpu import Off, Why


def without_idle(offs: Mapping[int, Off], did_ns: Mapping[int, Array], last: int) -> dict[int, Off]:
    """Return the threads' times off their processors, idle sleeps among them as Why.IDLE.

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
