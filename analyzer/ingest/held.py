"""Reads that a limiter delayed: the thread that asked for them, and when.

blk-throttle takes a bio in before ``block_bio_queue`` records it, and a kernel worker submits the
bio when the limit allows (blk_throtl_bio, blk_throtl_dispatch_work_fn, block/blk-throttle.c). The
event then names the worker and the moment of the release. The thread that asked inserted the pages
of the bio into the page cache just before, so the place of these pages on the disk names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from foreread.analyzer.ingest.tables import Array, Kind, Rwbs, Table, order_by
from foreread.tracer.formats.capture import Extent

SECTOR = 512
_UNKNOWN = -1
_DISK_BITS = 44  # of a key: sectors of a disk (8 PiB) below, the disk's number above

Inode = tuple[int, int]  # dev_t, inode number
Column = dict[str, Array]


class Places:
    """Where pages are: ``extents`` by inode, and ``first_sectors`` and ``disks`` by dev_t.

    Extents count from the first sector of the file system on its disk.
    """

    def __init__(
        self,
        extents: Mapping[Inode, Sequence[Extent]],
        first_sectors: Mapping[int, int],
        disks: Mapping[int, int],
        page_size: int,
    ) -> None:
        self._extents = extents
        self._first_sectors = first_sectors
        self.page_sectors = page_size // SECTOR
        numbered = sorted({*disks.values(), *(disks.get(dev, dev) for dev, _ in extents)})
        self._number = {disk: row for row, disk in enumerate(numbered)}
        self._disks = disks

    def of_disk(self, dev: Array) -> Array:
        """Return the number of the disk of each dev_t, -1 where it is unknown."""
        unique, row = np.unique(dev, return_inverse=True)
        numbers = [self._number.get(self._disks.get(d, d), _UNKNOWN) for d in unique.tolist()]
        return np.array(numbers, np.int64)[row]

    def of_pages(self, inserts: Table, in_bdev: Array) -> Array:
        """Return the key of the first sector of each inserted page, -1 where it is unknown."""
        sector = np.full(inserts.rows, _UNKNOWN, np.int64)
        owner = np.where(in_bdev, inserts["ino"], inserts["dev"]).astype(np.int64)
        disk = self.of_disk(owner)
        for dev, ino, rows in _by_inode(inserts):
            at = inserts["index"][rows].astype(np.int64) * self.page_sectors
            if in_bdev[rows[0]]:
                sector[rows] = at + self._first_sectors.get(ino, 0)
            else:
                places = _on_device(self._extents.get((dev, ino), ()), at * SECTOR) // SECTOR
                first = self._first_sectors.get(dev, 0)
                sector[rows] = np.where(places >= 0, places + first, _UNKNOWN)
        return keys(disk, sector)


def keys(disk: Array, sector: Array) -> Array:
    """Return disk and sector as one number, -1 where one of them is unknown or out of range."""
    in_range = (disk >= 0) & (sector >= 0) & (sector < 1 << _DISK_BITS)
    return np.where(in_range, (disk << _DISK_BITS) + sector, _UNKNOWN)


def with_askers(events: Table, in_bdev: Array, places: Places) -> Table:
    """Return the events with every held read queued by the thread that asked for it.

    ``in_bdev`` says which of the inserts, in their order, are into inodes of block devices. A read
    that another task than the inserting thread queued gets the thread, CPU and time of the last
    insertion of its pages. Reads of pages at unknown places stay as they are.
    """
    bios = np.flatnonzero((events["kind"] == Kind.BIO_QUEUE) & ((events["flags"] & Rwbs.READ) > 0))
    inserts = np.flatnonzero(events["kind"] == Kind.INSERT)
    if not len(bios) or not len(inserts):
        return events
    page_keys = places.of_pages(events.take(inserts), in_bdev)
    disk = places.of_disk(events["dev"][bios].astype(np.int64))
    sector = events["index"][bios].astype(np.int64)
    length = np.minimum(events["value"][bios], 1 << 31).astype(np.int64)
    first = _latest(page_keys, inserts, keys(disk, sector), bios)
    pid = events["pid"]
    held = (first >= 0) & (pid[first] != pid[bios])
    bios, first = bios[held], first[held]
    end = keys(disk, sector + np.maximum(length - places.page_sectors, 0))[held]
    last = _latest(page_keys, inserts, end, bios)
    same = (last >= 0) & (pid[last] == pid[first])
    insertion = np.where(same, np.maximum(first, last), first)
    columns = {name: events[name].copy() for name in ("pid", "cpu", "time_ns")}
    for name, column in columns.items():
        column[bios] = events[name][insertion]
    moved = Table(events.schema, {**events, **columns})
    return moved.take(np.argsort(moved["time_ns"], kind="stable"))


def _latest(page_keys: Array, inserts: Array, wanted: Array, before: Array) -> Array:
    """Return the last of the rows ``inserts`` of each key that comes before a row, or -1."""
    key = np.concatenate((page_keys, wanted))
    row = np.concatenate((inserts, before))
    is_insert = np.arange(len(key)) < len(inserts)
    order = order_by(key, row)
    at = np.maximum.accumulate(np.where(is_insert[order], np.arange(len(order)), -1))
    source = order[np.maximum(at, 0)]
    same_key = (at >= 0) & (key[source] == key[order]) & (key[order] >= 0)
    latest = np.empty(len(key), np.int64)
    latest[order] = np.where(same_key, row[source], _UNKNOWN)
    return latest[len(inserts) :]


def _by_inode(inserts: Table) -> Iterable[tuple[int, int, Array]]:
    """Yield dev_t, inode and rows of the inserts of each inode."""
    order = order_by(inserts["dev"], inserts["ino"])
    dev, ino = inserts["dev"][order], inserts["ino"][order]
    starts = np.flatnonzero((np.diff(dev) != 0) | (np.diff(ino) != 0)) + 1
    for rows in np.split(order, starts):
        yield int(inserts["dev"][rows[0]]), int(inserts["ino"][rows[0]]), rows


def _on_device(extents: Sequence[Extent], at: Array) -> Array:
    """Return where bytes of a file are on its file system, -1 where they are not or unknown."""
    written = sorted((e.at, e.length, e.physical) for e in extents if e.written)
    if not written:
        return np.full(len(at), _UNKNOWN, np.int64)
    begin, length, physical = np.array(written, np.int64).T
    row = np.maximum(np.searchsorted(begin, at, side="right") - 1, 0)
    within = (at >= begin[row]) & (at < begin[row] + length[row])
    return np.where(within, physical[row] + at - begin[row], _UNKNOWN)
