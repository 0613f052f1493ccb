"""What queued reads say of the inserts before them: whose they are, and where they say nothing.

Each layer of stacked disks (dm, md, bcache) queues a read again, in the thread that asked or in a
worker: only the layer that a file system is on counts. And reads that a trace does not hold are no
evidence of written pages: a trace may lack their event, their disk, or the thread that queued them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import IntEnum

import numpy as np

from foreread.analyzer.ingest.tables import MINOR_BITS, Array, Kind, Table, order_by, sectors_of
from foreread.emulator.linux.filesystems import SQUASHFS_LARGEST_BLOCK

# Of the first reads after inserts of a file system: a disk with fewer is not its own.
_LEAST_OF_DISK = 0.1
# Of the pages of a file system: with fewer reads of its own, or of threads that insert no pages,
# than this share nothing is concluded from them.
_FEW = 0.05
_EXTENDED = 259  # major of partitions and disks of any kind (BLOCK_EXT_MAJOR)


class Unseen(IntEnum):
    """Why a page counts as read though no read of it is seen."""

    NO_BLOCK_EVENTS = 1  # in the trace
    NOT_QUEUED = 2  # only issued requests are in the trace, which other threads may issue
    NO_DISK = 3  # no read fills pages of the file system: NFS, FUSE
    OTHER_DISKS = 4  # all block events are of other disks
    OTHER_THREADS = 5  # those that insert no pages queue reads of the disk
    IN_BLOCKS = 6  # the page came with a neighbour that was read: squashfs


def last_inserts(pid: Array, inserts: Array, rows: Array) -> Array:
    """Return for each of ``rows`` the place in ``inserts`` of its thread's last one, or -1.

    Both are rows of events; ``pid`` has the thread of each event.
    """
    near = np.flatnonzero(np.isin(pid.take(inserts), np.unique(pid.take(rows))))
    row = np.concatenate((inserts.take(near), rows))
    thread = pid.take(row)
    order = order_by(thread, row)
    is_insert = order < len(near)
    last = np.maximum.accumulate(np.where(is_insert, np.arange(len(row)), 0))
    at = np.flatnonzero(~is_insert)
    before, order = order.take(last.take(at)), order.take(at)
    # An insert, but where a thread has none before.
    has_insert = (before < len(near)) & (thread.take(before) == thread.take(order))
    places = np.full(len(rows), -1)
    places[order[has_insert] - len(near)] = near.take(before[has_insert])
    return places


class Layers:
    """The disks that each file system reads from directly, among those that queued reads.

    The file system makes the first read after an insert. The others are of its lower layers,
    or go on with it. ``inserts`` are rows of inserts into file systems, ``reads`` of queued reads.
    """

    def __init__(self, events: Table, inserts: Array, reads: Array) -> None:
        last = last_inserts(events["pid"], inserts, reads)
        self._after = last >= 0
        own = np.append(events["dev"].take(inserts), np.uint32(0)).take(last).astype(np.uint64)
        pair = (own << np.uint64(32)) | events["dev"].take(reads)
        first = np.unique(last, return_index=True)[1]
        first = first[self._after[first]]
        self.pairs, votes = np.unique(pair[first], return_counts=True)
        _, of = np.unique(self.pairs >> np.uint64(32), return_inverse=True)
        most = np.zeros(of.max(initial=-1) + 1, np.int64)
        np.maximum.at(most, of, votes)
        self.pairs = self.pairs[votes >= _LEAST_OF_DISK * most[of]]
        self._pair = pair

    def own(self) -> Array:
        """Return a mask of the reads that are of a disk of their thread's last insert."""
        return np.asarray(~self._after | np.isin(self._pair, self.pairs))

    def disks(self, dev: int) -> set[int]:
        """Return the disks (dev_t) of a file system; none if no read follows its inserts."""
        here = self.pairs[self.pairs >> np.uint64(32) == np.uint64(dev)]
        return set((here & np.uint64(0xFFFFFFFF)).tolist())


