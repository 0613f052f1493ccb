"""Which page-cache inserts were filled by a read from the device.

A thread inserts pages and then queues the read that fills them. Pages inserted by writes, or
for holes, are followed by no read; pages of a block device's own inode, and of inodes that a
file system keeps for itself, are metadata. So one rule works on every kernel with the insert
event, whatever other tracepoints it has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from foreread.analyzer.ingest.node_reads import f2fs_devices, node_reads
from foreread.analyzer.ingest.read_evidence import (
    Evidence,
    Layers,
    Unseen,
    beside_reads,
    last_inserts,
)
from foreread.analyzer.ingest.tables import MINOR_BITS, Array, Kind, Rwbs, Table, order_by
from foreread.boards.base.brief import brief

# File systems that store pages as they are: the bytes read say how many pages were filled.
# Elsewhere (btrfs, f2fs may compress) a read fills the inserts of its inode before it.
PLAIN_FILE_SYSTEMS = frozenset({"ext2", "ext3", "ext4", "xfs", "vfat", "exfat", "jfs", "nilfs2"})
# Never written. squashfs inserts the rest of a block after the read that brought it, and reads
# nothing for a block that it still holds decompressed (fs/squashfs/file.c, 6.18).
READ_ONLY_FILE_SYSTEMS = frozenset({"squashfs", "erofs", "cramfs", "romfs", "iso9660"})
# File systems whose reads are not block I/O of the reading thread; subtypes as in "fuse.sshfs".
UNBLOCKED_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "9p", "fuse", "fuseblk", "virtiofs", "ceph", "ubifs", "jffs2"}
)
# Those whose reads are queued by the thread that asks (held.py: or by a limiter's worker).
ON_DISKS = PLAIN_FILE_SYSTEMS | {"btrfs", "f2fs"}
# Inodes that hold internal trees of the file system: fs/btrfs (BTRFS_BTREE_INODE_OBJECTID), fs/f2fs
# (node and meta inode of every image that mkfs.f2fs makes).
_INTERNAL_INODES = {"btrfs": (1,), "f2fs": (1, 2)}

_LARGEST_ORDER = 20  # far above any real folio; bounds what a damaged trace can ask for


@dataclass(frozen=True, repr=False)
class Inserts:
    """Inserts of file data and of metadata, each in time order.

    ``pages`` (int64) is how many pages each insert of ``data`` brought in by a read: 0 for
    written pages and holes. ``group`` (int64) is how many pages were read together with it.
    ``alone`` (bool): a read of this one page followed its insert. The other pages of a compressed
    block have none of their own, also if a fragment holds two and the read was between them.
    ``ahead`` (bool): one of these reads was flagged as readahead. ``row`` is where each of ``data``
    stands among the events.
    ``reads_recorded`` is False if the trace has no block events: then all inserts count. ``nodes``
    are the queued reads of f2fs's nodes (node_reads.py). ``unseen`` (Unseen, u1) says why an insert
    counts as read though no read of it is seen, 0: a read is. ``on_f2fs`` are the file systems that
    are recognised as f2fs by their nodes.
    """

    __repr__ = brief

    data: Table
    metadata: Table
    row: Array
    pages: Array
    group: Array
    alone: Array
    ahead: Array
    reads_recorded: bool
    nodes: Table
    unseen: Array
    on_f2fs: tuple[int, ...]


def find_inserts(
    events: Table,
    page_size: int,
    fstypes: Mapping[int, str],
    first_sectors: Collection[int] = (),
    disks: Mapping[int, int] = MappingProxyType({}),
    block_pages: Mapping[int, int] = MappingProxyType({}),
) -> Inserts:
    """Sort the inserts of ``events``; ``fstypes`` maps a superblock's dev_t to its type.

    ``first_sectors`` are where mounted partitions start on their disks (512-byte sectors);
    ``disks`` maps the dev_t of a file system to its disk's, ``block_pages`` the dev_t of a squashfs
    to the pages of a block.
    """
    rows = np.flatnonzero(events["kind"] == Kind.INSERT)
    inserts = events.take(rows)
    bdev = of_block_device(events, inserts)
    on_f2fs = f2fs_devices(inserts.take(~bdev), {*fstypes})
    fstypes = {**fstypes, **dict.fromkeys(on_f2fs, "f2fs")}
    internal = bdev | _of_internal_inode(inserts, fstypes)
    data, metadata = inserts.take(~internal), inserts.take(internal)
    size = folio_pages(data)
    every = devices_of(fstypes, READ_ONLY_FILE_SYSTEMS | UNBLOCKED_FILE_SYSTEMS)
    every_read = _reads(events)
    if every_read is None:
        none, no_rows = np.zeros(data.rows, bool), events.take(np.zeros(0, np.int64))
        unseen = np.where(np.isin(data["dev"], every), 0, Unseen.NO_BLOCK_EVENTS).astype(np.uint8)
        columns = (data, metadata, rows[~internal], size, size, size == 1, none, False)
        return Inserts(*columns, no_rows, unseen, on_f2fs)
    layers = Layers(events, rows[~bdev], every_read)
    own = every_read[layers.own()]
    by_any = _of_data(events, every_read, rows, bdev, page_size, first_sectors, disks)
    of_nodes = rows[internal & np.isin(inserts["dev"], devices_of(fstypes, {"f2fs"}))]
    nodes = node_reads(events, of_nodes, own, page_size)
    chosen = np.zeros(events.rows, bool)
    chosen[np.intersect1d(own, by_any, assume_unique=True)] = chosen[rows[~internal]] = True
    chosen[nodes] = False
    sequence = events.take(chosen)
    compressing = devices_of(fstypes, set(fstypes.values()) - PLAIN_FILE_SYSTEMS)
    data_rows = sequence["kind"] == Kind.INSERT
    by_thread = order_by(sequence["pid"])
    filled = _fill(sequence, by_thread, page_size, compressing)
    pages, group, ahead = (column[data_rows] for column in filled)
    alone = (group == 1) & ~filled_blocks(data, block_pages)
    pages = np.where(np.isin(data["dev"], every), size, pages)
    group = np.maximum(group, pages)
    evidence = Evidence(events, by_any, layers, np.unique(inserts["pid"]), page_size)
    beside = beside_reads(sequence, by_thread, page_size)[data_rows]
    on_disks = devices_of(fstypes, ON_DISKS).tolist()
    unseen = evidence.unseen(data, size, pages, beside, on_disks)
    pages = np.where(unseen > 0, size, pages)
    group = np.where(unseen > 0, np.maximum(size, evidence.read_together()), group)
    columns = (data, metadata, rows[~internal], pages, group, alone, ahead, True)
    return Inserts(*columns, events.take(nodes), unseen, on_f2fs)


def filled_blocks(data: Table, block_pages: Mapping[int, int]) -> Array:
    """Return a mask of the pages that a thread inserted after another one of the same block.

    ``block_pages``: the pages of a block by dev_t. The first one was touched
    (squashfs_readpage_block, squashfs_readahead).
    """
    rows = np.flatnonzero(np.isin(data["dev"], np.array([*block_pages], np.uint32)))
    rows = rows[order_by(data["pid"][rows])]
    names = ("pid", "dev", "ino")
    same = [data[name][rows][1:] == data[name][rows][:-1] for name in names]
    each = np.ones(len(rows), np.uint64)
    for dev, pages in block_pages.items():
        each[data["dev"][rows] == dev] = pages
    number = data["index"][rows] // each
    follows = np.logical_and.reduce([*same, number[1:] == number[:-1]])
    filled = np.zeros(data.rows, bool)
    filled[rows[1:][follows]] = True
    return filled


def folio_pages(inserts: Table) -> Array:
    """Return the pages of each insert's folio, int64."""
    order = np.minimum(inserts["value"], _LARGEST_ORDER).astype(np.int64)
    return np.asarray(np.left_shift(np.int64(1), order))


