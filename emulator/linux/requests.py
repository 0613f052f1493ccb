"""From pages read to block requests: extents, and the limits of the device (block/blk-merge.c)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from foreread.emulator.devices.stateful import FILE_BITS
from foreread.emulator.linux.operations import Outcome, Program

SECTOR = 512
BIO_FOLIOS = 256  # BIO_MAX_VECS (include/linux/bio.h): a bio holds no more
_SAFE_KB, _SAFE_SECTORS = 127, 255
# Where a file is on its device, in 512-byte sectors: ``at`` in the file, ``sector`` on the device.
# ``read`` is 0 for extents that were never written (FIEMAP_EXTENT_UNWRITTEN). Each extent of a file
# in compressed blocks is a block: ``sectors`` is its compressed size.
EXTENT = np.dtype(
    [("file", "u4"), ("at", "u8"), ("sector", "u8"), ("sectors", "u8"), ("read", "u1")],
    align=True,
)


@dataclass(frozen=True)
class Limits:
    """The limits of a disk's queue, as in /sys/block/DISK/queue.

    A request is no longer than ``max_sectors_kb`` and has at most ``max_segments`` of
    ``max_segment_size`` (bytes) each. A thread that submits more requests than ``nr_requests``
    waits until the queue has room for the last one (blk_mq_get_tag, block/blk-mq-tag.c); so does a
    thread with more than ``nr_writes`` writes (wbt_wait, block/blk-wbt.c). Requests beyond
    ``nr_driver_tags`` wait in the scheduler, and a kernel worker passes them to the driver.
    """

    max_sectors_kb: int
    max_segments: int = 1 << 16
    max_segment_size: int = 1 << 30
    nr_requests: int = 1 << 20
    nr_writes: int = 1 << 20
    nr_driver_tags: int = 1 << 20

    @property
    def max_sectors(self) -> int:
        """The longest request, in sectors.

        sysfs rounds down: 127 KiB are the 255 sectors of BLK_SAFE_MAX_SECTORS, the limit of a
        driver that sets none (include/linux/blkdev.h).
        """
        return _SAFE_SECTORS if self.max_sectors_kb == _SAFE_KB else self.max_sectors_kb * 2

    def block_sectors(self, page_size: int) -> int:
        """Return the longest request of a squashfs block, in sectors.

        Each page of its bio is a segment (squashfs_bio_read, fs/squashfs/block.c): pages that are
        adjacent in memory, and make one segment, are rare.
        """
        unit, most = page_size // SECTOR, self.max_sectors
        return self.max_segments * unit if self.max_segments < most // unit else most


@dataclass(slots=True)
class Bio:
    """The read of one bio: from ``sector`` on; ``folios`` are lengths in sectors."""

    sector: int
    folios: list[int]

    @property
    def end(self) -> int:
        """Return the sector after it."""
        return self.sector + sum(self.folios)


def in_order(extents: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Return extents in order of file and place; a table that is in order stays as it is."""
    if extents.dtype != EXTENT or extents.ndim != 1:
        return extents
    file, at = extents["file"], extents["at"]
    rising = (file[1:] > file[:-1]) | ((file[1:] == file[:-1]) & (at[1:] > at[:-1]))
    return extents if rising.all() else np.sort(extents, order=["file", "at"])


