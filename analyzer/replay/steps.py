"""A recording as steps in time: what was computed, what was read, what the processor spent on it.

The run is one sequence: what several threads did at the same time is replayed as if one had.
While the disk served a request nothing counts as computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analyzer.ingest.inserts import in_block_devices
from analyzer.ingest.recording import Recording
from analyzer.ingest.tables import Array, Kind, Rwbs, Table
from emulator.linux.operations import Program
from emulator.linux.timed import STEP, CpuCost

_SOONEST = 1  # percentile of the time between events: little else happens in it
_WAKE_SHARE = 25  # percentile: what comes soonest behind a completion is the kernel's own work


@dataclass(frozen=True, eq=False)
class Steps:
    """``steps`` (STEP), ``tail_ns`` behind the last, and how long the run took (ns).

    ``cpus`` are what the threads ran on; with thread ``ends`` the run was over (-1: with all).
    ``by_thread``: each thread has steps of its own; else all are one sequence.
    """

    steps: Array
    tail_ns: float
    total_ns: float
    cpus: int = 1
    ends: int = -1
    by_thread: bool = False


class Busy:
    """When a disk was serving requests."""

    def __init__(self, requests: Table) -> None:
        issue, complete = requests["issue_ns"], requests["complete_ns"]
        known = complete > issue
        begin, end = issue[known].astype(np.float64), complete[known].astype(np.float64)
        before = np.concatenate(([0.0], np.maximum.accumulate(end)))[:-1]
        self._begin = np.maximum(begin, before)
        self._end = np.maximum(end, self._begin)
        self._sum = np.concatenate(([0.0], np.cumsum(self._end - self._begin)))

    def computed(self, time: Array) -> Array:
        """Return how much of the time up to each moment the disk did not serve."""
        at = time.astype(np.float64)
        row = np.searchsorted(self._begin, at, side="right")
        last = np.maximum(row - 1, 0)
        under_way = np.where(row > 0, np.maximum(self._end[last] - at, 0.0), 0.0)
        return np.asarray(at - (self._sum[row] - under_way))


def steps_of(
    program: Program, times: Array, requests: Table, own: Array, start_ns: int, end_ns: int
) -> Steps:
    """Return the operations of a program, and the requests that are not its ``own``, in time.

    ``times`` are those of the operations; ``requests`` are the disk's, in order of issue.
    """
    within = (requests["issue_ns"] >= start_ns) & (requests["issue_ns"] < end_ns)
    others = requests.take(within & ~own & ((requests["flags"] & Rwbs.READ) > 0))
    steps = np.zeros(len(times) + others.rows, STEP)
    steps["operation"][: len(times)] = np.arange(len(times))
    steps["operation"][len(times) :] = -1
    steps["sector"][len(times) :] = others["sector"]
    steps["sectors"][len(times) :] = others["sectors"]
    steps["waits_for"] = -1
    steps["bios"][len(times) :] = others["bios"]
    steps["meta"][len(times) :] = (others["flags"] & Rwbs.META) > 0
    when = np.concatenate((times, others["issue_ns"])).astype(np.uint64)
    when = np.clip(when, start_ns, end_ns)
    order = np.argsort(when, kind="stable")
    edges = np.concatenate(([start_ns], when[order], [end_ns])).astype(np.uint64)
    gaps = np.diff(Busy(requests.take(within)).computed(edges))
    steps = steps[order]
    steps["cpu_ns"] = gaps[:-1]
    return Steps(steps, float(gaps[-1]), float(end_ns - start_ns))


def own_requests(recording: Recording, requests: Table) -> Array:
    """Return a mask of the reads of file data by the application's threads.

    The others are metadata, which ext4 reads ahead without saying so, into pages of the block
    device, and what threads read that are not the application's.
    """
    own = (requests["flags"] & (Rwbs.READ | Rwbs.META)) == Rwbs.READ
    inserts = recording.inserts
    if inserts is None:
        return np.asarray(own)
    mounts = recording.capture.mounts if recording.capture else []
    first_sectors = {mount.first_sector for mount in mounts}
    metadata = inserts.metadata
    own &= ~in_block_devices(
        requests, metadata, recording.page_size, first_sectors, recording.devices, "sector"
    )
    if recording.threads is not None:
        theirs = np.setdiff1d(inserts.data["pid"], np.array([*recording.threads], np.int32))
        own &= ~np.isin(requests["pid"], theirs)
    return np.asarray(own)


def event_cost(events: Table) -> float:
    """Return what recording one event takes (ns): how soon another follows on the same CPU."""
    order = np.lexsort((events["time_ns"], events["cpu"]))
    time, cpu = events["time_ns"][order].astype(np.float64), events["cpu"][order]
    apart = np.diff(time)[np.diff(cpu) == 0]
    return float(np.percentile(apart, _SOONEST)) if len(apart) else 0.0


def without_recording(steps: Steps, events: Table, start_ns: int, end_ns: int) -> Steps:
    """Return the steps without what recording the run's events took."""
    within = (events["time_ns"] >= start_ns) & (events["time_ns"] < end_ns)
    chosen = events.take(within)
    gaps = steps.steps["cpu_ns"]
    computed = float(gaps.sum()) + steps.tail_ns
    spent = min(chosen.rows * event_cost(chosen), computed)
    share = 1 - spent / computed if computed else 1.0
    kept = steps.steps.copy()
    kept["cpu_ns"] = gaps * share
    return Steps(kept, steps.tail_ns * share, steps.total_ns - spent)


