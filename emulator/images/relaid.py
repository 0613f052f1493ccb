"""The data of a squashfs image in another order, block size or compressor, as mksquashfs packs it.

The files' contents decide the sizes; only blocks with requested sizes are compressed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from foreread.emulator.images.compressors import Compressor, packed_size
from foreread.emulator.images.squashfs import BLOCK, FILE, SquashfsImage

# The unpacked bytes of a file (row of the image's files), from one position to another.
Read = Callable[[int, int, int], bytes]
BLOCK_SIZES = tuple(1 << log for log in range(14, 21))


@dataclass(frozen=True, eq=False)
class Plan:
    """The place where mksquashfs puts each file: its own blocks, or a part of a fragment.

    ``own`` (by row of the files) is the number of blocks of a file; ``fragment`` the number of the
    fragment with a file that is smaller than a block, else -1; ``offset`` its place in the
    fragment; ``same`` the row of an earlier file with the same contents, else the file's own.
    """

    block_size: int
    order: npt.NDArray[np.int64]
    own: npt.NDArray[np.int64]
    fragment: npt.NDArray[np.int64]
    offset: npt.NDArray[np.int64]
    same: npt.NDArray[np.int64]

    def in_fragment(self, number: int) -> list[int]:
        """Return the files in a fragment, by their places."""
        rows = np.flatnonzero((self.fragment == number) & (self.same == np.arange(len(self.same))))
        files: list[int] = rows[np.argsort(self.offset[rows], kind="stable")].tolist()
        return files


def plan(
    sizes: npt.NDArray[np.int64],
    order: Sequence[int],
    block_size: int,
    same: npt.NDArray[np.int64] | None = None,
    *,
    fragmented: bool = True,
) -> Plan:
    """Return the places of files of these sizes, packed in an order (rows of all files).

    A file smaller than a block goes into the current fragment, or into the next one if it does not
    fit; all other files have their own blocks (mksquashfs without -tailends). Without
    ``fragmented`` all have (-no-fragments).
    """
    same = np.arange(len(sizes)) if same is None else same
    small = (sizes > 0) & (sizes < block_size) & fragmented
    fragment = np.full(len(sizes), -1, np.int64)
    offset = np.zeros(len(sizes), np.int64)
    number, filled = 0, 0
    for row in order:
        if not small[row] or same[row] != row:
            continue
        size = int(sizes[row])
        if filled + size > block_size:
            number, filled = number + 1, 0
        fragment[row], offset[row] = number, filled
        filled += size
    fragment, offset = fragment[same], offset[same]
    own = np.where(small, 0, -(-sizes // block_size))
    return Plan(block_size, np.array(order, np.int64), own, fragment, offset, same)


def duplicates(
    sizes: npt.NDArray[np.int64], order: Sequence[int], read: Read
) -> npt.NDArray[np.int64]:
    """Return for each file the first one in the order with the same contents.

    Only files of equal size are read.
    """
    same = np.arange(len(sizes))
    by_size: dict[int, list[int]] = {}
    for row in order:
        by_size.setdefault(int(sizes[row]), []).append(row)
    for size, rows in by_size.items():
        if len(rows) < 2 or not size:
            continue
        first: dict[bytes, int] = {}
        for row in rows:
            same[row] = first.setdefault(hashlib.sha256(read(row, 0, size)).digest(), row)
    return same


def relaid(
    image: SquashfsImage,
    planned: Plan,
    compressor: Compressor,
    read: Read,
    needed_blocks: Sequence[tuple[int, int]],
) -> SquashfsImage:
    """Return an image with the data of ``planned``, and the metadata of ``image``.

    ``needed_blocks`` are the blocks (row of the file, number) with sizes to compute; the others
    count with the mean ratio of these blocks. Files are stored in the plan's order, a fragment
    after the last file in it. The lists of blocks are assumed to begin where they do in ``image``.
    The present compressor keeps its level.
    """
    sizes = image.files["size"].astype(np.int64)
    level = image.superblock.level if compressor == image.superblock.compressor else None
    packed = _Packed(planned, compressor, level, read, sizes)
    for file, number in needed_blocks:
        packed.size(int(planned.same[file]), number)
    blocks, fragments, files = _placed(image, planned, packed)
    superblock = replace(
        image.superblock,
        block_size=planned.block_size,
        fragments=len(fragments),
        compressor=compressor,
        level=level,
    )
    return replace(image, superblock=superblock, files=files, blocks=blocks, fragments=fragments)


class _Packed:
    """The sizes of blocks; a block is compressed when its size is first requested."""

    def __init__(
        self,
        planned: Plan,
        compressor: Compressor,
        level: int | None,
        read: Read,
        sizes: npt.NDArray[np.int64],
    ) -> None:
        self.planned, self.read, self.sizes = planned, read, sizes
        self.compressor, self.level = compressor, level
        self.blocks: dict[tuple[int, int], int] = {}
        self.fragments: dict[int, int] = {}
        self.unpacked = self.packed = 0

    def size(self, file: int, number: int) -> None:
        """Compress a block of a file, or the fragment with it."""
        fragment = int(self.planned.fragment[file])
        if fragment >= 0:
            if fragment not in self.fragments:
                rows = self.planned.in_fragment(fragment)
                parts = (self.read(row, 0, int(self.sizes[row])) for row in rows)
                self.fragments[fragment] = self._compressed(b"".join(parts))
        elif (file, number) not in self.blocks:
            at, unit = number * self.planned.block_size, self.planned.block_size
            octets = self.read(file, at, min(at + unit, int(self.sizes[file])))
            whole = len(octets) == unit and not octets.strip(b"\0")
            self.blocks[file, number] = 0 if whole else self._compressed(octets)

    def _compressed(self, octets: bytes) -> int:
        size = packed_size(self.compressor, octets, self.planned.block_size, self.level)
        self.unpacked += len(octets)
        self.packed += size
        return size

    def estimated(self, size: int) -> int:
        """Return the size of a block that was not compressed."""
        return max(size * self.packed // self.unpacked, 1) if self.unpacked else size


def _placed(
    image: SquashfsImage, planned: Plan, packed: _Packed
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void], npt.NDArray[np.void]]:
    """Return the tables of blocks, fragments and files."""
    files = image.files.copy()
    blocks: list[tuple[int, int, int]] = []
    fragments: list[tuple[int, int, int]] = []
    first = np.zeros(len(files), np.int64)
    at, filled, pending = 96, 0, -1
    for row in planned.order.tolist():
        if planned.same[row] != row:
            continue
        fragment = int(planned.fragment[row])
        if fragment >= 0:
            if fragment != pending and pending >= 0:
                at = _add(fragments, at, packed.fragments.get(pending), packed.estimated(filled))
                filled = 0
            pending, filled = fragment, filled + int(packed.sizes[row])
            continue
        first[row] = len(blocks)
        for number in range(int(planned.own[row])):
            rest = int(packed.sizes[row]) - number * planned.block_size
            guess = packed.estimated(min(rest, planned.block_size))
            at = _add(blocks, at, packed.blocks.get((row, number)), guess)
    if pending >= 0:
        _add(fragments, at, packed.fragments.get(pending), packed.estimated(filled))
    files["first"] = first[planned.same]
    files["blocks"] = planned.own
    files["fragment"] = planned.fragment
    files["offset"] = planned.offset
    return np.array(blocks, BLOCK), np.array(fragments, BLOCK), files.astype(FILE)


def _add(rows: list[tuple[int, int, int]], at: int, packed_size: int | None, guess: int) -> int:
    """Append a block of ``packed_size`` or else ``guess`` bytes; return the next position."""
    length = guess if packed_size is None else packed_size
    rows.append((at, length, 0))
    return at + length
