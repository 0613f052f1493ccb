"""The processor's cost of reading compressed clusters, from the recorded run at window 0.

The thread that reads a page unpacks it itself there (z_erofs_read_folio), between the completion of
the last request and its next event. The image says how many pages that were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analyzer.ingest.recording import Recording
from analyzer.ingest.tables import Array, Kind, Table
from analyzer.program.cpu import CpuSamples, event_cost, took
from emulator.images.erofs_reads import Call
from emulator.linux.requests import SECTOR
from emulator.linux.timed import CpuCost

_PAGE = 4096
_FEWEST = 20  # reads
_NEXT = (Kind.FAULT, Kind.INSERT, Kind.BIO_QUEUE, Kind.MAP_PAGES, Kind.GET_PAGES)
_MOST_PAIRS = 500  # reads whose slopes are compared


@dataclass(frozen=True)
class ClusterCost:
    """The cost of a request and of a page, and the time to unpack a page (ns)."""

    cpu: CpuCost
    unpack_page_ns: float


def cluster_cost(
    recording: Recording, samples: CpuSamples | None, calls: Sequence[Call], first_sector: int
) -> ClusterCost | None:
    """Return the cost of clusters, or None if too few reads show it.

    ``calls`` are those of the recorded run; ``samples`` are of pages that were read singly;
    ``first_sector`` is where the image begins on the disk.
    """
    events = recording.trace.events
    each = event_cost(events)
    inserted = _inserted(events, each)
    pages, after = _after_reads(events, each, calls, first_sector)
    if len(inserted) < _FEWEST or len(pages) < _FEWEST:
        return None
    unpack_ns = max(_slope(pages, after), 0.0)
    done_ns = max(float(np.median(after - unpack_ns * pages)), 0.0)
    submit_ns = float(np.median(samples.submit)) if samples and len(samples.submit) else 0.0
    cpu = CpuCost(submit_ns + done_ns, max(float(np.median(inserted)), 0.0))
    return ClusterCost(cpu, unpack_ns)


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
    pages, since, until = [], [], []
    completed = _rows_by_sector(events, Kind.RQ_COMPLETE)
    queued = _rows_by_sector(events, Kind.BIO_QUEUE)
    following = np.isin(events["kind"], _NEXT)
    of_thread = {pid: np.flatnonzero(following & (events["pid"] == pid)) for pid in
                 np.unique(events["pid"][following]).tolist()}  # fmt: skip
    for call in calls:
        data = [read for read in call.reads if not read.metadata]
        sector = data[-1].at // SECTOR + first_sector if data else -1
        done, bio = completed.get(sector), queued.get(sector)
        if done is None or bio is None:
            continue
        rows = of_thread.get(int(events["pid"][bio]), np.zeros(0, np.int64))
        at = int(np.searchsorted(rows, done))
        if at < len(rows):
            pages.append(call.unpacked / _PAGE)
            since.append(done)
            until.append(int(rows[at]))
    return np.array(pages), took(events, each, np.array(since, int), np.array(until, int))


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
    known = apart != 0
    if not known.any():
        return 0.0
    return float(np.median((y[second] - y[first])[known] / apart[known]))