class Layout:
    """The places of files: sorted ``extents`` (EXTENT). A file without extents is contiguous."""

    def __init__(self, extents: npt.NDArray[np.void]) -> None:
        self.extents = in_order(extents)
        self._by_file: dict[int, list[tuple[int, int, int, int]]] = {}
        for file, *extent in self.extents.tolist():
            self._by_file.setdefault(file, []).append(tuple(extent))

    def is_known(self, file: int) -> bool:
        """Return whether anything is known of where a file is."""
        return file in self._by_file

    def block(self, file: int, at: int) -> tuple[int, int] | None:
        """Return (sector on the device, sectors) of the compressed block that begins at ``at``."""
        extents = self._by_file.get(file, [])
        row = bisect_right(extents, at, key=lambda extent: extent[0]) - 1
        if row < 0 or extents[row][0] != at or not extents[row][3]:
            return None
        return extents[row][1], extents[row][2]

    def pieces(self, file: int, first: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """Yield (sector in the file, on the device, sectors) of the reads of a range."""
        extents = self._by_file.get(file)
        if extents is None:
            yield first, (file << FILE_BITS) + first, stop - first
            return
        row = max(bisect_right(extents, first, key=lambda extent: extent[0]) - 1, 0)
        for at, sector, sectors, read in extents[row:]:
            if at >= stop:
                break
            low, high = max(at, first), min(at + sectors, stop)
            if low < high and read:
                yield low, sector + low - at, high - low


def requests(
    outcome: Outcome,
    layout: Layout,
    limits: Limits,
    page_size: int,
    joined: Sequence[bool] | None = None,
) -> list[tuple[int, int, int, int]]:
    """Return the requests (file, first sector, sectors, bios), in order.

    A bio ends where the next block of the file is not the next one of the device, and at BIO_FOLIOS
    folios. A plug merges the bios of one ->readahead call, but not those of two. ``bios`` counts as
    a limiter does: each part of a bio that is split for the device is submitted again. A folio is a
    segment, unless ``joined`` marks its insert as adjacent in memory to the one before: that is
    random, and matters only above max_segments folios. Without it no folios are adjacent.
    """
    sent: list[tuple[int, int, int, int]] = []
    at = 0
    for run in _runs(outcome):
        file, _, _, number = run[0]
        together = joined[at : at + len(run)] if joined else [False] * len(run)
        at += len(run)
        if number in outcome.empty:
            continue
        for bio in _bios(run, together, layout, page_size):
            sent += [(file, *part) for part in _split(bio, limits)]
    return sent


def count(
    outcome: Outcome, program: Program, layout: Layout, limits: Limits, page_size: int
) -> tuple[list[int], list[int]]:
    """Return requests and pages read from the device, by file.

    A compressed block is read by itself; one without a place in a file that has some is in the file
    system's cache (a fragment). Pages after the end of such a file are not counted.
    """
    sent, pages = [0] * len(program.files), [0] * len(program.files)
    for file, *_ in requests(outcome, layout, limits, page_size):
        sent[file] += 1
    unit = page_size // SECTOR
    for file, index, order, run_number in outcome.inserts:
        if run_number in outcome.empty:
            continue
        for page in range(index, index + (1 << order)):
            pages[file] += any(layout.pieces(file, page * unit, (page + 1) * unit))
    in_blocks = {row for row, block in enumerate(program.files["block_pages"]) if block}
    sent = [0 if row in in_blocks else n for row, n in enumerate(sent)]
    pages = [0 if row in in_blocks else n for row, n in enumerate(pages)]
    for run in _runs(outcome):
        file = run[0][0]
        if file in in_blocks:
            last = -(-int(program.files["size"][file]) // page_size) - 1
            block = int(program.files["block_pages"][file])
            within = [index for _, index, _, _ in run if index <= last]
            pages[file] += len(within)
            for number in _numbers(within, block):
                place = layout.block(file, number * block * unit)
                if place:
                    sent[file] += len(block_parts(place[1], block * unit, limits, page_size))
                elif not layout.is_known(file):
                    sent[file] += 1
    return sent, pages


def _numbers(pages: Sequence[int], block: int) -> range:
    """Return the numbers of the blocks that a ->readahead call with these pages reads."""
    return range(min(pages) // block, max(pages) // block + 1) if pages else range(0)


def block_parts(sectors: int, block_sectors: int, limits: Limits, page_size: int) -> list[int]:
    """Return the sectors of each request for a compressed block of ``sectors``.

    A block that does not shrink is stored as it is and may exceed the longest request. The
    number of parts is limited by the uncompressed size, whatever a capture says.
    """
    most = limits.block_sectors(page_size)
    number = max(min(-(-sectors // most), block_sectors // most + 1), 1)
    return [*[most] * (number - 1), sectors - most * (number - 1)]


def _runs(outcome: Outcome) -> Iterator[list[tuple[int, int, int, int]]]:
    """Yield the inserts of each ->readahead call."""
    run: list[tuple[int, int, int, int]] = []
    for insert in outcome.inserts:
        if run and run[-1][3] != insert[3]:
            yield run
            run = []
        run.append(insert)
    if run:
        yield run


def _bios(
    run: list[tuple[int, int, int, int]], joined: Sequence[bool], layout: Layout, page_size: int
) -> Iterator[Bio]:
    """Yield the bios of one call (ext4_mpage_readpages, iomap_readahead)."""
    unit = page_size // SECTOR
    bio: Bio | None = None
    end = -1
    for (file, index, order, _), follows in zip(run, joined, strict=True):
        stop = index + (1 << order)
        for _, sector, sectors in layout.pieces(file, index * unit, stop * unit):
            if bio is not None and end == sector:
                if follows:
                    bio.folios[-1] += sectors
                else:
                    bio.folios.append(sectors)
            else:
                if bio is not None:
                    yield bio
                bio = Bio(sector, [sectors])
            end = sector + sectors
    if bio is not None:
        yield bio


def _split(bio: Bio, limits: Limits) -> Iterator[tuple[int, int, int]]:
    """Yield (sector, sectors, bios) of the requests of one run of sectors (bio_split_rw)."""
    most = limits.max_sectors
    longest = limits.max_segment_size // SECTOR
    start, sectors, segments, bios = bio.sector, 0, 0, 1
    for row, folio in enumerate(bio.folios):
        left = folio
        while left:
            part = min(left, longest, most - sectors)
            if not part or segments == limits.max_segments:
                yield start, sectors, bios
                start, sectors, segments, bios = start + sectors, 0, 0, 1
                continue
            bios += left == folio and sectors > 0 and row % BIO_FOLIOS == 0
            left, sectors, segments = left - part, sectors + part, segments + 1
    yield start, sectors, bios
