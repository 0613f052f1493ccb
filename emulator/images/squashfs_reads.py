"""The reads of a squashfs image's device that a sequence of touches causes.

The page cache is not modelled here: a block is touched when the page cache lacks it. Metadata and
fragments are in squashfs's own caches, where the next block replaces the oldest one, even if that
was used again (squashfs_cache_get, fs/squashfs/cache.c).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from foreread.emulator.images.reads import READ, TOUCH, ReadOf, Touched
from foreread.emulator.images.source import ImageError
from foreread.emulator.images.squashfs import SquashfsImage
from foreread.emulator.images.squashfs_metadata import HEADER
from foreread.emulator.images.squashfs_rules import LIST_PART, METADATA_KEPT, SquashfsRules

_ENTRY = 4  # bytes in the list of a file's blocks


def squashfs_reads(
    image: SquashfsImage,
    touches: npt.NDArray[np.void],
    rules: SquashfsRules,
    known_names: Collection[int] = (),
    cached: Sequence[int] | None = None,
) -> npt.NDArray[np.void]:
    """Return the reads (READ) that follow from touches (TOUCH) with empty caches.

    A name is looked up with all directories above it, each once. ``known`` are rows of names that
    are in memory before, because processes use them. ``cached`` are rows of metadata in squashfs's
    cache before, the oldest first, negative for others; None: the image was just mounted. Raises
    ImageError for touches of rows that the image does not have.
    """
    _check(image, touches)
    reader = _Reader(image, rules, known_names)
    if cached is None:
        reader.mount()
    for row in cached or ():
        reader.metadata.get(row)
    columns = (touches[name].tolist() for name in ("kind", "row", "number"))
    for touch, (kind, row, number) in enumerate(zip(*columns, strict=True)):
        reader.touch = touch
        if kind == Touched.BLOCK:
            reader.read_block(row, number)
        elif kind == Touched.NAME:
            reader.look_up(row)
        else:
            reader.get_metadata(reader.part_of_lookup(kind, row))
    return np.array(reader.reads, READ)


def before_a_start(image: SquashfsImage) -> list[int]:
    """Return the metadata in squashfs's cache before a start, the oldest first.

    Every lookup of an inode needs the table of owners, and some lookups the listing of the root:
    both are among the blocks that were read last. Their ages are assumed to be the mean.
    """
    if not len(image.metadata):
        return []
    of_root = np.flatnonzero((image.names["parent"] == 0) & (image.names["lookups"] > 0))
    listing = [int(image.gets[image.names["first"][row]]) for row in of_root[:1]]
    hot = [*listing, len(image.metadata) - 1]
    other_count = METADATA_KEPT - len(hot)
    first = other_count // 2
    return [*range(-1, -1 - first, -1), *hot, *range(-1 - first, -1 - other_count, -1)]


def _check(image: SquashfsImage, touches: npt.NDArray[np.void]) -> None:
    """Raise ImageError for touches of rows or blocks that the image does not have."""
    if touches.dtype != TOUCH or touches.ndim != 1:
        raise ImageError("touches: expected a one-dimensional array of TOUCH", "pass one")
    names = touches["kind"] != Touched.BLOCK
    files = touches[~names]
    if (touches["row"][names] >= len(image.names)).any() or (
        files["row"] >= len(image.files)
    ).any():
        raise ImageError("a touch of a name or a file that the image does not have", "pass rows")
    sizes = image.files["size"][files["row"]]
    if (files["number"].astype(np.uint64) * np.uint64(image.block_size) >= sizes).any():
        raise ImageError("a touch of a block that is not in its file", "pass numbers of blocks")


@dataclass(eq=False)
class _Oldest:
    """A cache of a few rows; the oldest row is replaced first."""

    entries: int
    held: set[int] = field(default_factory=set)
    order: deque[int] = field(default_factory=deque)

    def get(self, row: int) -> bool:
        """Return whether the row was cached; afterwards it is."""
        if row in self.held:
            return True
        if len(self.order) == self.entries:
            self.held.discard(self.order.popleft())
        self.held.add(row)
        self.order.append(row)
        return False


class _Reader:
    """The state of a mounted image, in plain numbers."""

    def __init__(
        self, image: SquashfsImage, rules: SquashfsRules, known_names: Collection[int]
    ) -> None:
        self.rules, self.index_tables = rules, image.superblock.index_tables
        self.metadata = _Oldest(rules.metadata_kept)
        self.fragments = _Oldest(rules.fragments_kept)
        self.kept: set[int] = set()  # device blocks
        self.reads: list[tuple[int, int, int, int, int]] = []
        self.touch = 0
        self.known = {0, *known_names}  # names; the root is read when the image is mounted
        self.parts: dict[int, int] = {}  # by file: up to where the list of its blocks is indexed
        self.names = [image.names[name].tolist() for name in ("parent", "first", "gets")]
        self.lookups = image.names["lookups"].tolist()
        self.gets: list[int] = image.gets.tolist()
        self.places = [image.metadata[name].tolist() for name in ("at", "end")]
        columns = ("first", "blocks", "fragment", "list_at", "list_offset")
        self.files = list(zip(*(image.files[name].tolist() for name in columns), strict=True))
        self.blocks = [image.blocks[name].tolist() for name in ("at", "length")]
        self.tails = [image.fragments[name].tolist() for name in ("at", "length")]
        unpacked = image.metadata["unpacked"].astype(np.int64)
        self.ends = np.cumsum(unpacked)
        self.begins = (self.ends - unpacked).tolist()

    def mount(self) -> None:
        """Read the places of the tables and the root's inode, as mounting does."""
        if self.rules.keeps_parts:
            for at, length in self.index_tables:
                self.read(ReadOf.METADATA, 0, at, length)
        self.get_metadata(self.gets[: self.names[2][0]] if self.names[2] else ())
        self.reads.clear()

    def look_up(self, name: int) -> None:
        """Look up a name, and the directories above it that are not known yet."""
        parents, firsts, counts = self.names
        path = []
        while name not in self.known:
            self.known.add(name)
            path.append(name)
            name = max(parents[name], 0)
        for row in reversed(path):
            self.get_metadata(self.gets[firsts[row] : firsts[row] + counts[row]])

    def part_of_lookup(self, kind: int, name: int) -> Sequence[int]:
        """Return the metadata of a touch that is only a part of a name's lookup."""
        first, count = self.names[1][name], self.names[2][name]
        inode = first + self.lookups[name]
        match kind:
            case Touched.SEARCH:
                return self.gets[first:inode]
            case Touched.ENTRY:
                return self.gets[max(inode - 1, first) : inode]
        return self.gets[inode : first + count]

    def read_block(self, file: int, number: int) -> None:
        """Read a block of a file, or the fragment with its end."""
        first, blocks, fragment, *_ = self.files[file]
        if number >= blocks:
            if not self.fragments.get(fragment):
                at, length = self.tails
                self.read(ReadOf.FRAGMENT, fragment, at[fragment], length[fragment])
            return
        self.get_metadata(self.list_rows(file, number))
        row = first + number
        at, length = self.blocks[0][row], self.blocks[1][row]
        if length:
            self.read(ReadOf.DATA, row, at, length)

    def list_rows(self, file: int, number: int) -> Iterable[int]:
        """Return the metadata with the entries of a list up to a block.

        The kernel stores its position every LIST_PART entries (fill_meta_index).
        """
        *_, list_at, offset = self.files[file]
        part = number // LIST_PART
        begin = min(self.parts.get(file, 0), part) * LIST_PART
        self.parts[file] = max(self.parts.get(file, 0), part)
        base = self.begins[list_at] + offset
        bounds = np.array([base + begin * _ENTRY, base + (number + 1) * _ENTRY - 1])
        low, high = np.searchsorted(self.ends, bounds, "right").tolist()
        return range(low, min(high, len(self.begins) - 1) + 1)

    def get_metadata(self, rows: Iterable[int]) -> None:
        """Get blocks from the cache, or read them: the header first, for the length."""
        at, end = self.places
        for row in rows:
            if not self.metadata.get(row):
                self.read(ReadOf.HEADER, row, at[row], HEADER)
                self.read(ReadOf.METADATA, row, at[row] + HEADER, end[row] - at[row] - HEADER)

    def read(self, kind: ReadOf, row: int, at: int, length: int) -> None:
        """Read bytes in whole device blocks, except for kept blocks (squashfs_bio_read)."""
        unit, kept = self.rules.device_block, self.kept
        first, stop = at // unit, -(-(at + length) // unit)
        for low, high in _missing(first, stop, kept):
            self.reads.append((kind, self.touch, row, low * unit, (high - low) * unit))
        if self.rules.buffered:
            kept.update(range(first, stop))
        elif self.rules.keeps_parts and kind != ReadOf.DATA:
            if at % unit:
                kept.add(first)
            if (at + length) % unit and (stop - first > 1 or not at % unit):
                kept.add(stop - 1)


def _missing(first: int, stop: int, kept: set[int]) -> Iterator[tuple[int, int]]:
    """Yield the runs of device blocks that are not kept."""
    low = first
    for block in range(first, stop):
        if block in kept:
            if low < block:
                yield low, block
            low = block + 1
    if low < stop:
        yield low, stop
