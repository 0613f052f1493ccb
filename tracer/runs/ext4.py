"""Where files and inodes of ext2, ext3 and ext4 are, read from the file system's own tables.

Files: for targets without a program that can ask the kernel (FIEMAP). Layouts: fs/ext4/ext4.h
(struct ext4_super_block, ext4_group_desc, ext4_inode), fs/ext4/ext4_extents.h. The data read may be
anything; a file with invalid data gets no extents.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

Extent = tuple[int, int, int, bool]  # position in the file, on the device, length (bytes), written
Reader = Callable[[Sequence[int], int], Mapping[int, bytes]]  # blocks by number, of so many bytes

_SUPERBLOCK = 1024  # where it is, bytes
_MAGIC, _EXTENT_MAGIC = 0xEF53, 0xF30A
_META_BG, _64BIT = 0x10, 0x80  # s_feature_incompat
_CHECKSUMS = 0x10 | 0x400  # s_feature_ro_compat: GDT_CSUM, METADATA_CSUM
_EXTENTS_FL, _INLINE_DATA_FL = 0x80000, 0x10000000  # i_flags
_TREE = slice(40, 100)  # i_block in an inode
_DIRECT = 12  # blocks that an inode without extents names itself
_MOST_WRITTEN = 1 << 15  # blocks of a written extent; longer ones are unwritten
_DEEPEST = 5
_MOST_NODES = 8192  # of a level, of all files together
_MOST_DESCRIPTORS = 1 << 20  # bytes of group descriptors that are read: of 2 TiB


@dataclass(frozen=True)
class _Layout:
    block: int  # bytes
    blocks: int
    inodes: int
    descriptors: int  # first block of the group descriptors
    descriptor: int  # bytes
    per_group: int
    inode: int  # bytes
    checksums: bool  # of groups, which then say how many of their inodes were never used


@dataclass(frozen=True)
class _Node:
    """A block of a tree: of extents at level 0, else of numbers of the blocks from ``first`` on."""

    inode: int
    block: int
    first: int = 0
    level: int = 0


_Piece = tuple[int, int, int, bool]  # block in the file, on the device, blocks, written
_Found = tuple[list[_Piece], list[_Node]]  # the extents in a node, and the nodes below it


def places(read: Reader, inodes: Iterable[int]) -> dict[int, list[Extent]]:
    """Return the extents of regular files by inode, without those that cannot be determined.

    {} if the file system is of another type, or has unknown features.
    """
    layout = _layout(read([0], 4096).get(0, b"")[_SUPERBLOCK:])
    if layout is None:
        return {}
    pieces: defaultdict[int, list[_Piece]] = defaultdict(list)
    nodes: list[_Node] = []
    broken: set[int] = set()
    for inode, raw in _inodes(read, layout, inodes).items():
        _take(_root(inode, raw, layout.block), inode, pieces, nodes)
    for _ in range(_DEEPEST):
        waiting, nodes = nodes, []
        numbers = [node.block for node in waiting if 0 < node.block < layout.blocks]
        blocks = read(sorted(set(numbers)), layout.block) if numbers else {}
        for node in waiting:
            raw = blocks.get(node.block, b"")
            whole = len(raw) == layout.block and len(nodes) < _MOST_NODES
            parsed = _below(node, raw) if whole else None
            if not _take(parsed, node.inode, pieces, nodes):
                broken.add(node.inode)
    broken.update(node.inode for node in nodes)
    pairs = ((inode, _extents(some, layout)) for inode, some in pieces.items())
    return {
        inode: extents for inode, extents in pairs if extents is not None and inode not in broken
    }


def inode_tables(read: Reader) -> tuple[int, list[tuple[int, int]]] | None:
    """Return the bytes of a block, and first and last block of each inode table in use.

    The last is what the kernel reads ahead to (__ext4_get_inode_loc): the block with the first
    inode that was never used. None if the file system is of another type, has unknown features, is
    too large, or cannot be read.
    """
    layout = _layout(read([0], 4096).get(0, b"")[_SUPERBLOCK:])
    if layout is None:
        return None
    groups = -(-layout.inodes // layout.per_group)
    count = -(-groups * layout.descriptor // layout.block)
    if count * layout.block > _MOST_DESCRIPTORS:
        return None
    wanted = range(layout.descriptors, layout.descriptors + count)
    blocks = read(wanted, layout.block)
    raw = b"".join(blocks.get(block, b"") for block in wanted)
    if len(raw) != count * layout.block:
        return None
    each = layout.block // layout.inode
    ranges = []
    for group in range(groups):
        descriptor = raw[group * layout.descriptor :][: layout.descriptor]
        unused = _halves(descriptor, "<H", 0x1C, 0x32) if layout.checksums else 0
        first, used = _halves(descriptor, "<I", 8, 0x28), layout.per_group - unused
        last = first + used // each
        if used > 0 and 0 < first <= last < layout.blocks:
            ranges.append((first, last))
    return layout.block, ranges


def _halves(descriptor: bytes, kind: str, low: int, high: int) -> int:
    """Return a number of a group descriptor whose upper half long descriptors alone have."""
    (value,) = struct.unpack_from(kind, descriptor, low)
    if len(descriptor) >= 64:
        value |= struct.unpack_from(kind, descriptor, high)[0] << 8 * struct.calcsize(kind)
    return int(value)


def _take(
    parsed: _Found | None, inode: int, pieces: dict[int, list[_Piece]], nodes: list[_Node]
) -> bool:
    if parsed is None:
        return False
    pieces[inode] += parsed[0]
    nodes += parsed[1]
    return True


def _layout(raw: bytes) -> _Layout | None:
    """Parse a superblock; None if it is of another file system."""
    if len(raw) < 1024 or struct.unpack_from("<H", raw, 56)[0] != _MAGIC:
        return None
    inodes, blocks = struct.unpack_from("<II", raw)
    (log_block,) = struct.unpack_from("<I", raw, 24)
    (per_group,) = struct.unpack_from("<I", raw, 40)
    revision, inode = struct.unpack_from("<I8xH", raw, 76)
    incompatible, read_only = struct.unpack_from("<II", raw, 96)
    descriptor = struct.unpack_from("<H", raw, 254)[0] if incompatible & _64BIT else 32
    if incompatible & _64BIT:
        blocks |= struct.unpack_from("<I", raw, 0x150)[0] << 32
    inode = inode if revision else 128
    if incompatible & _META_BG or log_block > 6 or not per_group or not 128 <= inode <= 4096:
        return None
    if not 32 <= descriptor <= 1024:
        return None
    size = 1024 << log_block
    # The block after the superblock's, also where the first data block is 0 (bigalloc, 1 KiB).
    descriptors = _SUPERBLOCK // size + 1
    checksums = bool(read_only & _CHECKSUMS)
    return _Layout(size, blocks, inodes, descriptors, descriptor, per_group, inode, checksums)


def _inodes(read: Reader, layout: _Layout, wanted: Iterable[int]) -> dict[int, bytes]:
    """Return the inodes that exist."""
    numbers = [inode for inode in sorted(set(wanted)) if 0 < inode <= layout.inodes]
    group = {inode: (inode - 1) // layout.per_group * layout.descriptor for inode in numbers}
    at = {inode: divmod(place, layout.block) for inode, place in group.items()}
    blocks = read(sorted({layout.descriptors + row for row, _ in at.values()}), layout.block)
    places: dict[int, tuple[int, int]] = {}
    for inode in numbers:
        row, offset = at[inode]
        raw = blocks.get(layout.descriptors + row, b"")[offset : offset + layout.descriptor]
        if len(raw) < layout.descriptor:
            continue
        table = _halves(raw, "<I", 8, 0x28)
        place = (inode - 1) % layout.per_group * layout.inode
        if 0 < table + place // layout.block < layout.blocks:
            places[inode] = table + place // layout.block, place % layout.block
    tables = read(sorted({block for block, _ in places.values()}), layout.block)
    raws = {i: tables.get(block, b"")[at : at + 128] for i, (block, at) in places.items()}
    return {inode: raw for inode, raw in raws.items() if len(raw) == 128}


def _root(inode: int, raw: bytes, block: int) -> _Found | None:
    """Parse an inode; None if it is not a file with blocks."""
    (mode,), (flags,) = struct.unpack_from("<H", raw), struct.unpack_from("<I", raw, 32)
    if mode & 0o170000 != 0o100000 or flags & _INLINE_DATA_FL:
        return None
    if flags & _EXTENTS_FL:
        return _below(_Node(inode, 0), raw[_TREE])
    numbers = struct.unpack("<15I", raw[_TREE])
    pieces = [(at, number, 1, True) for at, number in enumerate(numbers[:_DIRECT]) if number]
    nodes, first = [], _DIRECT
    for level, number in enumerate(numbers[_DIRECT:], 1):
        nodes += [_Node(inode, number, first, level)] if number else []
        first += (block // 4) ** level
    return pieces, nodes


def _below(node: _Node, raw: bytes) -> _Found | None:
    """Parse a node; None if it is not a valid one."""
    if node.level == 0:
        return _of_extents(node, raw)
    per_block = len(raw) // 4
    numbers = struct.unpack(f"<{per_block}I", raw)
    if node.level == 1:
        return [(node.first + at, n, 1, True) for at, n in enumerate(numbers) if n], []
    each = per_block ** (node.level - 1)
    level = node.level - 1
    below = [_Node(node.inode, n, node.first + at * each, level) for at, n in enumerate(numbers)]
    return [], [child for child in below if child.block]


def _of_extents(node: _Node, raw: bytes) -> _Found | None:
    magic, entries, _, depth = struct.unpack_from("<HHHH", raw)
    if magic != _EXTENT_MAGIC or 12 * (entries + 1) > len(raw) or depth > _DEEPEST:
        return None
    rows = range(12, 12 * (entries + 1), 12)
    if depth:
        pointers = (struct.unpack_from("<4xIH", raw, at) for at in rows)
        return [], [_Node(node.inode, high << 32 | low) for low, high in pointers]
    pieces = []
    for at in rows:
        first, blocks, high, low = struct.unpack_from("<IHHI", raw, at)
        written = blocks <= _MOST_WRITTEN
        length = blocks if written else blocks - _MOST_WRITTEN
        pieces.append((first, high << 32 | low, length, written))
    return pieces, []


def _extents(pieces: list[_Piece], layout: _Layout) -> list[Extent] | None:
    """Return a file's pieces in bytes, in order and joined; None if they are not on the device."""
    size = layout.block
    extents: list[Extent] = []
    for first, block, blocks, written in sorted(pieces):
        if block + blocks > layout.blocks:
            return None
        at, place, length = first * size, block * size, blocks * size
        last = extents[-1] if extents else (0, 0, 0, False)
        if last[2] and (last[0] + last[2], last[1] + last[2], last[3]) == (at, place, written):
            extents[-1] = last[0], last[1], last[2] + length, written
        elif last[0] + last[2] > at:
            return None
        else:
            extents.append((at, place, length, written))
    return extents
