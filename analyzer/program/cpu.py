"""The processor's cost of reading, estimated from pages that were read singly.

Each thread's events are followed separately; it computes only while it is on a CPU.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind, Table, of_kinds, order_by
from foreread.analyzer.program.cold import ColdSamples
from foreread.emulator.linux.steps import CpuCost

_SOONEST = 1  # percentile of the time between events: little else happens in it
_FEWEST_WAKES = 20
# Of the time from a completion to the wake-up that it causes. Measured on emulated x86_64 and arm64
# boards with Linux 6.12, where the events of a mapping and its fault follow each other at once:
# 1.42 of 2.14 µs, and 1.47 of 2.21 µs. On armhf (6.1) this gives 1.63 µs; reads took 1.3 to 1.8 µs
# longer for each event that was recorded.
_RECORDED_SHARE = 2 / 3
_WAKE_SHARE = 25  # percentile: the shortest times after a completion are the kernel's own work
_MISS = (Kind.FAULT, Kind.INSERT, Kind.BIO_QUEUE)


def event_cost(events: Table) -> float:
    """Return the cost of recording one event (ns): the shortest time to the next on the same CPU.

    Kernels before 6.12 lack events that follow each other immediately. There the shortest time is
    the time from a completion to the wake-up, and a share of it is the kernel's own work.
    """
    order = order_by(events["cpu"], events["time_ns"])
    time, cpu, kind = (events[name][order] for name in ("time_ns", "cpu", "kind"))
    same = np.diff(cpu) == 0
    apart = np.diff(time.astype(np.float64))
    wakes = same & (kind[:-1] == Kind.RQ_COMPLETE) & (kind[1:] == Kind.WAKING)
    soonest = float(np.percentile(apart[same], _SOONEST)) if same.any() else 0.0
    if np.count_nonzero(wakes) >= _FEWEST_WAKES:
        soonest = min(soonest, _RECORDED_SHARE * float(np.median(apart[wakes])))
    return soonest


@dataclass(frozen=True, eq=False)
class CpuSamples:
    """The processor's cost of pages that were read singly (ns, a row for each page).

    ``page``: from the fault to the page's insertion; ``submit``: from there until its request was
    issued; ``wake``: from its completion to the thread's next event, NaN if there is none; of it
    the ``wake_share`` percentile is the kernel's own work. Without what recording events took.
    """

    page: Array
    submit: Array
    wake: Array
    wake_share: int = _WAKE_SHARE
    cached_page: float = 0.0  # by the capture's probe: the cost of inserting a page into the cache
    checked: float = 0.0  # of ``wake``, to check or decrypt the page: it grows with the pages
    cold: ColdSamples | None = None  # of computing after a wait, by the capture's probe

    def cost(self, rng: np.random.Generator | None = None) -> CpuCost:
        """Return the cost of a request and a page; with ``rng`` for pages drawn with replacement.

        Such a draw is a possible cost, from an equal number of pages. Without pages a request and a
        page cost nothing. A request costs what it takes with warm caches.
        """
        cold = self.cold.cost(rng) if self.cold else (0.0, 0.0)
        if not len(self.page):
            return CpuCost(0.0, 0.0, 0.0, *cold)
        rows = np.arange(len(self.page))
        if rng is not None:
            rows = rng.integers(0, len(rows), len(rows))
        page = max(float(np.median(self.page[rows])), self.cached_page)
        submit = float(np.median(self.submit[rows]))
        wakes = self.wake[rows][~np.isnan(self.wake[rows])]
        wake = float(np.percentile(wakes, self.wake_share)) if len(wakes) else 0.0
        wake = max(wake - self.checked, 0.0)
        cold_ns, share = cold  # the kernel's work after a wait is slow, too, until it ends
        wake -= min(wake, cold_ns * (1 + share)) * share / (1 + share)
        return CpuCost(max(submit + wake, 0.0), max(page, 0.0) + self.checked, 0.0, *cold)


def cpu_samples(recording: Recording) -> CpuSamples:
    """Return the processor's cost of pages, from allocation over request to completion.

    It is measured on faults. If the kernel has no fault events, on all pages that were read singly:
    the cost of a page is then assumed to be its bio's, from insertion on (both took 4 to 5 µs
    on boards that show both), and the first event after a completion is the next insertion.
    """
    events = recording.trace.events
    each = event_cost(events)
    has_faults = bool((events["kind"] == Kind.FAULT).any())
    first, insert, bio, following = _singles(events, _MISS if has_faults else _MISS[1:])
    issue, complete = _request_rows(recording, bio)
    has_request = complete >= 0
    first, insert, bio, following = (rows[has_request] for rows in (first, insert, bio, following))
    issue, complete = issue[has_request], complete[has_request]
    page = took(events, each, *((first, insert) if has_faults else (insert, bio)))
    left, _ = _switched(events, insert, insert, issue)
    submit = took(events, each, insert, left)
    wake = np.full(len(insert), np.nan)
    last = following > complete
    complete, following = complete[last], following[last]
    _, back = _switched(events, following, complete, following)
    wake[last] = took(events, each, back, following)
    if has_faults:
        return CpuSamples(page, submit, wake)
    soonest = float(np.median(page)) if len(page) else 0.0
    return CpuSamples(page, submit, wake - soonest, _SOONEST)


def _singles(events: Table, pattern: tuple[Kind, ...]) -> tuple[Array, Array, Array, Array]:
    """Return the rows where a thread reads a page: first event, insertion, bio, next event or -1.

    Events of reads, faults and mappings count, each thread's in their order.
    """
    rows = np.flatnonzero(of_kinds(events, (*_MISS, Kind.MAP_PAGES, Kind.GET_PAGES)))
    rows = rows[order_by(events["pid"][rows])]
    kind, pid = events["kind"][rows], np.append(events["pid"][rows], -1)
    at = np.arange(max(len(rows) - len(pattern) + 1, 0))
    for step, wanted in enumerate(pattern):
        at = at[(kind[at + step] == wanted) & (pid[at + step] == pid[at])]
    last = at + len(pattern) - 1
    following = np.where(pid[last + 1] == pid[last], np.append(rows, -1)[last + 1], -1)
    return rows[at], rows[last - 1], rows[last], following


def _request_rows(recording: Recording, bio: Array) -> tuple[Array, Array]:
    """Return the rows of issue and completion of the request that each bio is; -1 if unknown."""
    events, requests = recording.trace.events, recording.requests
    request_rows = np.full((2, len(bio)), -1, np.int64)
    if not requests.rows:
        return request_rows[0], request_rows[1]
    order = order_by(requests["sector"])
    sector = requests["sector"][order]
    at = order[np.minimum(np.searchsorted(sector, events["index"][bio]), len(order) - 1)]
    is_request = (requests["sector"][at] == events["index"][bio]) & (
        requests["complete_ns"][at] > 0
    )
    is_request &= requests["sectors"][at] == events["value"][bio]
    is_request &= requests["issue_ns"][at] >= events["time_ns"][bio]
    for row, name in enumerate(("issue_ns", "complete_ns")):
        request_rows[row, is_request] = np.searchsorted(
            events["time_ns"], requests[name][at[is_request]]
        )
    return request_rows[0], request_rows[1]


def took(events: Table, each: float, since: Array, until: Array) -> Array:
    """Return the time between rows, less ``each`` (ns) for every event on the later one's CPU."""
    time = events["time_ns"]
    took = time[until].astype(np.float64) - time[since].astype(np.float64)
    for cpu in np.unique(events["cpu"][until]).tolist():
        before = np.cumsum(events["cpu"] == cpu)
        rows = np.flatnonzero(events["cpu"][until] == cpu)
        took[rows] -= each * (before[until[rows]] - before[since[rows]])
    return np.asarray(took)


def _switched(events: Table, on: Array, since: Array, until: Array) -> tuple[Array, Array]:
    """Return the rows of the first and the last switch between two rows of events.

    Switches of the CPU of the rows ``on`` count. Without a switch the first is the row ``until``,
    and the last the row ``since``. Work elsewhere (a kernel thread issues the request) is not
    computing of the thread.
    """
    first, last = until.copy(), since.copy()
    cpu_of, switches = events["cpu"], np.flatnonzero(events["kind"] == Kind.SWITCH)
    for cpu in np.unique(cpu_of[switches]).tolist():
        rows = np.flatnonzero(cpu_of[on] == cpu)
        own = np.append(switches[cpu_of[switches] == cpu], events.rows)
        first[rows] = np.minimum(until[rows], own[np.searchsorted(own, since[rows])])
        before = np.searchsorted(own, until[rows]) - 1
        last[rows] = np.maximum(since[rows], np.where(before < 0, -1, own[before]))
    return first, last