class Evidence:
    """What the reads of a trace say of the inserts that no read of their own thread filled.

    ``reads`` are rows of the reads of data that were queued, or else issued, by any thread, and
    ``readers`` the threads that insert pages.
    """

    def __init__(
        self, events: Table, reads: Array, layers: Layers, readers: Array, page_size: int
    ) -> None:
        self._dev = events["dev"].take(reads)
        self._sectors = sectors_of(events["value"].take(reads)).astype(np.int64)
        self._by_readers = np.isin(events["pid"].take(reads), readers)
        self._layers = layers
        self._page_size = page_size
        queued = np.flatnonzero(events["kind"] == Kind.BIO_QUEUE)
        self._queued = np.unique(events["dev"].take(queued)).tolist()

    def unseen(
        self, data: Table, pages: Array, filled: Array, beside: Array, on_disks: Collection[int]
    ) -> Array:
        """Return why the read of each insert may be unseen (Unseen, u1), 0 where it is not.

        ``data`` are inserts of ``pages``, of which ``filled`` were read; those ``beside`` (mask)
        came with neighbours that were read. The threads that ask queue all reads of the file
        systems ``on_disks``.
        """
        reasons = np.zeros(data.rows, np.uint8)
        unfilled = filled < pages
        for dev in np.unique(data["dev"][unfilled]).tolist():
            here = data["dev"] == dev
            if not self._queued:
                reasons[here & unfilled] = Unseen.NOT_QUEUED
            elif dev not in on_disks:
                read = int(filled[here].sum())
                why = self._why(dev, int(pages[here].sum()), read)
                reasons[here & unfilled] = why or 0
                beside_here = here & unfilled & beside
                if why is None and int(pages[beside_here].sum()) > _FEW * read:
                    reasons[beside_here] = Unseen.IN_BLOCKS
        return reasons

    def read_together(self) -> int:
        """Return how many pages come in one read: the median of all pages."""
        pages = np.sort(-(-self._sectors * 512 // self._page_size))
        if not pages.sum():
            return 1
        return max(int(pages[np.searchsorted(np.cumsum(pages), pages.sum() / 2)]), 1)

    def _why(self, dev: int, inserted: int, read: int) -> Unseen | None:
        """Return why queued reads of a file system may be unseen; None if nothing suggests that."""
        if not dev >> MINOR_BITS:  # btrfs, or no disk
            return Unseen.NO_DISK if read < _FEW * inserted else None
        disks = self._layers.disks(dev) or {*_may_hold(dev, self._queued)}
        if not disks:
            return Unseen.OTHER_DISKS
        by_others = np.isin(self._dev, [*disks]) & ~self._by_readers
        octets = 512 * int(self._sectors[by_others].sum())
        few = octets < _FEW * (inserted - read) * self._page_size
        return None if few else Unseen.OTHER_THREADS


def beside_reads(sequence: Table, order: Array, page_size: int) -> Array:
    """Return a mask of the inserts near a page of their file that their thread read meanwhile.

    ``sequence`` holds inserts and reads in time order, ``order`` its rows by thread. squashfs
    inserts the rest of a block after the read for the touched page; others insert a whole block,
    and read less than it holds.
    """
    names = ("pid", "kind", "dev", "ino", "index")
    by_thread = {name: sequence[name].take(order) for name in names}
    pid, insert = by_thread["pid"], by_thread["kind"] == Kind.INSERT
    read = np.flatnonzero(insert[:-1] & ~insert[1:] & (pid[:-1] == pid[1:]))  # ends a run
    at = np.zeros(len(pid), np.int64)  # how many reads end before each row
    at[read + 1] = 1
    np.cumsum(at, out=at)
    near = np.zeros(len(pid), bool)
    for touched in (at - 1, at):
        has_read = (touched >= 0) & (touched < len(read))
        other = np.append(read, 0).take(np.where(has_read, touched, -1))
        for name in ("pid", "dev", "ino"):
            has_read &= by_thread[name].take(other) == by_thread[name]
        apart = by_thread["index"].take(other).view(np.int64) - by_thread["index"].view(np.int64)
        near |= has_read & (np.abs(apart) < SQUASHFS_LARGEST_BLOCK // page_size)
    back = np.empty(len(pid), bool)
    back[order] = near & insert
    return back


def _may_hold(dev: int, disks: Collection[int]) -> Iterator[int]:
    """Yield the disks that may hold a file system: itself, or the disk that it is a partition of.

    Up to 5.11 queued reads name the disk, not the partition (bio_dev, include/linux/bio.h).
    """
    for disk in disks:
        same = disk >> MINOR_BITS == dev >> MINOR_BITS and disk <= dev
        if same or dev >> MINOR_BITS == _EXTENDED:
            yield disk