def devices_of(fstypes: Mapping[int, str], wanted: Collection[str]) -> Array:
    """Return the superblocks (dev_t) of the ``wanted`` types, their subtypes included."""
    devs = [dev for dev, fstype in fstypes.items() if fstype.partition(".")[0] in wanted]
    return np.array(devs, np.uint32)


def _of_internal_inode(inserts: Table, fstypes: Mapping[int, str]) -> Array:
    """Return a mask of inserts into inodes that no path leads to.

    squashfs and erofs keep caches of raw blocks in an inode without a number (new_inode).
    """
    internal = inserts["ino"] == 0
    for fstype, inodes in _INTERNAL_INODES.items():
        on_such = np.isin(inserts["dev"], devices_of(fstypes, {fstype}))
        internal |= on_such & np.isin(inserts["ino"], inodes)
    return np.asarray(internal)


def of_block_device(events: Table, inserts: Table) -> Array:
    """Return a mask of the inserts into block-device inodes.

    The bdev pseudo file system has an anonymous device (major 0); its inodes are numbered by
    the disk's dev_t (block/bdev.c, 5.11+) or, before, not at all.
    """
    block = np.flatnonzero(
        (events["kind"] >= Kind.BIO_QUEUE) & (events["kind"] <= Kind.RQ_COMPLETE)
    )
    devs = (events["dev"].take(block), inserts["dev"])
    disks = np.unique(np.concatenate([np.unique(dev) for dev in devs])).astype(np.uint64)
    anonymous = (inserts["dev"] >> MINOR_BITS) == 0
    # All other inodes of major 0 (overlay, nfs, btrfs) have small numbers: no real dev_t.
    disks = disks[disks >> np.uint64(MINOR_BITS) > 0]
    return np.asarray(anonymous & ((inserts["ino"] == 0) | np.isin(inserts["ino"], disks)))


def _reads(events: Table) -> Array | None:
    """Return the rows of queued (or else issued) reads; None without block events."""
    for kind in (Kind.BIO_QUEUE, Kind.RQ_ISSUE):
        rows = np.flatnonzero(events["kind"] == kind)
        if len(rows):
            return np.asarray(rows[(events["flags"].take(rows) & Rwbs.READ) != 0])
    return None