@dataclass(frozen=True, eq=False)
class CpuSamples:
    """What the processor spent on pages that were read singly (ns, a row a page).

    ``page``: from the fault to the page's insertion; ``submit``: from there until its request was
    issued; ``wake``: from its completion to the next event, NaN if there is none; of it the
    ``wake_share`` percentile is the kernel's own work. ``event_ns`` is what recording an event
    takes, once in ``page``, twice in ``submit`` and once in ``wake``.
    """

    page: Array
    submit: Array
    wake: Array
    event_ns: float
    wake_share: int = _WAKE_SHARE

    def cost(self, rng: np.random.Generator | None = None) -> CpuCost:
        """Return what a request and a page cost; with ``rng`` of faults drawn with replacement.

        Such a draw is a cost that as many other faults could have shown. Nothing without faults.
        """
        if not len(self.page):
            return CpuCost()
        rows = (
            np.arange(len(self.page))
            if rng is None
            else rng.integers(0, len(self.page), len(self.page))
        )
        page, submit = float(np.median(self.page[rows])), float(np.median(self.submit[rows]))
        wakes = self.wake[rows][~np.isnan(self.wake[rows])]
        wake = float(np.percentile(wakes, self.wake_share)) if len(wakes) else 0.0
        each = self.event_ns
        return CpuCost(max(submit + wake - 3 * each, 0.0), max(page - each, 0.0))


def cpu_samples(recording: Recording) -> CpuSamples:
    """Return what the processor spent on pages: one is allocated, its request sent, and over.

    Told by faults. Where the kernel has no events of them, by all pages that were read singly: a
    page is then taken to cost what its bio does, from insertion on (both took 4 to 5 µs on boards
    that show both), and what follows soonest on a completion is the next insertion.
    """
    events = recording.trace.events
    each = event_cost(events)
    if (events["kind"] == Kind.FAULT).any():
        return CpuSamples(*_misses(recording), each)
    place = np.flatnonzero(np.isin(events["kind"], (*_MISS[1:], Kind.RQ_COMPLETE, Kind.GET_PAGES)))
    insert = np.flatnonzero(_follow(events["kind"][place], (*_MISS[1:], Kind.RQ_COMPLETE)))
    rows = place[insert]
    # Every event in between took its recording, the scheduler's too.
    time = events["time_ns"].astype(np.float64) - np.arange(events.rows) * each
    submit = time[_left(events, rows, place[insert + 2])] - time[rows]
    followed = insert[insert + 4 < len(place)]
    following = place[followed + 4]
    wake = np.full(len(rows), np.nan)
    wake[: len(followed)] = time[following] - time[_back(events, place[followed + 3], following)]
    page = time[place[insert + 1]] - time[rows]
    first = float(np.median(page)) if len(page) else 0.0
    return CpuSamples(page + each, submit + 3 * each, wake - first, each, _SOONEST)


def _left(events: Table, since: Array, until: Array) -> Array:
    """Return the rows where a thread left its CPU between two rows of events, else the later.

    What others do (a kernel thread issues the request) is not computed by the thread.
    """
    found = until.copy()
    for cpu, switches in _switches(events):
        rows = np.flatnonzero(events["cpu"][since] == cpu)
        found[rows] = np.minimum(until[rows], switches[np.searchsorted(switches, since[rows])])
    return found


def _back(events: Table, since: Array, until: Array) -> Array:
    """Return the rows where a thread came back between two rows of events, else the earlier."""
    found = since.copy()
    for cpu, switches in _switches(events):
        rows = np.flatnonzero(events["cpu"][until] == cpu)
        before = np.searchsorted(switches, until[rows]) - 1
        found[rows] = np.maximum(since[rows], np.where(before < 0, -1, switches[before]))
    return found


def _switches(events: Table) -> Iterator[tuple[int, Array]]:
    """Yield the rows of switches by CPU, with one behind all events."""
    rows = np.flatnonzero(events["kind"] == Kind.SWITCH)
    for cpu in np.unique(events["cpu"][rows]).tolist():
        yield cpu, np.append(rows[events["cpu"][rows] == cpu], events.rows)


def cpu_cost(recording: Recording) -> CpuCost:
    """Return what the processor spends on a request, and on a page, less the cost of recording."""
    return cpu_samples(recording).cost()


_MISS = (Kind.FAULT, Kind.INSERT, Kind.BIO_QUEUE, Kind.RQ_ISSUE)


def _misses(recording: Recording) -> tuple[Array, Array, Array]:
    """Return, of faults that read one page, the times (ns) of what each thread did for it.

    From the fault to the insertion, from there to the issue of the request, and from its
    completion to the thread's next event.
    """
    events, requests = recording.trace.events, recording.requests
    own = events.take(np.isin(events["kind"], (*_MISS, Kind.MAP_PAGES, Kind.GET_PAGES)))
    own = own.take(np.argsort(own["pid"], kind="stable"))
    kind, pid, time = own["kind"], own["pid"], own["time_ns"].astype(np.float64)
    single = np.flatnonzero(_follow(kind, _MISS))
    single = single[single + 4 < len(kind)]
    single = single[pid[single] == pid[single + 4]]
    issue, complete = requests["issue_ns"], requests["complete_ns"].astype(np.float64)
    row = np.searchsorted(issue, own["time_ns"][single + 3])
    known = row < len(issue)
    known[known] = complete[row[known]] > 0
    single, row = single[known], row[known]
    wake = time[single + 4] - complete[row]
    page, submit = time[single + 1] - time[single], time[single + 3] - time[single + 1]
    return page[wake > 0], submit[wake > 0], wake[wake > 0]


def _follow(kind: Array, wanted: tuple[Kind, ...]) -> Array:
    """Return where events of these kinds follow one another."""
    found = np.ones(max(len(kind) - len(wanted) + 1, 0), bool)
    for row, one in enumerate(wanted):
        found &= kind[row : row + len(found)] == one
    return found
