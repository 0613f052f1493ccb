"""Inodes and directories of squashfs, as the kernel reads them (fs/squashfs/inode.c, namei.c)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from foreread.emulator.images.source import ImageError
from foreread.emulator.images.squashfs_metadata import NO_FRAGMENT, Metadata, MetadataReader

DIRECTORY, REGULAR, LINK = 1, 2, 3
_EXTENDED = 7  # added to the type of an extended inode
_TYPES = range(1, 15)
_COMMON = struct.Struct("<4H2I")  # type, mode, owner, group, time, number
_PLAIN_DIRECTORY = struct.Struct("<2I2HI")
_LONG_DIRECTORY = struct.Struct("<4I2HI")
_PLAIN_FILE = struct.Struct("<4I")
_LONG_FILE = struct.Struct("<3Q4I")
_LINK = struct.Struct("<2I")
_INDEX = struct.Struct("<3I")
_HEADER = struct.Struct("<3I")
_ENTRY = struct.Struct("<HhHH")
_BLOCK = struct.Struct("<I")
_BLOCK_STORED = 1 << 24
_LISTING_EXTRA = 3  # "." and "..", which no listing has
_MOST_IN_HEADER = 256
_MOST_NAME = 256
_LONGEST_TARGET = 4096  # bytes: PATH_MAX
_ID, _FRAGMENT = 4, 16  # bytes of a row in the tables
PACKED_BITS = _BLOCK_STORED - 1


@dataclass(frozen=True)
class Inode:
    """An inode; ``gets`` are the metadata blocks that the kernel requests from its cache, in order.

    ``blocks`` (of a file) are the lengths of its blocks in the image, with a bit for blocks that
    are stored uncompressed; ``list_at`` is the place of that list. ``listing`` (of a directory) is
    block, offset and length. ``index`` are the first names and places of parts of a large
    directory.
    """

    number: int
    kind: int
    gets: tuple[int, ...]
    size: int = 0
    start: int = 0
    fragment: int = NO_FRAGMENT
    fragment_offset: int = 0
    links: int = 1
    blocks: tuple[int, ...] = ()
    list_at: tuple[int, int] = (0, 0)
    listing: tuple[int, int, int] = (0, 0, 0)
    index: tuple[tuple[bytes, int, int, int], ...] = ()
    index_gets: tuple[int, ...] = ()
    target: bytes = b""


@dataclass(frozen=True)
class Entry:
    """A name in a directory; ``gets`` are the metadata blocks of its lookup without the inode."""

    name: bytes
    inode: tuple[int, int]
    kind: int
    gets: tuple[int, ...]


@dataclass(eq=False)
class Watched:
    """A reader that stores the metadata blocks that it requests, without repetitions."""

    reader: MetadataReader
    gets: list[int] = field(default_factory=list)

    def read(self, length: int) -> bytes:
        """Return the next ``length`` bytes."""
        parts = []
        while length:
            block = self.reader.metadata.block(self.reader.at)
            if not self.gets or self.gets[-1] != block.at:
                self.gets.append(block.at)
            rest = max(len(block.octets) - self.reader.offset, 1)  # 1: the reader raises an error
            parts.append(self.reader.read(min(rest, length)))
            length -= len(parts[-1])
        return b"".join(parts)


def read_inode(metadata: Metadata, block: int, offset: int) -> Inode:
    """Return the inode at a place of the inode table. Raises ImageError for a damaged inode."""
    at = metadata.superblock.inode_table + block
    watched = Watched(metadata.reader(at, offset))
    kind, _, owner, group, _, number = _COMMON.unpack(watched.read(_COMMON.size))
    if kind not in _TYPES:
        raise ImageError(f"damaged image: an inode of kind {kind}")
    head = [*watched.gets, *_id_gets(metadata, owner), *_id_gets(metadata, group), at]
    plain = kind - _EXTENDED if kind > _EXTENDED else kind
    match plain:
        case 1:
            return _directory(watched, kind > _EXTENDED, number, head)
        case 2:
            return _file(metadata, watched, kind > _EXTENDED, number, head)
        case 3:
            links, size = _LINK.unpack(watched.read(_LINK.size))
            if size > _LONGEST_TARGET:
                raise ImageError("damaged image: the target of a link is too long")
            target = watched.read(size)
            gets = _joined(head, watched.gets)
            return Inode(number, LINK, gets, size, links=links, target=target)
    return Inode(number, plain, _joined(head, watched.gets))


def _directory(watched: Watched, long: bool, number: int, head: list[int]) -> Inode:
    if long:
        links, size, start, _, parts, offset, _ = _LONG_DIRECTORY.unpack(
            watched.read(_LONG_DIRECTORY.size)
        )
    else:
        start, links, size, offset, _ = _PLAIN_DIRECTORY.unpack(watched.read(_PLAIN_DIRECTORY.size))
        parts = 0
    gets = _joined(head, watched.gets)
    watched.gets.clear()
    index = tuple(_index(watched, parts))
    return Inode(
        number,
        DIRECTORY,
        gets,
        size,
        links=links,
        listing=(start, offset, max(size - _LISTING_EXTRA, 0)),
        index=index,
        index_gets=tuple(watched.gets),
    )


def _index(watched: Watched, parts: int) -> Iterator[tuple[bytes, int, int, int]]:
    """Yield (first name, position in the listing, block, blocks read up to it) of each part."""
    for _ in range(parts):
        position, start, size = _INDEX.unpack(watched.read(_INDEX.size))
        if size >= _MOST_NAME:
            raise ImageError("damaged image: a name in a directory's index is too long")
        yield watched.read(size + 1), position, start, len(watched.gets)


def _file(metadata: Metadata, watched: Watched, long: bool, number: int, head: list[int]) -> Inode:
    superblock = metadata.superblock
    if long:
        start, size, _, links, fragment, offset, _ = _LONG_FILE.unpack(
            watched.read(_LONG_FILE.size)
        )
    else:
        start, fragment, offset, size = _PLAIN_FILE.unpack(watched.read(_PLAIN_FILE.size))
        links = 1
    gets = _joined(head, watched.gets)
    whole, tail = divmod(size, superblock.block_size)
    if fragment == NO_FRAGMENT:
        whole += tail > 0
    elif fragment >= superblock.fragments:
        raise ImageError(f"damaged image: fragment {fragment:,} of {superblock.fragments:,}")
    else:
        gets = (*gets, metadata.table_block(superblock.fragment_table, _FRAGMENT, fragment))
    list_at = watched.reader.at, watched.reader.offset
    metadata.data_blocks.spend(whole)
    blocks = tuple(value for (value,) in _BLOCK.iter_unpack(watched.read(whole * _BLOCK.size)))
    return Inode(number, REGULAR, gets, size, start, fragment, offset, links, blocks, list_at)


def read_directory(metadata: Metadata, inode: Inode) -> Iterator[Entry]:
    """Yield the names of a directory in their order. Raises ImageError for a damaged listing."""
    start, offset, rest = inode.listing
    watched = Watched(metadata.reader(metadata.superblock.directory_table + start, offset))
    length = rest
    while rest > 0:
        count, block, _ = _HEADER.unpack(watched.read(_HEADER.size))
        rest -= _HEADER.size
        if count >= _MOST_IN_HEADER:
            raise ImageError("damaged image: a directory with too many names in one part")
        for _ in range(count + 1):
            place, _, kind, size = _ENTRY.unpack(watched.read(_ENTRY.size))
            if size >= _MOST_NAME:
                raise ImageError("damaged image: a name is too long")
            name = watched.read(size + 1)
            rest -= _ENTRY.size + size + 1
            if rest < 0 or b"/" in name or b"\0" in name or name in (b".", b".."):
                raise ImageError("damaged image: a directory's listing is not valid")
            gets = _lookup_gets(metadata, inode, name, watched.gets, length - rest)
            yield Entry(name, (block, place), kind, gets)


def _lookup_gets(
    metadata: Metadata, inode: Inode, name: bytes, gets: list[int], end: int
) -> tuple[int, ...]:
    """Return the blocks that a lookup reads: the index, then the listing from its part on.

    get_dir_index_using_name: the last part with a first name that is not above the name.
    """
    before = 0
    first: int | None = None
    for part, position, block, read in inode.index:
        before = read
        if part > name or position >= end:
            break
        first = metadata.superblock.directory_table + block
    listing = gets if first not in gets else gets[gets.index(first) :]
    return _joined(inode.index_gets[:before], listing)


def _id_gets(metadata: Metadata, row: int) -> tuple[int, ...]:
    """squashfs_get_id: the block of the id table."""
    if row >= metadata.superblock.ids:
        raise ImageError(f"damaged image: owner {row:,} of {metadata.superblock.ids:,}")
    return (metadata.table_block(metadata.superblock.id_table, _ID, row),)


def _joined(first: list[int] | tuple[int, ...], more: list[int]) -> tuple[int, ...]:
    """Return two sequences of blocks as one, without repetitions in a row."""
    blocks: list[int] = []
    for at in (*first, *more):
        if not blocks or blocks[-1] != at:
            blocks.append(at)
    return tuple(blocks)
