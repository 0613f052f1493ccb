"""From pages read to block requests: extents, and the limits of the device (block/blk-merge.c)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from emulator.linux.operations import Outcome

SECTOR = 512
# Where a file is on its device, in 512-byte sectors: ``at`` in the file, ``sector`` on the
# device. ``read`` is 0 for extents that were never written (FIEMAP_EXTENT_UNWRITTEN).
EXTENT = np.dtype(
    [("file", "u4"), ("at", "u8"), ("sector", "u8"), ("sectors", "u8"), ("read", "u1")]
)


@dataclass(frozen=True)
class Limits:
    """Limits of a request: max_sectors_kb, max_segments (0: none), in KiB and segments."""

    max_sectors_kb: int
    max_segments: int = 0


@dataclass(frozen=True)
class Piece:
    """Sectors that one bio reads; ``folios`` is how many folios they are in."""

    sector: int
    sectors: int
    folios: int


class Layout:
    """Where files are. A file without extents is taken to be in one piece."""

    def __init__(self, extents: npt.NDArray[np.void]) -> None:
        self._by_file: dict[int, list[tuple[int, int, int, int]]] = {}
        for file, *extent in np.sort(extents, order=["file", "at"]).tolist():
            self._by_file.setdefault(file, []).append(tuple(extent))

    def pieces(self, file: int, first: int, behind: int) -> Iterator[tuple[int, int]]:
        """Yield (sector on the device, sectors) of what is read of a range of the file."""
        extents = self._by_file.get(file)
        if extents is None:
            yield (file << 40) + first, behind - first
            return
        row = max(bisect_right(extents, first, key=lambda extent: extent[0]) - 1, 0)
        for at, sector, sectors, read in extents[row:]:
            if at >= behind:
                break
            low, high = max(at, first), min(at + sectors, behind)
            if low < high and read:
                yield sector + low - at, high - low


def requests(
    outcome: Outcome, layout: Layout, limits: Limits, page_size: int
) -> list[tuple[int, int, int]]:
    """Return the requests (file, first sector, sectors), in order.

    A bio ends where the next block of the file is not the next one of the device; a plug holds
    the bios of one ->readahead call, so that nothing is merged across two. Pages of a folio are
    one segment, different folios are taken to lie apart in memory.
    """
    found: list[tuple[int, int, int]] = []
    for run in _runs(outcome):
        file = run[0][0]
        for piece in _bios(run, layout, page_size):
            found += [(file, *part) for part in _split(piece, limits)]
    return found


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
    run: list[tuple[int, int, int, int]], layout: Layout, page_size: int
) -> Iterator[Piece]:
    """Yield the bios of one call (ext4_mpage_readpages, iomap_readahead)."""
    unit = page_size // SECTOR
    bio: Piece | None = None
    for file, index, order, _ in run:
        behind = index + (1 << order)
        for sector, sectors in layout.pieces(file, index * unit, behind * unit):
            if bio is not None and bio.sector + bio.sectors == sector:
                bio = Piece(bio.sector, bio.sectors + sectors, bio.folios + 1)
                continue
            if bio is not None:
                yield bio
            bio = Piece(sector, sectors, 1)
    if bio is not None:
        yield bio


def _split(bio: Piece, limits: Limits) -> Iterator[tuple[int, int]]:
    """Yield the requests of one bio (bio_split_rw)."""
    most = limits.max_sectors_kb * 1024 // SECTOR
    for sector in range(bio.sector, bio.sector + bio.sectors, most):
        yield sector, min(most, bio.sector + bio.sectors - sector)
