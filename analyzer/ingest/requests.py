"""Block requests: each issue with its completion."""

from __future__ import annotations

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import (
    EVENTS,
    REQUESTS,
    Array,
    Kind,
    Rwbs,
    Table,
    of_kinds,
    order_by,
    sectors_of,
)

_BLOCK_SECTORS = 8  # of the file systems that read metadata block by block: 4 KiB


_MOST_BIOS = 1 << 12  # in a request; a trace with more is damaged
_AT_ONCE = 1 << 10  # requests, for memory
_MOST_SPLITS = 1 << 10  # requests of a bio: 64 MiB in 64 KiB


def find_requests(events: Table) -> Table:
    """Return the REQUESTS in issue order; ``complete_ns`` is 0 where no completion was seen.

    A completion belongs to the latest issue before it with the same device and first sector.
    """
    block = np.flatnonzero(of_kinds(events, (Kind.RQ_ISSUE, Kind.RQ_COMPLETE)))
    dev, kind = events["dev"].take(block), events["kind"].take(block)
    sector = events["index"].take(block) + np.uint64(1)  # a flush has the largest: now 0
    order = order_by(dev, sector)  # equal ones by time
    dev, sector, issue = dev.take(order), sector.take(order), (kind == Kind.RQ_ISSUE).take(order)
    pair = np.zeros(len(order), bool)
    pair[:-1] = issue[:-1] & ~issue[1:] & (dev[1:] == dev[:-1]) & (sector[1:] == sector[:-1])
    complete_ns = np.zeros(len(block), np.uint64)
    first = np.flatnonzero(pair)
    complete_ns[order[first]] = events["time_ns"].take(block[order[first + 1]])
    issued = kind == Kind.RQ_ISSUE
    requests = events.take(block[issued])
    queued = events.take(events["kind"] == Kind.BIO_QUEUE)
    return Table(
        REQUESTS,
        {
            "issue_ns": requests["time_ns"],
            "complete_ns": complete_ns[issued],
            "pid": _askers(requests, queued),
            "dev": requests["dev"],
            "sector": requests["index"],
            "sectors": sectors_of(requests["value"]),
            "flags": requests["flags"],
            "bios": _bios(requests, queued).astype(np.uint32),
        },
    )


def requests_for(recording: Recording, disk: int) -> Table:
    """Return the requests to a disk (dev_t).

    Another tool's trace does not say which disk a file system is on: there they are all, if they
    are of one disk.
    """
    requests = recording.requests
    own = requests.take(requests["dev"] == disk)
    if own.rows or recording.capture.mounts or len(np.unique(requests["dev"])) != 1:
        return own
    return requests


def asked_ns(requests: Table, events: Table) -> Array:
    """Return when the bio with which, or within which, each of ``requests`` begins was queued.

    ``events``: those that the requests were found in. Without a recorded bio it is the issue.
    """
    issued = Table.empty(EVENTS, requests.rows)
    names = {"time_ns": "issue_ns", "index": "sector", "value": "sectors", "dev": "dev"}
    for name, column in names.items():
        issued[name][:] = requests[column]
    queued = events.take(events["kind"] == Kind.BIO_QUEUE)
    bio = _bios_of(issued, queued)
    has_bio = bio >= 0
    queued_ns = requests["issue_ns"].copy()
    queued_ns[has_bio] = queued["time_ns"][bio[has_bio]]
    return queued_ns


def _askers(issued: Table, queued: Table) -> Array:
    """Return the thread that queued the bio with which, or within which, each request begins.

    A bio that is too large for the device is split into requests, and reported once. Without a plug
    the request may be issued by a kernel worker (block/blk-mq.c); the thread that queued the bio
    still asked for it. Without a recorded bio it is the thread that issued the request.
    """
    askers, bio = issued["pid"].copy(), _bios_of(issued, queued)
    has_bio = bio >= 0
    askers[has_bio] = queued["pid"][bio[has_bio]]
    return askers


def _bios_of(issued: Table, queued: Table) -> Array:
    """Return the row of the bio of each request, of any disk; -1 without one."""
    bio = np.full(issued.rows, -1)
    disks = np.unique(issued["dev"])
    partitions = ~np.isin(queued["dev"], disks)
    for dev in disks.tolist():
        rows = np.flatnonzero(issued["dev"] == dev)
        own = np.flatnonzero(partitions | (queued["dev"] == dev))
        of_disk = _bio_of(issued.take(rows), queued.take(own))
        has_bio = of_disk >= 0
        bio[rows[has_bio]] = own[of_disk[has_bio]]
    return bio


