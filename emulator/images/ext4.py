"""An image of ext2, ext3 or ext4 as tables: its names, and the places of files and metadata.

Layouts: fs/ext4/ext4.h (ext4_super_block, ext4_group_desc, ext4_inode, ext4_dir_entry_2) and
fs/ext4/ext4_extents.h.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from foreread.emulator.images.source import Budget, ImageError, Octets, Source

MOST_NAMES = 1_000_000
MOST_PIECES = 4_000_000
_SUPERBLOCK, _MAGIC, _EXTENT_MAGIC = 1024, 0xEF53, 0xF30A
_META_BG, _64BIT, _INLINE_DATA = 0x10, 0x80, 0x8000  # s_feature_incompat
_CHECKSUMS = 0x10 | 0x400  # s_feature_ro_compat: GDT_CSUM, METADATA_CSUM
_EXTENTS_FL, _INDEX_FL = 0x80000, 0x1000  # i_flags
_ROOT = 2
_DIRECT = 12
_DEEPEST = 5
_FAST_LINK = 60  # bytes: a shorter target is in the inode
_MOST_WRITTEN = 1 << 15
_TYPE, _FOLDER, _FILE, _LINK = 0o170000, 0o040000, 0o100000, 0o120000

Extent = tuple[int, int, int, bool]  # position in the file, on the device, length (bytes), written


@dataclass(frozen=True)
class Ext4Superblock:
    """The numbers of an image; sizes in bytes, places in blocks."""

    block_size: int
    blocks: int
    inodes: int
    descriptors: int
    descriptor: int
    per_group: int
    inode_size: int
    checksums: bool


@dataclass(frozen=True)
class Ext4Inode:
    """An inode: its block, and the part of the inode table that is read ahead with that block.

    ``table`` and ``until`` are the first and the last block (exclusive) of the group's table that
    are read ahead: ``until`` is the block of the last used inode, or the next block if all inodes
    of that block are used. ``tree`` are the blocks with its extents.
    """

    number: int
    mode: int
    size: int
    block: int
    table: int
    until: int
    extents: tuple[Extent, ...]
    tree: tuple[int, ...]
    target: str | None = None

    @property
    def is_file(self) -> bool:
        """Whether the inode is a regular file."""
        return self.mode & _TYPE == _FILE

    @property
    def is_folder(self) -> bool:
        """Whether the inode is a directory."""
        return self.mode & _TYPE == _FOLDER


@dataclass(frozen=True)
class Ext4Folder:
    """A directory: its blocks (block numbers), and the names in each."""

    blocks: tuple[int, ...]
    names: tuple[frozenset[bytes], ...]


@dataclass
class Ext4Image:
    """The tables of an image: inode numbers by path from "/" on, inodes, directories by path."""

    superblock: Ext4Superblock
    names: dict[str, int] = field(default_factory=dict)
    inodes: dict[int, Ext4Inode] = field(default_factory=dict)
    folders: dict[str, Ext4Folder] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)


def read_ext4(octets: Octets) -> Ext4Image:
    """Return the tables of an image. Raises ImageError for an unreadable image."""
    source = Source(octets)
    reader = _Reader(source, _superblock(source))
    reader.walk()
    return reader.image


def _superblock(source: Source) -> Ext4Superblock:
    raw = source.read(_SUPERBLOCK, 1024, "the superblock")
    if struct.unpack_from("<H", raw, 56)[0] != _MAGIC:
        raise ImageError("not an ext4 image")
    inodes, blocks = struct.unpack_from("<II", raw)
    (log,) = struct.unpack_from("<I", raw, 24)
    (per_group,) = struct.unpack_from("<I", raw, 40)
    revision, inode = struct.unpack_from("<I8xH", raw, 76)
    incompatible, read_only = struct.unpack_from("<II", raw, 96)
    descriptor = struct.unpack_from("<H", raw, 254)[0] if incompatible & _64BIT else 32
    if incompatible & _64BIT:
        blocks |= struct.unpack_from("<I", raw, 0x150)[0] << 32
    inode = inode if revision else 128
    if incompatible & (_META_BG | _INLINE_DATA):
        raise ImageError(
            "the image has meta_bg or inline_data, which foreread does not read",
            "build it with mke2fs -O ^meta_bg,^inline_data",
        )
    if log > 6 or not per_group or not 128 <= inode <= 4096 or not 32 <= descriptor <= 1024:
        raise ImageError("damaged image: sizes that no ext4 has")
    size = 1024 << log
    # The block after the superblock's, also where the first data block is 0 (bigalloc, 1 KiB).
    descriptors = _SUPERBLOCK // size + 1
    return Ext4Superblock(
        *(size, blocks, inodes, descriptors, descriptor, per_group, inode),
        checksums=bool(read_only & _CHECKSUMS),
    )


class _Reader:
    """Reads inodes and directories, each once."""

    def __init__(self, source: Source, superblock: Ext4Superblock) -> None:
        self.source, self.superblock = source, superblock
        self.image = Ext4Image(superblock)
        self.names_left = Budget(MOST_NAMES, "names")
        self.pieces_left = Budget(MOST_PIECES, "pieces of files")

    def walk(self) -> None:
        """Read all names from the root on."""
        image, seen = self.image, {_ROOT}
        image.names["/"] = _ROOT
        waiting = [("", self.inode(_ROOT))]
        if not waiting[0][1].is_folder:
            raise ImageError("damaged image: the root is not a directory")
        while waiting:
            path, folder = waiting.pop()
            blocks, names = [], []
            for block, entries in self._entries(folder):
                blocks.append(block)
                names.append(frozenset(name for name, _ in entries))
                for name, number in entries:
                    self.names_left.spend(1)
                    below = f"{path}/{os.fsdecode(name)}"
                    child = self.inode(number)
                    image.names[below] = number
                    if child.target is not None:
                        image.links[below] = child.target
                    if child.is_folder:
                        if number in seen:
                            raise ImageError("damaged image: a directory has two names")
                        seen.add(number)
                        waiting.append((below, child))
            image.folders[path or "/"] = Ext4Folder(tuple(blocks), tuple(names))

    def inode(self, number: int) -> Ext4Inode:
        """Return an inode. Raises ImageError if it does not exist."""
        if number not in self.image.inodes:
            self.image.inodes[number] = self._inode(number)
        return self.image.inodes[number]

    def _inode(self, number: int) -> Ext4Inode:
        sb = self.superblock
        if not 0 < number <= sb.inodes:
            raise ImageError(f"damaged image: a name of inode {number:,}")
        group, row = divmod(number - 1, sb.per_group)
        at = sb.descriptors * sb.block_size + group * sb.descriptor
        raw = self.source.read(at, sb.descriptor, "a group of blocks")
        (table,) = struct.unpack_from("<I", raw, 8)
        (unused,) = struct.unpack_from("<H", raw, 28)
        if sb.descriptor >= 64:
            table |= struct.unpack_from("<I", raw, 0x28)[0] << 32
            unused |= struct.unpack_from("<H", raw, 0x32)[0] << 16
        used = sb.per_group - (unused if sb.checksums else 0)
        each = sb.block_size // sb.inode_size
        place = table * sb.block_size + row * sb.inode_size
        octets = self.source.read(place, 128, "an inode")
        (mode,), (low,), (flags,) = (
            struct.unpack_from("<H", octets),
            struct.unpack_from("<I", octets, 4),
            struct.unpack_from("<I", octets, 32),
        )
        size = low | struct.unpack_from("<I", octets, 108)[0] << 32
        root = octets[40:100]
        target, extents, tree = None, list[Extent](), list[int]()
        if mode & _TYPE == _LINK and size < _FAST_LINK and not flags & _EXTENTS_FL:
            target = os.fsdecode(root[:size])
        elif mode & _TYPE in (_FILE, _FOLDER, _LINK):
            pieces = self._pieces(root, tree) if flags & _EXTENTS_FL else self._mapped(root, tree)
            extents = sorted(pieces)
        if mode & _TYPE == _LINK and target is None:
            target = os.fsdecode(self._contents(extents, size)[:size])
        return Ext4Inode(
            *(number, mode, size, table + row // each, table, table + used // each),
            *(tuple(extents), tuple(tree), target),
        )

    def _pieces(self, node: bytes, tree: list[int], level: int = 0) -> Iterator[Extent]:
        """Yield the extents below a node; adds blocks of the tree to ``tree``."""
        magic, entries, _, depth = struct.unpack_from("<HHHH", node)
        if magic != _EXTENT_MAGIC or 12 * (entries + 1) > len(node) or level > _DEEPEST:
            raise ImageError("damaged image: the extents of a file")
        size = self.superblock.block_size
        for at in range(12, 12 * (entries + 1), 12):
            self.pieces_left.spend(1)
            if depth:
                low, high = struct.unpack_from("<4xIH", node, at)
                tree.append(high << 32 | low)
                below = self.source.read(tree[-1] * size, size, "the extents of a file")
                yield from self._pieces(below, tree, level + 1)
                continue
            first, blocks, high, low = struct.unpack_from("<IHHI", node, at)
            written = blocks <= _MOST_WRITTEN
            count = blocks if written else blocks - _MOST_WRITTEN
            yield first * size, (high << 32 | low) * size, count * size, written

    def _mapped(self, root: bytes, tree: list[int]) -> Iterator[Extent]:
        """Yield the blocks of an ext2 file, adjacent blocks together."""
        size, run = self.superblock.block_size, (0, 0, 0, True)
        for at, block in self._numbers(root, tree):
            if run[2] and run[0] + run[2] == at * size and run[1] + run[2] == block * size:
                run = (run[0], run[1], run[2] + size, True)
                continue
            if run[2]:
                yield run
            run = (at * size, block * size, size, True)
        if run[2]:
            yield run

    def _numbers(self, root: bytes, tree: list[int]) -> Iterator[tuple[int, int]]:
        """Yield (block of the file, block of the device), through the indirect blocks."""
        numbers = struct.unpack("<15I", root)
        yield from ((at, number) for at, number in enumerate(numbers[:_DIRECT]) if number)
        first, each = _DIRECT, self.superblock.block_size // 4
        for level, number in enumerate(numbers[_DIRECT:], 1):
            yield from self._indirect(number, first, level, tree) if number else ()
            first += each**level

    def _indirect(
        self, block: int, first: int, level: int, tree: list[int]
    ) -> Iterator[tuple[int, int]]:
        size = self.superblock.block_size
        tree.append(block)
        octets = self.source.read(block * size, size, "the blocks of a file")
        self.pieces_left.spend(size // 4)
        for row, number in enumerate(struct.unpack(f"<{size // 4}I", octets)):
            if number and level == 1:
                yield first + row, number
            elif number:
                span = (size // 4) ** (level - 1)
                yield from self._indirect(number, first + row * span, level - 1, tree)

    def _contents(self, extents: list[Extent], size: int) -> bytes:
        if size > self.superblock.block_size:
            raise ImageError("damaged image: the target of a link is too long")
        return b"".join(
            self.source.read(place, length, "a link") for _, place, length, _ in extents
        )

    def _entries(self, folder: Ext4Inode) -> Iterator[tuple[int, list[tuple[bytes, int]]]]:
        """Yield each block of a directory with its names and inodes."""
        size = self.superblock.block_size
        for _, place, length, _ in folder.extents:
            for at in range(place, place + length, size):
                block = self.source.read(at, size, "a directory")
                yield at // size, list(_names(block))


def _names(block: bytes) -> Iterator[tuple[bytes, int]]:
    at = 0
    while at + 8 <= len(block):
        inode, length, name_length, _ = struct.unpack_from("<IHBB", block, at)
        length = length or 65536
        if length < 8 or at + length > len(block) or name_length + 8 > length:
            raise ImageError("damaged image: the entries of a directory")
        name = block[at + 8 : at + 8 + name_length]
        if inode and name not in (b".", b"..", b""):
            yield name, inode
        at += length
