"""How long the compressed blocks of a squashfs are: from the capture, or learnt from its inserts.

At read_ahead_kb=0 a thread that misses one page inserts all pages of its block, and reads the block
once: before the other pages (squashfs_readpage_block, fs/squashfs/file_cache.c), or after them
(file_direct.c, squashfs_readahead in file.c; 6.18). So the right length has whole blocks, no read
within the inserts of a block after its first page, and one between two blocks of a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from foreread.analyzer.ingest.tables import Array, Kind, Rwbs, Table, order_by
from foreread.boards.base.units import KIB
from foreread.emulator.linux.filesystems import SQUASHFS_BLOCK, SQUASHFS_LARGEST_BLOCK
from foreread.tracer.formats.capture import Mount, Squashfs

_MOST_AMISS = 0.1  # share: fragments kept in memory and holes are blocks without a read
Inode = tuple[int, int]  # dev_t, inode number
Sizes = Mapping[Inode, int]  # bytes


@dataclass(frozen=True)
class BlockLength:
    """The bytes of a squashfs block; ``source``: recorded, learnt or assumed."""

    block_bytes: int
    source: Literal["recorded", "learnt", "assumed"]

    def pages(self, page_size: int) -> int:
        """Return the pages of a block."""
        return max(self.block_bytes // page_size, 1)


ASSUMED = BlockLength(SQUASHFS_BLOCK, "assumed")


def block_lengths(
    events: Table, mounts: Mapping[int, Mount], sizes: Sizes, page_size: int, learn: bool
) -> dict[int, BlockLength]:
    """Return the length of a block of each squashfs, by dev_t; ``mounts`` are of this type.

    ``sizes``: of the files. ``learn``: ``events`` are of a run without readahead.
    """
    lengths = {}
    for dev, mount in mounts.items():
        lengths[dev] = block_length(mount.squashfs, page_size)
        if lengths[dev] == ASSUMED and learn:
            learnt = learnt_block(events, dev, sizes, page_size)
            lengths[dev] = BlockLength(learnt, "learnt") if learnt else ASSUMED
    return lengths


def block_length(image: Squashfs | None, page_size: int) -> BlockLength:
    """Return the recorded length of a squashfs's blocks, or the assumed one."""
    size = image.block_bytes if image else 0
    return BlockLength(size, "recorded") if is_block(size, page_size) else ASSUMED


def unknown_block(place: str) -> str:
    """Return the doubt about the squashfs that is mounted at a place."""
    return (
        f"the block size of the squashfs on {place} is unknown: neither the target nor the "
        f"recorded reads show it, and {SQUASHFS_BLOCK // KIB} KiB are assumed"
    )


def is_block(size: int, page_size: int) -> bool:
    """Return whether squashfs can be mounted with blocks of ``size`` bytes."""
    return page_size <= size <= SQUASHFS_LARGEST_BLOCK and size & (size - 1) == 0


def learnt_block(events: Table, dev: int, sizes: Sizes, page_size: int) -> int | None:
    """Return the length of a block that explains the inserts of a squashfs; None if none does.

    Files that are smaller than a block do not show its length, and are read alike for any: then it
    is at least the default.
    """
    inserts = _Inserts.of(events, dev, sizes, page_size)
    if inserts is None:
        return None
    candidates = [size for size in _candidates(page_size) if inserts.explains(size // page_size)]
    if not candidates:
        return None
    largest = candidates[-1]
    return largest if inserts.has_more(largest // page_size) else max(largest, SQUASHFS_BLOCK)


def _candidates(page_size: int) -> list[int]:
    sizes = (page_size << shift for shift in range(9))
    return [size for size in sizes if size <= SQUASHFS_LARGEST_BLOCK]


@dataclass(frozen=True, eq=False)
class _Inserts:
    """Inserts of one squashfs in the order of each thread; arrays by insert.

    ``follows``: the thread's insert before is of the same file. ``run`` numbers the inserts that no
    read of the thread divides; ``reads`` (by run) are those it queued next. ``file`` numbers the
    files, ``pages`` (by file) are their lengths.
    """

    file: Array
    index: Array
    follows: Array
    run: Array
    reads: Array
    pages: Array

    @classmethod
    def of(cls, events: Table, dev: int, sizes: Sizes, page_size: int) -> _Inserts | None:
        """Return the inserts; None without any, or without reads."""
        insert = (events["kind"] == Kind.INSERT) & (events["dev"] == dev) & (events["ino"] > 0)
        read = (events["kind"] == Kind.BIO_QUEUE) & ((events["flags"] & Rwbs.READ) > 0)
        if not insert.any() or not read.any():
            return None
        rows = np.flatnonzero(insert | read)
        rows = rows[order_by(events["pid"][rows])]
        at = np.flatnonzero(insert[rows])
        own = rows[at]
        inodes, file = np.unique(events["ino"][own], return_inverse=True)
        index = events["index"][own].astype(np.int64)
        other = np.diff(events["pid"][own], prepend=-1) != 0
        run = np.cumsum(other | (np.diff(at, prepend=-1) > 1)) - 1
        of_insert = np.searchsorted(at, np.arange(len(rows)), "right") - 1
        mine = (of_insert >= 0) & read[rows]
        mine &= events["pid"][rows] == events["pid"][own[of_insert]]
        last = np.zeros(len(inodes), np.int64)
        np.maximum.at(last, file, index + 1)
        size = [-(-sizes.get((dev, ino), -1) // page_size) for ino in inodes.tolist()]
        return cls(
            file=file,
            index=index,
            follows=~other & (np.diff(file, prepend=-1) == 0),
            run=run,
            reads=np.bincount(run[of_insert[mine]], minlength=int(run[-1]) + 1),
            pages=np.maximum(last, np.array(size, np.int64)),
        )

    def explains(self, block_pages: int) -> bool:
        """Return whether blocks of a length explain which pages came, and the reads between."""
        if not (self.pages > block_pages // 2).any():
            return False  # a shorter one explains the same
        return self._whole(block_pages) and self._apart(block_pages)

    def has_more(self, block_pages: int) -> bool:
        """Return whether a file is longer than a block."""
        return bool((self.pages > block_pages).any())

    def _whole(self, block_pages: int) -> bool:
        """Return whether nearly all blocks of files with several came whole."""
        long = self.pages[self.file] > block_pages // 2
        pages = np.unique(np.stack((self.file[long], self.index[long])), axis=1)
        blocks, came = np.unique(
            np.stack((pages[0], pages[1] // block_pages)), axis=1, return_counts=True
        )
        held = np.minimum(self.pages[blocks[0]] - blocks[1] * block_pages, block_pages)
        return bool(np.count_nonzero(came < held) <= _MOST_AMISS * len(came))

    def _apart(self, block_pages: int) -> bool:
        """Return whether each block has a read, and nearly none comes within its inserts."""
        begins = ~self.follows | (np.diff(self.index // block_pages, prepend=-1) != 0)
        second = np.concatenate(([False], begins[:-1]))
        divided = self.follows & (np.diff(self.run, prepend=-1) != 0)
        within = np.count_nonzero(divided & ~begins & ~second)
        runs = len(self.reads)
        unread = np.bincount(self.run, begins, runs) - self.reads
        next_ones = np.bincount(self.run, begins & self.follows, runs)
        lacking = np.clip(unread, 0, next_ones).sum()
        return bool(within + lacking <= _MOST_AMISS * np.count_nonzero(begins | divided))
