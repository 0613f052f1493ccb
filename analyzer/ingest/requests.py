"""Block requests: each issue with its completion."""

from __future__ import annotations

import numpy as np

from analyzer.ingest.tables import REQUESTS, Array, Kind, Rwbs, Table

_BLOCK_SECTORS = 8  # of the file systems that read metadata block by block: 4 KiB


_MOST_BIOS = 1 << 12  # in a request; a trace with more is damaged
_MOST_SPLITS = 1 << 10  # requests of a bio: 64 MiB in 64 KiB


def find_requests(events: Table) -> Table:
    """Return the REQUESTS in issue order; ``complete_ns`` is 0 where no completion was seen.

    A completion belongs to the latest issue before it with the same device and first sector.
    """
    kind = events["kind"]
    block = events.take((kind == Kind.RQ_ISSUE) | (kind == Kind.RQ_COMPLETE))
    order = np.lexsort((np.arange(block.rows), block["index"], block["dev"]))
    dev, sector, kind = (block[name][order] for name in ("dev", "index", "kind"))
    pair = np.zeros(len(order), bool)
    pair[:-1] = (kind[:-1] == Kind.RQ_ISSUE) & (kind[1:] == Kind.RQ_COMPLETE)
    pair[:-1] &= (np.diff(dev) == 0) & (np.diff(sector) == 0)
    complete_ns = np.zeros(block.rows, np.uint64)
    first = np.flatnonzero(pair)
    complete_ns[order[first]] = block["time_ns"][order[first + 1]]
    issued = block["kind"] == Kind.RQ_ISSUE
    requests = block.take(issued)
    queued = events.take(events["kind"] == Kind.BIO_QUEUE)
    return _table(requests, complete_ns[issued], _askers(requests, queued), _bios(requests, queued))


def _askers(issued: Table, queued: Table) -> Array:
    """Return the thread that queued the bio with which, or within which, each request begins.

    A bio that is too large for the device is split into requests, and reported once. Without a plug
    the request may be issued by a kernel worker (block/blk-mq.c); the thread that queued the bio
    still asked for it. Without a recorded bio it is the thread that issued the request.
    """
    found = issued["pid"].copy()
    partitions = ~np.isin(queued["dev"], issued["dev"])
    for dev in np.unique(issued["dev"]).tolist():
        rows = np.flatnonzero(issued["dev"] == dev)
        bios = queued.take(np.flatnonzero(partitions | (queued["dev"] == dev)))
        asker = _bio_of(issued.take(rows), bios)
        known = asker >= 0
        found[rows[known]] = bios["pid"][asker[known]]
    return found


def _bio_of(requests: Table, bios: Table) -> Array:
    """Return the row of the latest bio that has the begin of each request; -1 without one.

    Requests that continue a bio have none of their own. If the same sectors were read before, the
    bio of that time may begin there: the later of both is the request's.
    """
    found = _nearest_bio(requests, bios)
    if not bios.rows:
        return found
    before = _continued(requests)
    end, time = bios["index"] + bios["value"], bios["time_ns"]
    for _ in range(_MOST_SPLITS):
        other = np.where(before >= 0, found[before], -1)
        later = (other >= 0) & (end[other] > requests["index"])
        later &= (found < 0) | (time[other] > time[found])
        if not later.any():
            break
        found = np.where(later, other, found)
    return found


def _nearest_bio(requests: Table, bios: Table) -> Array:
    """Return the row of the bio that begins nearest below the begin of each request, or there.

    Of several that begin there it is the latest before the request; -1 if it ends before.
    """
    sector = np.concatenate((bios["index"], requests["index"]))
    time = np.concatenate((bios["time_ns"], requests["time_ns"]))
    asks = np.arange(len(sector)) < bios.rows
    behind = sector + np.concatenate((bios["value"], np.zeros(requests.rows, np.uint64)))
    order = np.lexsort((~asks, time, sector))
    latest = np.maximum.accumulate(np.where(asks[order], np.arange(len(order)), -1))
    asker = order[latest]
    within = (sector[asker] == sector[order]) | (behind[asker] > sector[order])
    known = ~asks[order] & (latest >= 0) & within & (time[asker] <= time[order])
    found = np.full(requests.rows, -1)
    found[order[known] - bios.rows] = asker[known]
    return found


def _continued(requests: Table) -> Array:
    """Return the row of the latest request before each that ends where it begins; -1 if none."""
    number = requests.rows
    sector = np.concatenate((requests["index"] + requests["value"], requests["index"]))
    time = np.tile(requests["time_ns"], 2)
    ends = np.arange(2 * number) < number
    order = np.lexsort((~ends, time, sector))
    latest = np.maximum.accumulate(np.where(ends[order], np.arange(2 * number), -1))
    known = ~ends[order] & (latest >= 0)
    known &= sector[order[latest]] == sector[order]
    found = np.full(number, -1)
    found[order[known] - number] = order[latest[known]]
    return found


def _bios(issued: Table, queued: Table) -> Array:
    """Return the number of bios in each request: those that begin within it.

    Bios name the partition that they are for, requests the disk; sectors are the disk's in both.
    Where no bios were recorded, each block of metadata is one (submit_bh), and else a request.
    """
    if not queued.rows:
        blocks = issued["value"] // _BLOCK_SECTORS
        return np.where((issued["flags"] & Rwbs.META) > 0, np.maximum(blocks, 1), 1)
    found = np.ones(issued.rows, np.uint32)
    partitions = ~np.isin(queued["dev"], issued["dev"])
    for dev in np.unique(issued["dev"]).tolist():
        of_disk = queued.take(partitions | (queued["dev"] == dev))
        order = np.argsort(of_disk["index"], kind="stable")
        sector, time = of_disk["index"][order], of_disk["time_ns"][order]
        large = np.flatnonzero((issued["dev"] == dev) & (issued["value"] > _BLOCK_SECTORS))
        first = np.searchsorted(sector, issued["index"][large])
        behind = np.searchsorted(sector, issued["index"][large] + issued["value"][large])
        for row, low, high in zip(large.tolist(), first.tolist(), behind.tolist(), strict=True):
            within = slice(low, min(high, low + _MOST_BIOS))
            before = time[within] <= issued["time_ns"][row]
            found[row] = max(len(np.unique(sector[within][before])), 1)
    return found


def _table(issued: Table, complete_ns: Array, askers: Array, bios: Array) -> Table:
    return Table(
        REQUESTS,
        {
            "issue_ns": issued["time_ns"],
            "complete_ns": complete_ns,
            "pid": askers,
            "dev": issued["dev"],
            "sector": issued["index"],
            "sectors": np.minimum(issued["value"], 0xFFFFFFFF).astype(np.uint32),
            "flags": issued["flags"],
            "bios": bios.astype(np.uint32),
        },
    )
