"""The processor's cost of reading compressed clusters, from the recorded run at window 0.

The thread that reads a page unpacks it itself there (z_erofs_read_folio), between the completion of
the last request and its next event. The image says how many pages that were. After a block of
metadata nothing is unpacked: what a page takes beyond that is its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind, Table
from foreread.analyzer.program.cpu import event_cost, took
from foreread.emulator.images.erofs_reads import Call
from foreread.emulator.linux.requests import SECTOR
from foreread.emulator.linux.steps import CpuCost

_PAGE = 4096
_FEWEST = 20  # reads
_FEWEST_OTHERS = 5
_WAKE_SHARE = 25  # percentile: the shortest times after a completion are the kernel's own work
_NEXT = (Kind.FAULT, Kind.INSERT, Kind.BIO_QUEUE, Kind.MAP_PAGES, Kind.GET_PAGES)
_MOST_PAIRS = 500  # reads whose slopes are compared


@dataclass(frozen=True)
class ClusterCost:
    """The cost of a request and of a page (ns).

    ``unpack_page_ns`` is the time to unpack a page, needed or not; ``ready_page_ns`` is what each
    page that is ready takes beside that.
    """

    cpu: CpuCost
    unpack_page_ns: float
    ready_page_ns: float


def cluster_cost(
    recording: Recording, calls: Sequence[Call], first_sector: int
) -> ClusterCost | None:
    """Return the cost of clusters, or None if too few reads show it.

    ``calls`` are the recorded run's; ``first_sector`` is where the image begins on the disk.
    """
    events = recording.trace.events
    each = event_cost(events)
    inserted = _inserted(events, each)
    pages, after = _after_reads(events, each, calls, first_sector)
    if len(inserted) < _FEWEST or len(pages) < _FEWEST:
        return None
    unpack_ns = max(_slope(pages, after), 0.0)
    one_ns = max(float(np.percentile(after - unpack_ns * pages, _WAKE_SHARE)), 0.0)
    done_ns = min(_woken(events, each, calls, first_sector), one_ns)
    cpu = CpuCost(
        _submitted(events, each, calls, first_sector) + done_ns,
        max(float(np.median(inserted)), 0.0),
    )
    return ClusterCost(cpu, unpack_ns, one_ns - done_ns)


def _inserted(events: Table, each: float) -> Array:
    """Return the time from each fault to the insertion of its page, if that comes next (ns)."""
    at = np.flatnonzero((events["kind"][:-1] == Kind.FAULT) & (events["kind"][1:] == Kind.INSERT))
    for name in ("pid", "dev", "ino", "index", "cpu"):
        at = at[events[name][at] == events[name][at + 1]]
    return took(events, each, at, at + 1)


def _after_reads(
    events: Table, each: float, calls: Sequence[Call], first_sector: int
) -> tuple[Array, Array]:
    """Return the pages that each call unpacks, and the time from its last completion on (ns).

    That is until the next event of the thread that reads.
    """
    last = {_last_sector(call, first_sector): call.unpacked / _PAGE for call in calls}
    sectors, since, until = _waits(events)
    here = [at for at, sector in enumerate(sectors) if sector in last]
    pages = np.array([last[sectors[at]] for at in here])
    return pages, took(events, each, since[here], until[here])


def _submitted(events: Table, each: float, calls: Sequence[Call], first_sector: int) -> float:
    """Return the time to read clusters: from the last insertion to leaving the processor (ns)."""
    packed = {_last_sector(call, first_sector) for call in calls}
    since = [row for at, row in _rows_by_sector(events, Kind.BIO_QUEUE).items() if at in packed]
    left = np.flatnonzero(events["kind"] == Kind.SWITCH)
    known = np.array([row for row in since if 0 < row < left.max(initial=0)], int)
    before = known - 1
    known = known[
        (events["kind"][before] == Kind.INSERT) & (events["pid"][before] == events["pid"][known])
    ]
    if not len(known):
        return 0.0
    return float(np.median(took(events, each, known - 1, left[np.searchsorted(left, known)])))


def _woken(events: Table, each: float, calls: Sequence[Call], first_sector: int) -> float:
    """Return the kernel's own time from a completion on, where nothing is unpacked (ns).

    It is infinite if too few blocks of metadata were read.
    """
    packed = {_last_sector(call, first_sector) for call in calls}
    sectors, since, until = _waits(events)
    others = [at for at, sector in enumerate(sectors) if sector not in packed]
    if len(others) < _FEWEST_OTHERS:
        return inf
    return float(np.percentile(took(events, each, since[others], until[others]), _WAKE_SHARE))


def _last_sector(call: Call, first_sector: int) -> int:
    """Return where the last read of clusters of a call begins, -1 without one."""
    data = [read for read in call.reads if not read.metadata]
    return data[-1].at // SECTOR + first_sector if data else -1


def _waits(events: Table) -> tuple[list[int], Array, Array]:
    """Return the sectors of requests, the rows of their completions, and of their threads' next."""
    sectors, since, until = [], [], []
    completed = _rows_by_sector(events, Kind.RQ_COMPLETE)
    following = np.isin(events["kind"], _NEXT)
    of_thread = {pid: np.flatnonzero(following & (events["pid"] == pid)) for pid in
                 np.unique(events["pid"][following]).tolist()}  # fmt: skip
    for sector, bio in _rows_by_sector(events, Kind.BIO_QUEUE).items():
        done = completed.get(sector)
        rows = of_thread[int(events["pid"][bio])]
        at = len(rows) if done is None else int(np.searchsorted(rows, done))
        if done is not None and at < len(rows):
            sectors.append(sector)
            since.append(done)
            until.append(int(rows[at]))
    return sectors, np.array(since, int), np.array(until, int)


def _rows_by_sector(events: Table, kind: Kind) -> dict[int, int]:
    """Return the first row of a kind with each sector."""
    rows = np.flatnonzero(events["kind"] == kind)[::-1]
    return dict(zip(events["index"][rows].tolist(), rows.tolist(), strict=True))


def _slope(x: Array, y: Array) -> float:
    """Return the median of the slopes between all pairs (Theil and Sen), of some of many."""
    some = np.linspace(0, len(x) - 1, min(len(x), _MOST_PAIRS)).astype(int)
    x, y = x[some], y[some]
    first, second = np.triu_indices(len(x), 1)
    apart = x[second] - x[first]
    differ = apart != 0
    if not differ.any():
        return 0.0
    return float(np.median((y[second] - y[first])[differ] / apart[differ]))