def _of_data(
    events: Table,
    reads: Array,
    inserts: Array,
    bdev: Array,
    page_size: int,
    first_sectors: Collection[int],
    disks: Mapping[int, int],
) -> Array:
    """Return the rows among ``reads`` that read file data.

    ``inserts`` are the rows of inserts, ``bdev`` says which are into block-device inodes.
    """
    reads = reads[(events["flags"].take(reads) & Rwbs.META) == 0]
    # ext4 reads inode tables ahead without the M flag: into pages of the block device, which
    # were inserted just before. With blocks below the page size data shares such pages.
    metadata = events.take(inserts[bdev])
    dev, sector = events["dev"].take(reads), events["index"].take(reads)
    within = in_block_devices(dev, sector, metadata, page_size, first_sectors, disks)
    last = last_inserts(events["pid"], inserts, reads[within])
    of_data = ~within
    of_data[within] = ~np.append(bdev, False).take(last)
    return np.asarray(reads[of_data])


def in_block_devices(
    dev: Array,
    sector: Array,
    metadata: Table,
    page_size: int,
    first_sectors: Collection[int],
    disks: Mapping[int, int],
) -> Array:
    """Return a mask of the blocks (disk ``dev``, ``sector``) that are pages in ``metadata``.

    These are inserts into block-device inodes. The number of such an inode is the dev_t of a disk
    or partition; 0 (before 5.11) may be any. ``disks`` maps the dev_t of a file system to its
    disk's; a file system that it lacks is on none of these disks.
    """
    inside = np.zeros(len(sector), bool)
    all_disks = {*disks, *disks.values()}
    devs = np.unique(dev)
    disk = np.array([disks.get(each, each) for each in devs.tolist()], np.uint64)
    disk = disk.take(np.searchsorted(devs, dev))
    elsewhere = ~np.isin(disk, np.array([*all_disks], np.uint64))
    for ino in np.unique(metadata["ino"]).tolist():
        pages = metadata["index"][metadata["ino"] == ino]
        same = (disk == disks.get(ino, ino)) | (ino == 0) | (elsewhere & (ino not in all_disks))
        for first in {0, *first_sectors}:  # a partition's bdev counts from its start, bios do not
            page = (sector - np.uint64(first)) // np.uint64(page_size // 512)
            inside |= same & np.isin(page, pages)
    return inside


def _fill(
    sequence: Table, order: Array, page_size: int, compressing: Array
) -> tuple[Array, Array, Array]:
    """Assign reads to the inserts before them in the same thread.

    ``sequence`` holds inserts and reads in time order, ``order`` its rows by thread. Returns arrays
    by row: pages filled (int64; 0: none, or the row is a read), pages filled by the same reads
    (int64), and whether one of these reads was flagged as readahead.
    """
    rows = len(order)
    pages, group, ahead = np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows, bool)
    if not rows:
        return pages, group, ahead
    pid, is_read = sequence["pid"].take(order), sequence["kind"].take(order) != Kind.INSERT
    size = np.where(is_read, 0, folio_pages(sequence).take(order))
    # Runs of inserts and of reads; a thread's first row starts a run.
    start = np.flatnonzero(np.append(True, (pid[1:] != pid[:-1]) | (is_read[1:] != is_read[:-1])))
    length = np.diff(start, append=rows)
    # The sectors and flags of the reads in the run after each, if it is of the same thread.
    sectors, flagged = np.zeros(len(start)), np.zeros(len(start), bool)
    goes_on = ~is_read[start[:-1]] & (pid[start[:-1]] == pid[start[1:]])
    values = np.add.reduceat(sequence["value"].take(order).astype(np.float64), start)[1:]
    sectors[:-1] = np.where(goes_on, values, 0)
    flags = np.bitwise_or.reduceat(sequence["flags"].take(order), start)[1:]
    flagged[:-1] = goes_on & ((flags & Rwbs.AHEAD) > 0)
    # Of a run of inserts the last ones are filled, as many as the reads have pages; where
    # pages are compressed, those of the last one's inode.
    total = np.cumsum(size)
    last = start + length - 1
    available = np.repeat(np.ceil(sectors * 512 / page_size), length)
    reached = np.repeat(total[last], length) - total < available
    compresses = np.flatnonzero(np.isin(sequence["dev"], compressing).take(order))
    at, final = order[compresses], order[np.repeat(last, length)[compresses]]
    reached[compresses] = np.logical_and.reduce(
        [sequence[name][at] == sequence[name][final] for name in ("ino", "dev")]
    )
    filled = ~is_read & (available > 0) & reached
    size = np.where(filled, size, 0)
    pages[order] = size
    group[order] = np.where(filled, np.repeat(np.add.reduceat(size, start), length), 0)
    ahead[order] = filled & np.repeat(flagged, length)
    return pages, group, ahead
