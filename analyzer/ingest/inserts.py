"""Which page-cache inserts were filled by a read from the device.

A thread inserts pages and then queues the read that fills them. Pages inserted by writes, or
for holes, are followed by no read; pages of a block device's own inode are metadata. So one
rule works on every kernel with the insert event, whatever other tracepoints it has.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from analyzer.ingest.tables import Array, Kind, Rwbs, Table

# File systems that store pages as they are: the bytes read say how many pages were filled.
# Elsewhere (squashfs, btrfs, erofs may compress) a read fills all pages inserted before it.
PLAIN_FILE_SYSTEMS = frozenset({"ext2", "ext3", "ext4", "xfs", "vfat", "exfat", "jfs", "nilfs2"})
# File systems whose reads are no block I/O of the reading thread.
REMOTE_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "fuse", "virtiofs", "ceph"})
# File systems without writes, whose blocks are larger than pages: a thread also fills pages from
# a block that another one read, or that the file system's own cache holds, with no read at all.
READ_ONLY_FILE_SYSTEMS = frozenset({"squashfs", "erofs", "cramfs", "romfs", "iso9660"})

MINOR_BITS = 20  # dev_t in the kernel: major << 20 | minor (include/linux/kdev_t.h)
_LARGEST_ORDER = 20  # far above any real folio; bounds what a damaged trace can ask for


@dataclass(frozen=True)
class Inserts:
    """Inserts of file data and of metadata, each in time order.

    ``pages`` (int64) is how many pages each insert of ``data`` brought in by a read: 0 for
    written pages and holes. ``group`` (int64) is how many pages were read together with it.
    ``reads_recorded`` is False if the trace has no block events: then all inserts count.
    """

    data: Table
    metadata: Table
    pages: Array
    group: Array
    reads_recorded: bool


def find_inserts(events: Table, page_size: int, fstypes: dict[int, str]) -> Inserts:
    """Sort the inserts of ``events``; ``fstypes`` maps a superblock's dev_t to its type."""
    inserts = events["kind"] == Kind.INSERT
    bdev = inserts & _of_block_device(events)
    metadata = events.take(bdev)
    reads = _data_reads(events, metadata, page_size)
    data = events.take(inserts & ~bdev)
    if reads is None:
        size = folio_pages(data)
        return Inserts(data, metadata, size, size, False)
    sequence = events.take((inserts & ~bdev) | reads)
    compressing = _devices_of(fstypes, set(fstypes.values()) - PLAIN_FILE_SYSTEMS)
    pages, group = _fill(sequence, page_size, compressing)
    data_rows = sequence["kind"] == Kind.INSERT
    pages, group = pages[data_rows], group[data_rows]
    never_written = _devices_of(fstypes, REMOTE_FILE_SYSTEMS | READ_ONLY_FILE_SYSTEMS)
    pages = np.where(np.isin(data["dev"], never_written), folio_pages(data), pages)
    return Inserts(data, metadata, pages, np.maximum(group, pages), True)


def folio_pages(inserts: Table) -> Array:
    """Return the pages of each insert's folio, int64."""
    order = np.minimum(inserts["value"], _LARGEST_ORDER).astype(np.int64)
    return np.asarray(np.left_shift(np.int64(1), order))


def _devices_of(fstypes: dict[int, str], wanted: Collection[str]) -> Array:
    return np.array([dev for dev, fstype in fstypes.items() if fstype in wanted], np.uint32)


def _of_block_device(events: Table) -> Array:
    """Return a mask of events on block-device inodes.

    The bdev pseudo file system has an anonymous device (major 0); its inodes are numbered by
    the disk's dev_t (block/bdev.c, 5.11+) or, before, not at all.
    """
    block = (events["kind"] >= Kind.BIO_QUEUE) & (events["kind"] <= Kind.RQ_COMPLETE)
    superblocks = np.unique(events["dev"][events["kind"] == Kind.INSERT])
    disks = np.union1d(np.unique(events["dev"][block]), superblocks).astype(np.uint64)
    anonymous = (events["dev"] >> MINOR_BITS) == 0
    # All other inodes of major 0 (overlay, nfs, btrfs) have small numbers: no real dev_t.
    disks = disks[disks >> np.uint64(MINOR_BITS) > 0]
    return np.asarray(anonymous & ((events["ino"] == 0) | np.isin(events["ino"], disks)))


def _data_reads(events: Table, metadata: Table, page_size: int) -> Array | None:
    """Return a mask of queued (or else issued) reads of file data; None without block events."""
    for kind in (Kind.BIO_QUEUE, Kind.RQ_ISSUE):
        chosen = events["kind"] == kind
        if chosen.any():
            break
    else:
        return None
    flags = events["flags"]
    chosen &= ((flags & Rwbs.READ) != 0) & ((flags & Rwbs.META) == 0)
    # ext4 reads inode tables ahead without the M flag: into pages of the block device.
    page = events["index"] // np.uint64(page_size // 512)
    of_metadata = np.isin(_key(events["dev"], page), _key(metadata["ino"], metadata["index"]))
    return np.asarray(chosen & ~of_metadata)


def _key(dev: Array, page: Array) -> Array:
    return np.asarray((dev.astype(np.uint64) << np.uint64(40)) ^ page)


def _fill(sequence: Table, page_size: int, compressing: Array) -> tuple[Array, Array]:
    """Credit reads to the inserts before them in the same thread.

    ``sequence`` holds inserts and reads in time order. Returns int64 arrays by row: pages
    filled (0: none, or the row is a read) and pages filled by the same reads.
    """
    order = np.argsort(sequence["pid"], kind="stable")
    pid, is_read = sequence["pid"][order], sequence["kind"][order] != Kind.INSERT
    size = np.where(is_read, 0, folio_pages(sequence)[order])
    run = _runs(pid, is_read)
    available = _pages_of_next_run(run, pid, is_read, sequence["value"][order], page_size)

    # Of a run of inserts the last ones are filled, as many as the reads have pages.
    end_of_run = np.searchsorted(run, run, side="right") - 1
    total = np.cumsum(size)
    after = total[end_of_run] - total
    compresses = np.isin(sequence["dev"][order], compressing)
    filled = ~is_read & (available > 0) & (compresses | (after < available))

    pages = np.empty(len(order), np.int64)
    group = np.empty(len(order), np.int64)
    pages[order] = np.where(filled, size, 0)
    filled_in_run = np.bincount(run, np.where(filled, size, 0))[run] if len(run) else total
    group[order] = np.where(filled, filled_in_run, 0)
    return pages, group


def _runs(pid: Array, is_read: Array) -> Array:
    """Number the runs of inserts and of reads; a thread's first row starts a run."""
    starts = np.diff(pid, prepend=pid[:1]) != 0
    starts |= np.diff(is_read.view(np.int8), prepend=is_read[:1].view(np.int8)) != 0
    return np.asarray(np.cumsum(starts))


def _pages_of_next_run(
    run: Array, pid: Array, is_read: Array, sectors: Array, page_size: int
) -> Array:
    """Return, for each row, the pages read by the run after its own, if of the same thread."""
    if not len(run):
        return run
    runs = int(run[-1]) + 2
    sectors_of = np.bincount(run, np.where(is_read, sectors, 0), runs)
    thread_of = np.full(runs, -1, np.int64)
    thread_of[run] = pid
    same = thread_of[run] == thread_of[run + 1]
    return np.asarray(np.where(same & ~is_read, np.ceil(sectors_of[run + 1] * 512 / page_size), 0))
