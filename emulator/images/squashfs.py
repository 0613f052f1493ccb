"""A squashfs image as tables: its files, blocks, fragments, and the metadata that names them."""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from foreread.emulator.images.links import resolved
from foreread.emulator.images.source import Budget, ImageError, Octets, Source
from foreread.emulator.images.squashfs_inodes import (
    DIRECTORY,
    LINK,
    PACKED_BITS,
    REGULAR,
    Entry,
    Inode,
    read_directory,
    read_inode,
)
from foreread.emulator.images.squashfs_metadata import (
    NO_FRAGMENT,
    Metadata,
    Superblock,
    read_superblock,
)

# Limits of memory and time.
MOST_NAMES = 1_000_000
MOST_PATHS = 256 << 20  # bytes
MOST_GETS = 16 << 20
_LONGEST_PATH = 4095  # bytes: PATH_MAX without its NUL
_FRAGMENT = struct.Struct("<Q2I")
# Bytes of the image; length 0: a hole. ``stored``: not compressed.
BLOCK = np.dtype([("at", "u8"), ("length", "u4"), ("stored", "u1")], align=True)
# A regular file: rows [first, first + blocks) of the blocks, then the tail: bytes from ``offset``
# on of an unpacked fragment, -1 without one. ``list_at``: metadata row and offset of the list of
# its blocks, 4 bytes for each.
FILE = np.dtype(
    [
        ("inode", "u4"),
        ("links", "u4"),
        ("size", "u8"),
        ("first", "u8"),
        ("blocks", "u8"),
        ("fragment", "i8"),
        ("offset", "u4"),
        ("list_at", "u8"),
        ("list_offset", "u4"),
    ],
    align=True,
)
# A name: rows [first, first + gets) of the gets are ``lookups`` of its lookup, then of its inode;
# ``file``: row of the files, -1 for others; ``parent``: row of the names, -1 in the root.
# ``inode_at``, ``inode_offset``: metadata row of its inode, and the offset in there.
NAME = np.dtype(
    [
        ("parent", "i8"),
        ("file", "i8"),
        ("first", "u8"),
        ("gets", "u4"),
        ("lookups", "u4"),
        ("known", "u1"),
        ("inode_at", "u8"),
        ("inode_offset", "u4"),
    ],
    align=True,
)
# A metadata block with its header, ``unpacked`` bytes long.
METADATA = np.dtype([("at", "u8"), ("end", "u8"), ("unpacked", "u4")], align=True)


@dataclass(frozen=True, eq=False)
class SquashfsImage:
    """The tables of an image; ``rows`` maps a path, from "/" on, to its row of ``names``.

    ``links`` are the targets of symbolic links by path.

    ``gets`` (u4) are rows of ``metadata``, in the order in which the kernel requests them from its
    cache: for a name, the rows of the lookup in its directory, and of its inode (``known`` names
    are further names of an inode that the lookup of the first name has brought into memory).
    """

    superblock: Superblock
    files: npt.NDArray[np.void]
    blocks: npt.NDArray[np.void]
    fragments: npt.NDArray[np.void]
    metadata: npt.NDArray[np.void]
    names: npt.NDArray[np.void]
    gets: npt.NDArray[np.uint32]
    rows: dict[str, int]
    links: dict[str, str] = field(default_factory=dict)

    def resolved(self, path: str) -> str | None:
        """Return the path without symbolic links; None if the image does not have it."""
        return resolved(path, self.rows, self.links)

    @property
    def block_size(self) -> int:
        """The bytes of a full block, unpacked."""
        return self.superblock.block_size


def read_squashfs(octets: Octets) -> SquashfsImage:
    """Return the tables of an image. Raises ImageError for an unreadable image.

    Memory and time are bounded by the size of the image, MOST_NAMES and MOST_METADATA.
    """
    source = Source(octets)
    superblock = read_superblock(source)
    metadata = Metadata(source, superblock)
    tree = _Tree(metadata)
    tree.walk()
    fragments = np.array(list(_fragments(metadata)), BLOCK)
    return tree.image(fragments)


def _fragments(metadata: Metadata) -> Iterator[tuple[int, int, bool]]:
    """Yield the fragment table."""
    superblock = metadata.superblock
    metadata.data_blocks.spend(superblock.fragments)
    for row in range(superblock.fragments):
        at, offset = metadata.table(superblock.fragment_table, _FRAGMENT.size, row)
        start, size, _ = _FRAGMENT.unpack(metadata.reader(at, offset).read(_FRAGMENT.size))
        yield _block(superblock, start, size)


def _block(superblock: Superblock, at: int, size: int) -> tuple[int, int, bool]:
    """Return the checked row of a block."""
    length = size & PACKED_BITS
    if length > superblock.block_size or at + length > superblock.bytes_used:
        raise ImageError(f"damaged image: a block of {length:,} bytes at byte {at:,}")
    return at, length, size > PACKED_BITS