def _bio_of(requests: Table, bios: Table) -> Array:
    """Return the row of the latest bio that has the begin of each request; -1 without one.

    Requests that continue a bio have none of their own. If the same sectors were read before, the
    bio of that time may begin there: the later of both is the request's.
    """
    if not bios.rows:
        return np.full(requests.rows, -1)
    begin, end, time = bios["index"], bios["index"] + bios["value"], bios["time_ns"]
    sector = requests["index"]
    latest = _nearest(begin, time, requests)
    within = (begin.take(latest) == sector) | (end.take(latest) > sector)
    latest = np.where(within & (time.take(latest) <= requests["time_ns"]), latest, -1)
    ends = sector + requests["value"]
    before = _nearest(ends, requests["time_ns"], requests)
    continues = (before >= 0) & (ends.take(before) == sector)
    for _ in range(_MOST_SPLITS):
        other = np.where(continues, latest[before], -1)
        later = (other >= 0) & (end.take(other) > sector)
        later &= (latest < 0) | (time[other] > time[latest])
        if not later.any():
            break
        latest = np.where(later, other, latest)
    return latest


def _nearest(sector: Array, time_ns: Array, requests: Table) -> Array:
    """Return the row that is the last one up to each request by sector, then time; -1 if none is.

    ``sector`` and ``time_ns``: of the rows, which are bios or ends of requests.
    """
    in_time = order_by(np.concatenate((time_ns, requests["time_ns"])))
    order = order_by(np.concatenate((sector, requests["index"])).take(in_time))
    row = in_time.take(order)
    is_request = row >= len(sector)
    latest = np.maximum.accumulate(np.where(is_request, -1, np.arange(len(row))))
    at = np.flatnonzero(is_request & (latest >= 0))
    nearest = np.full(requests.rows, -1)
    nearest[row.take(at) - len(sector)] = row.take(latest.take(at))
    return nearest


def _bios(issued: Table, queued: Table) -> Array:
    """Return the number of bios in each request: those that begin within it.

    Bios name the partition that they are for, requests the disk; sectors are the disk's in both.
    Where no bios were recorded, each block of metadata is one (submit_bh), and else a request.
    """
    if not queued.rows:
        blocks = issued["value"] // _BLOCK_SECTORS
        return np.where((issued["flags"] & Rwbs.META) > 0, np.maximum(blocks, 1), 1)
    bios = np.ones(issued.rows, np.uint32)
    disks = np.unique(issued["dev"])
    partitions = ~np.isin(queued["dev"], disks)
    for dev in disks.tolist():
        of_disk = queued.take(partitions | (queued["dev"] == dev))
        order = order_by(of_disk["index"])
        sector, time = of_disk["index"][order], of_disk["time_ns"][order]
        starts = np.flatnonzero(np.diff(sector, prepend=~sector[:1]) != 0)  # the first of a sector
        large = np.flatnonzero((issued["dev"] == dev) & (issued["value"] > _BLOCK_SECTORS))
        for at in range(0, len(large), _AT_ONCE):
            rows = large[at : at + _AT_ONCE]
            bios[rows] = np.maximum(_begun_within(issued.take(rows), sector, time, starts), 1)
    return bios


def _begun_within(requests: Table, sector: Array, time_ns: Array, starts: Array) -> Array:
    """Return the number of sectors within each request at which a bio queued before it begins.

    ``sector`` and ``time_ns``: of the bios, by sector, then time; ``starts``: the earliest of each.
    """
    low = np.searchsorted(sector, requests["index"])
    high = np.searchsorted(sector, requests["index"] + requests["value"])
    first = np.searchsorted(starts, low)
    count = np.searchsorted(starts, np.clip(high, low, low + _MOST_BIOS)) - first
    request = np.repeat(np.arange(requests.rows), count)
    nth = np.arange(len(request)) - np.repeat(np.cumsum(count) - count, count)
    earliest = time_ns[starts[first[request] + nth]]
    before = earliest <= requests["time_ns"][request]
    return np.bincount(request[before], minlength=requests.rows)
