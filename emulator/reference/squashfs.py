"""Reading squashfs, plain and slow, with the kernel's own functions by their names.

This module works with bytes and positions where images/squashfs_reads.py works with rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from foreread.emulator.images.reads import READ, ReadOf, Touched
from foreread.emulator.images.squashfs import SquashfsImage
from foreread.emulator.images.squashfs_rules import LIST_PART, SquashfsRules


@dataclass
class Entry:
    """An unused entry of a cache: struct squashfs_cache_entry without its users."""

    block: int = -1


@dataclass
class Cache:
    """struct squashfs_cache: ``next_blk`` is the entry that the next block replaces."""

    entries: list[Entry]
    next_blk: int = 0

    def get(self, block: int) -> bool:
        """squashfs_cache_get: return whether the block was cached."""
        for entry in self.entries:
            if entry.block == block:
                return True
        self.entries[self.next_blk].block = block
        self.next_blk = (self.next_blk + 1) % len(self.entries)
        return False


@dataclass
class Mount:
    """struct squashfs_sb_info, the page cache of its device, and what was read so far."""

    image: SquashfsImage
    rules: SquashfsRules
    block_cache: Cache = field(init=False)
    fragment_cache: Cache = field(init=False)
    cache_mapping: set[int] = field(default_factory=set)
    dentries: set[int] = field(default_factory=set)
    meta_index: dict[int, int] = field(default_factory=dict)
    reads: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    touch: int = 0

    def __post_init__(self) -> None:
        self.block_cache = Cache([Entry() for _ in range(self.rules.metadata_kept)])
        self.fragment_cache = Cache([Entry() for _ in range(self.rules.fragments_kept)])

    def lookup(self, name: int) -> None:
        """squashfs_lookup and squashfs_read_inode, of a path from the root on."""
        if name < 0 or name in self.dentries:
            return
        row = self.image.names[name]
        self.lookup(int(row["parent"]))
        self.dentries.add(name)
        for get in self.image.gets[int(row["first"]) : int(row["first"]) + int(row["gets"])]:
            self.read_metadata_block(int(self.image.metadata["at"][get]))

    def part(self, kind: int, name: int) -> None:
        """A part of squashfs_lookup: the listing without the inode, its last block, or an inode."""
        row = self.image.names[name]
        gets = self.image.gets[int(row["first"]) :][: int(row["gets"])].tolist()
        lookup, inode = gets[: int(row["lookups"])], gets[int(row["lookups"]) :]
        if kind == Touched.ENTRY:
            lookup = lookup[-1:]
        for get in inode if kind == Touched.INODE else lookup:
            self.read_metadata_block(int(self.image.metadata["at"][get]))

    def read_metadata_block(self, at: int) -> None:
        """squashfs_cache_get of a metadata block, with squashfs_read_data to fill it."""
        if self.block_cache.get(at):
            return
        row = self.metadata_row(at)
        self.bio_read(ReadOf.HEADER, row, at, 2)
        self.bio_read(ReadOf.METADATA, row, at + 2, int(self.image.metadata["end"][row]) - at - 2)

    def metadata_row(self, at: int) -> int:
        """Return the row of the metadata block at a position."""
        return int(np.flatnonzero(self.image.metadata["at"] == at)[0])

    def read_metadata(self, at: int, offset: int, length: int) -> None:
        """squashfs_read_metadata: bytes from an offset of the block at a position on."""
        while length:
            row = self.metadata_row(at)
            unpacked = int(self.image.metadata["unpacked"][row])
            if offset >= unpacked:
                at, offset = int(self.image.metadata["end"][row]), offset - unpacked
                continue
            self.read_metadata_block(at)
            length_here = min(length, unpacked - offset)
            offset, length = offset + length_here, length - length_here

    def read_blocklist(self, file: int, index: int) -> tuple[int, int]:
        """read_blocklist, fill_meta_index: return position and length of a block."""
        row = self.image.files[file]
        part = index // LIST_PART
        known_part = min(self.meta_index.get(file, 0), part)
        entry = known_part * LIST_PART
        at = int(self.image.metadata["at"][int(row["list_at"])])
        self.read_metadata(at, int(row["list_offset"]) + 4 * entry, 4 * (index + 1 - entry))
        self.meta_index[file] = max(self.meta_index.get(file, 0), part)
        block = self.image.blocks[int(row["first"]) + index]
        return int(block["at"]), int(block["length"])

    def readpage(self, file: int, index: int) -> None:
        """squashfs_read_folio and squashfs_readahead, of one block that the page cache lacks."""
        row = self.image.files[file]
        file_end = int(row["size"]) // self.image.block_size
        if index < file_end or row["fragment"] < 0:
            at, length = self.read_blocklist(file, index)
            if length:
                self.bio_read(ReadOf.DATA, int(row["first"]) + index, at, length)
            return
        fragment = self.image.fragments[int(row["fragment"])]
        if not self.fragment_cache.get(int(fragment["at"])):
            at, length = int(fragment["at"]), int(fragment["length"])
            self.bio_read(ReadOf.FRAGMENT, int(row["fragment"]), at, length)

    def bio_read(self, kind: ReadOf, row: int, index: int, length: int) -> None:
        """squashfs_bio_read, squashfs_bio_read_cached: device block by device block."""
        unit = self.rules.device_block
        keeps_parts = self.rules.keeps_parts and kind != ReadOf.DATA
        read_start, read_end = index // unit * unit, -(-(index + length) // unit) * unit
        run: list[int] = []
        added = []
        for at in range(read_start, read_end, unit):
            if at in self.cache_mapping:
                self.submit(kind, row, run)
                run = []
                continue
            run.append(at)
            head = at == read_start and index != read_start
            tail = not head and at + unit == read_end and index + length != read_end
            if self.rules.buffered or (keeps_parts and (head or tail)):
                added.append(at)
        self.submit(kind, row, run)
        self.cache_mapping.update(added)

    def submit(self, kind: ReadOf, row: int, run: list[int]) -> None:
        """submit_bio, of device blocks in a row."""
        if run:
            length = len(run) * self.rules.device_block
            self.reads.append((kind, self.touch, row, run[0], length))


def squashfs_reads_reference(
    image: SquashfsImage,
    touches: npt.NDArray[np.void],
    rules: SquashfsRules,
    known_names: Collection[int] = (),
    cached: Sequence[int] | None = None,
) -> npt.NDArray[np.void]:
    """Return the reads (READ) that follow from touches (TOUCH), as ``squashfs_reads`` does."""
    mount = Mount(image, rules)
    if cached is None:
        for at, length in image.superblock.index_tables if rules.keeps_parts else ():
            mount.bio_read(ReadOf.METADATA, 0, at, length)
        mount.lookup(0)  # squashfs_fill_super
        mount.reads.clear()
    for row in cached or ():  # -1 is an entry without a block
        mount.block_cache.get(int(image.metadata["at"][row]) if row >= 0 else row - 1)
    mount.dentries |= {0, *known_names}
    for mount.touch, (kind, row, number) in enumerate(_rows(touches)):
        match kind:
            case Touched.NAME:
                mount.lookup(row)
            case Touched.BLOCK:
                mount.readpage(row, number)
            case _:
                mount.part(kind, row)
    return np.array(mount.reads, READ)


def _rows(touches: npt.NDArray[np.void]) -> Iterator[tuple[int, int, int]]:
    for touch in touches:
        yield int(touch["kind"]), int(touch["row"]), int(touch["number"])