@dataclass(eq=False)
class _Tree:
    """The names and inodes read so far."""

    metadata: Metadata
    names: list[tuple[int, ...]] = field(default_factory=list)
    paths: dict[str, int] = field(default_factory=dict)
    gets: array[int] = field(default_factory=lambda: array("Q"))
    files: list[tuple[int, ...]] = field(default_factory=list)
    block_rows: list[tuple[int, int, bool]] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    seen: dict[int, int] = field(default_factory=dict)  # by inode number: row of its file, or -1
    names_left: Budget = field(default_factory=lambda: Budget(MOST_NAMES, "names"))
    paths_left: Budget = field(default_factory=lambda: Budget(MOST_PATHS, "bytes of paths"))
    gets_left: Budget = field(default_factory=lambda: Budget(MOST_GETS, "reads of metadata"))

    def walk(self) -> None:
        """Read all names, directory by directory. Each directory may have one name only."""
        root = read_inode(self.metadata, *self.metadata.superblock.root)
        if root.kind != DIRECTORY:
            raise ImageError("damaged image: the root is not a directory")
        self.seen[root.number] = -1
        self._add("/", -1, root, Entry(b"", self.metadata.superblock.root, DIRECTORY, ()), False)
        waiting = [("", 0, root)]
        while waiting:
            path, row, inode = waiting.pop()
            for entry in read_directory(self.metadata, inode):
                child = read_inode(self.metadata, *entry.inode)
                seen_before = child.number in self.seen
                if seen_before and child.kind == DIRECTORY:
                    raise ImageError("damaged image: a directory has two names")
                name = f"{path}/{os.fsdecode(entry.name)}"
                at = self._add(name, row, child, entry, seen_before)
                if child.kind == LINK:
                    self.links[name] = os.fsdecode(child.target)
                if child.kind == DIRECTORY:
                    waiting.append((name, at, child))

    def _add(self, path: str, parent: int, inode: Inode, entry: Entry, seen_before: bool) -> int:
        row = len(self.names)
        if len(path) > _LONGEST_PATH:
            raise ImageError("damaged image: a path is too long")
        self.names_left.spend(1)
        self.paths_left.spend(len(path))
        if not seen_before:
            self.seen[inode.number] = self._file(inode) if inode.kind == REGULAR else -1
        first = len(self.gets)
        self.gets.extend(entry.gets if seen_before else (*entry.gets, *inode.gets))
        count = len(self.gets) - first
        self.gets_left.spend(count)
        block, offset = entry.inode
        at = self.metadata.superblock.inode_table + block
        numbers = (first, count, len(entry.gets), seen_before, at, offset)
        self.names.append((parent, self.seen[inode.number], *numbers))
        self.paths[path] = row
        return row

    def _file(self, inode: Inode) -> int:
        superblock, at = self.metadata.superblock, inode.start
        first = len(self.block_rows)
        for size in inode.blocks:
            block = _block(superblock, at, size)
            self.block_rows.append(block)
            at += block[1]
        fragment = -1 if inode.fragment == NO_FRAGMENT else inode.fragment
        tail = inode.size % superblock.block_size
        if fragment >= 0 and inode.fragment_offset + tail > superblock.block_size:
            raise ImageError("damaged image: the end of a file is outside its fragment")
        places = (fragment, inode.fragment_offset, *inode.list_at)
        numbers = (inode.number, inode.links, inode.size, first, len(inode.blocks))
        self.files.append((*numbers, *places))
        return len(self.files) - 1

    def image(self, fragments: npt.NDArray[np.void]) -> SquashfsImage:
        """Return the tables of the tree."""
        blocks = sorted(self.metadata.blocks.values(), key=lambda block: block.at)
        rows = [(block.at, block.end, len(block.octets)) for block in blocks]
        metadata = np.array(rows, METADATA)
        files = np.array(self.files, FILE)
        # A list at the end of a chain of blocks was never read, and has no entry.
        places = np.searchsorted(metadata["at"], files["list_at"])
        files["list_at"] = np.minimum(places, max(len(metadata) - 1, 0))
        names = np.array(self.names, NAME)
        names["inode_at"] = np.searchsorted(metadata["at"], names["inode_at"])
        gets = np.searchsorted(metadata["at"], np.frombuffer(self.gets, np.uint64))
        return SquashfsImage(
            superblock=self.metadata.superblock,
            files=files,
            blocks=np.array(self.block_rows, BLOCK),
            fragments=fragments,
            metadata=metadata,
            names=names,
            gets=gets.astype(np.uint32),
            rows=self.paths,
            links=self.links,
        )
