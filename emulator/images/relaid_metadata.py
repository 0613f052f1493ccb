"""The metadata of a squashfs image with repacked data, as mksquashfs writes it.

With a sort file mksquashfs writes the inodes of files when it writes their data, before all others
(sort_files_and_write); without one all are in the order of the tree, a directory after its content.
A listing has a header for each run of names with inodes in one metadata block (add_dir), so that it
is longer where inodes are scattered. Compressed sizes are the present image's mean sizes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from foreread.emulator.images.squashfs import METADATA, SquashfsImage
from foreread.emulator.images.squashfs_metadata import METADATA_SIZE

_ENTRY = 4  # bytes in the list of a file's blocks
_FRAGMENTS_IN_BLOCK = METADATA_SIZE // 16
_BASE = 16  # bytes of every inode: struct squashfs_base_inode
_FILE, _DIRECTORY, _LONG_DIRECTORY = 32, 32, 40  # bytes of an inode; the last one has an index
_HEADER, _NAME, _INDEX = 12, 8, 12  # bytes: of a run of names, before a name, of a part's index
_MOST_IN_HEADER = 256
_SMALLEST = 3  # bytes of a compressed block

Rows = npt.NDArray[np.int64]


def with_metadata(
    image: SquashfsImage, relaid: SquashfsImage, order: Sequence[int] | None
) -> SquashfsImage:
    """Return ``relaid`` with the metadata that its files need; ``image`` is the present one.

    ``order`` are rows of the files in the order of a sort file; None: built without one.
    """
    if not len(image.metadata):
        return relaid
    tree = _Tree.of(image)
    writer = _Writer(image, relaid, tree)
    for name in tree.written(order):
        writer.write(name)
    return writer.image()


@dataclass(frozen=True, eq=False)
class _Tree:
    """The names of an image: ``children`` of each directory by row, sorted as in its listing.

    ``encoded`` are names without their path; ``first`` is the first row with the same inode;
    ``length`` the bytes of each row's inode in the image.
    """

    children: dict[int, list[int]]
    encoded: list[bytes]
    first: list[int]
    file: list[int]
    length: list[int]

    @classmethod
    def of(cls, image: SquashfsImage) -> _Tree:
        """Return the tree of an image; its table of inodes must have no gaps."""
        encoded = [b""] * len(image.names)
        for path, row in image.rows.items():
            encoded[row] = os.fsencode(path.rpartition("/")[2])
        children: dict[int, list[int]] = {}
        parents = image.names["parent"].tolist()
        for row in sorted(range(1, len(parents)), key=lambda row: encoded[row]):
            children.setdefault(parents[row], []).append(row)
        unpacked = image.metadata["unpacked"].astype(np.int64)
        begins = np.cumsum(unpacked) - unpacked
        places = begins[image.names["inode_at"]] + image.names["inode_offset"]
        at, first, which = np.unique(places, return_index=True, return_inverse=True)
        end = int(unpacked[: inode_rows(image)].sum())
        lengths = np.diff(at, append=max(end, int(at[-1]) + 1))[which.ravel()]
        file = image.names["file"].tolist()
        return cls(children, encoded, first[which.ravel()].tolist(), file, lengths.tolist())

    def written(self, order: Sequence[int] | None) -> Iterator[int]:
        """Yield the names with inodes to write, in that order; one name for each inode."""
        done: set[int] = set()
        of_file = {file: row for row, file in enumerate(self.file) if file >= 0}
        sorted_ = [of_file[file] for file in order or () if file in of_file]
        for row in (*sorted_, *self._after_contents()):
            if self.first[row] not in done:
                done.add(self.first[row])
                yield row

    def _after_contents(self) -> Iterator[int]:
        """Yield all names, a directory after its content."""
        waiting = [(0, iter(self.children.get(0, ())))]
        while waiting:
            row, rest = waiting[-1]
            child = next(rest, None)
            if child is None:
                waiting.pop()
                yield row
            else:
                waiting.append((child, iter(self.children.get(child, ()))))


@dataclass(eq=False)
class _Writer:
    """The growing tables; positions are in the unpacked tables.

    ``at`` is the place of each inode, by the first row with it. ``of_lookup`` are, by name, the
    rows of the inode table (the index of a large directory) and of the directory table that a
    lookup reads.
    """

    present: SquashfsImage
    relaid: SquashfsImage
    tree: _Tree
    inodes_end: int = 0
    listings_end: int = 0
    at: dict[int, int] = field(default_factory=dict)
    head: dict[int, int] = field(default_factory=dict)
    of_lookup: dict[int, tuple[range, range]] = field(default_factory=dict)

    def write(self, name: int) -> None:
        """Write an inode, after the listing if it is a directory."""
        tree, file = self.tree, self.tree.file[name]
        inode, length = tree.first[name], tree.length[name]
        head = length
        children = tree.children.get(name)
        if file >= 0:
            now = int(self.relaid.files["blocks"][file])
            head = self._file_head(file, length, now)
            length = head + now * _ENTRY
        elif children:
            listing = _Listing(self.listings_end, [self._listed(child) for child in children])
            head = _LONG_DIRECTORY if length >= _LONG_DIRECTORY else _DIRECTORY
            if head == _DIRECTORY:
                listing.parts.clear()
            length = head + sum(_INDEX + len(first) for first, _ in listing.parts)
            base = self.inodes_end + head
            for child in children:
                self.of_lookup[child] = listing.lookup(tree.encoded[child], base)
            self.listings_end = listing.end
        self.at[inode], self.head[inode] = self.inodes_end, head
        self.inodes_end += length

    def _file_head(self, file: int, length: int, blocks: int) -> int:
        """Return the bytes of an inode before its list of blocks; holes need a long inode."""
        row = self.present.files[file]
        first, was = int(row["first"]), int(row["blocks"])
        holes = not self.present.blocks["length"][first : first + was].all()
        if holes and not blocks and row["links"] == 1:
            return _FILE
        return length - was * _ENTRY

    def _listed(self, child: int) -> tuple[bytes, int]:
        return self.tree.encoded[child], self.at[self.tree.first[child]] // METADATA_SIZE

    def image(self) -> SquashfsImage:
        """Return the image."""
        metadata, counts = self._metadata()
        listings, fragments = counts[0], counts[0] + counts[1]
        names = self.present.names.copy()
        gets: list[int] = []
        firsts, numbers, lookups = [], [], []
        known_names = names["known"].tolist()
        for row in range(len(names)):
            blocks = list(self._lookup(row, listings))
            lookups.append(len(blocks))
            if not known_names[row]:
                blocks += self._inode(row, fragments, len(metadata) - 1)
            firsts.append(len(gets))
            numbers.append(len(blocks))
            gets += blocks
        names["first"], names["gets"], names["lookups"] = firsts, numbers, lookups
        place = np.array([self.at[first] for first in self.tree.first], np.int64)
        names["inode_at"], names["inode_offset"] = np.divmod(place, METADATA_SIZE)
        return replace(
            self.relaid,
            files=self._files(),
            metadata=metadata,
            names=names,
            gets=np.array(gets, np.uint32),
        )

    def _lookup(self, row: int, listings: int) -> Iterator[int]:
        """Yield the metadata that a lookup of a name reads."""
        if row not in self.of_lookup:
            return
        index, listing = self.of_lookup[row]
        yield from index
        yield from (listings + number for number in listing)

    def _inode(self, row: int, fragments: int, owners: int) -> Iterator[int]:
        """Yield the metadata read for an inode: begin, owner, the whole, the fragment's place."""
        first = self.tree.first[row]
        at, last = self.at[first], -1
        base = _blocks(at, _BASE)
        whole = _blocks(at, max(self.head[first], _BASE))
        blocks = [*base, owners, base[0], *whole]
        file = self.tree.file[row]
        fragment = int(self.relaid.files["fragment"][file]) if file >= 0 else -1
        if fragment >= 0:
            blocks.append(fragments + fragment // _FRAGMENTS_IN_BLOCK)
        for get in blocks:
            if get != last:
                yield get
            last = get

    def _metadata(self) -> tuple[npt.NDArray[np.void], tuple[int, int]]:
        """Return the METADATA table, and the numbers of its rows with inodes and listings."""
        old, first = self.present.metadata, inode_rows(self.present)
        of_fragments = -(-len(self.present.fragments) // _FRAGMENTS_IN_BLOCK)
        last = max(len(old) - 1 - of_fragments, first)
        fragments = len(self.relaid.fragments) * 16
        unpacked = [
            _filled(self.inodes_end),
            _filled(self.listings_end),
            _filled(fragments),
            np.array([int(old["unpacked"][-1])]),
        ]
        parts = (old[:first], old[first:last], old[last:-1], old[-1:])
        lengths = [
            np.maximum((size * _ratio(part)).astype(np.int64), _SMALLEST)
            for size, part in zip(unpacked, parts, strict=True)
        ]
        table = np.zeros(sum(map(len, unpacked)), METADATA)
        ends = int(old["at"][0]) + np.cumsum(np.concatenate(lengths))
        table["at"], table["end"] = ends - np.concatenate(lengths), ends
        table["unpacked"] = np.concatenate(unpacked)
        return table, (len(unpacked[0]), len(unpacked[1]))

    def _files(self) -> npt.NDArray[np.void]:
        """Return the files with the places of their lists."""
        files = self.relaid.files.copy()
        last = max(-(-self.inodes_end // METADATA_SIZE) - 1, 0)
        for row, file in enumerate(self.tree.file):
            first = self.tree.first[row]
            if file >= 0:
                block, offset = divmod(self.at[first] + self.head[first], METADATA_SIZE)
                files["list_at"][file], files["list_offset"][file] = min(block, last), offset
        return files


class _Listing:
    """The listing of a directory: the end of each name, and the parts of its index (add_dir).

    ``parts`` are the first name of each part except the first, and its position.
    """

    def __init__(self, begin: int, names: Sequence[tuple[bytes, int]]) -> None:
        """Lay out ``names``, each with the row of its inode, from position ``begin`` on."""
        self.begin = begin
        self.parts: list[tuple[bytes, int]] = []
        self.ends: dict[bytes, int] = {}
        position = begin
        part, count, inodes = begin, 0, -1
        for name, row in names:
            size = _NAME + len(name)
            is_long = position + size - part > METADATA_SIZE
            if count in (0, _MOST_IN_HEADER) or row != inodes or is_long:
                if is_long and count:
                    self.parts.append((name, position))
                    part = position
                position += _HEADER
                count, inodes = 0, row
            position += size
            count += 1
            self.ends[name] = position
        self.end = position

    def lookup(self, name: bytes, index_at: int) -> tuple[range, range]:
        """Return the rows of the index and of the listing that a lookup reads."""
        first, read = self.begin, 0
        for begins, position in self.parts:
            read += _INDEX + len(begins)
            if begins > name:
                break
            first = position
        return _blocks(index_at, read), _blocks(first, self.ends[name] - first)


def inode_rows(image: SquashfsImage) -> int:
    """Return the number of metadata rows that belong to the inode table."""
    return int(np.searchsorted(image.metadata["at"], image.superblock.directory_table))


def _blocks(at: int, length: int) -> range:
    """Return the blocks with bytes [at, at + length) of a table."""
    return range(at // METADATA_SIZE, -(-(at + length) // METADATA_SIZE)) if length else range(0)


def _filled(length: int) -> Rows:
    """Return the used bytes of each block of a table."""
    blocks = -(-length // METADATA_SIZE)
    filled = np.full(blocks, METADATA_SIZE, np.int64)
    if blocks:
        filled[-1] = length - (blocks - 1) * METADATA_SIZE
    return filled


def _ratio(rows: npt.NDArray[np.void]) -> float:
    """Return compressed bytes for each unpacked byte."""
    unpacked = int(rows["unpacked"].sum())
    return float((rows["end"] - rows["at"]).sum() / unpacked) if unpacked else 1.0
