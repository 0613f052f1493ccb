"""The superblock and the metadata blocks of squashfs 4.0 (fs/squashfs/squashfs_fs.h)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from foreread.emulator.images.compressors import unpack
from foreread.emulator.images.source import Budget, ImageError, Source

MAGIC = 0x73717368
METADATA_SIZE = 8192  # bytes of a full metadata block, unpacked
HEADER = 2  # bytes before each metadata block: its length, and whether it is packed
NO_FRAGMENT = 0xFFFFFFFF
_STORED = 0x8000
_NAMES = {1: "gzip", 2: "lzma", 3: "lzo", 4: "xz", 5: "lz4", 6: "zstd"}
_SUPERBLOCK = struct.Struct("<5I6H8Q")
_POINTER = struct.Struct("<Q")
_LEVEL = struct.Struct("<Hi")  # header of the metadata block with the compressor's options, level
_OPTIONS = 0x400  # SQUASHFS_COMP_OPTS
_ID_SIZE, _EXPORT_SIZE, _FRAGMENT_SIZE = 4, 8, 16  # bytes of an entry of a table
_NO_FRAGMENTS = 0x10  # SQUASHFS_NO_FRAG: mksquashfs -no-fragments
_MOST_LEVEL = {"gzip": 9, "zstd": 22}
_LZO = struct.Struct("<Hii")  # that header, algorithm, level
_LZO1X_999, _MOST_LZO = 4, 9  # the algorithm with levels (mksquashfs, lzo_wrapper.h)
_SMALLEST_LOG, _LARGEST_LOG = 12, 20
# Limits of memory and time; a million files have about 50 MB of metadata.
MOST_METADATA = 256 << 20
MOST_BLOCKS = 2_000_000


@dataclass(frozen=True)
class Superblock:
    """The first bytes of an image; positions are in bytes, -1 for a missing table.

    ``level`` is the compressor's, None if it is the builder's default or unknown. Without
    ``fragmented`` each file has its own blocks, as in snaps (mksquashfs -no-fragments).
    ``index_tables``: position and bytes of the list of blocks of each table.
    """

    inodes: int
    block_size: int
    fragments: int
    compressor: str
    ids: int
    root: tuple[int, int]  # block in the inode table, offset in the unpacked block
    bytes_used: int
    id_table: int
    inode_table: int
    directory_table: int
    fragment_table: int
    level: int | None = None
    fragmented: bool = True
    index_tables: tuple[tuple[int, int], ...] = ()


def read_superblock(source: Source) -> Superblock:
    """Return the superblock. Raises ImageError for anything but squashfs 4.0."""
    if len(source) < _SUPERBLOCK.size or source.read(0, 4, "the magic") != b"hsqs":
        raise ImageError("not a squashfs image")
    fields = source.unpack(_SUPERBLOCK, 0, "the superblock")
    _, inodes, _, block_size, fragments, compressor, log, flags, ids, major, minor = fields[:11]
    root, used, ids_at, _, inodes_at, directories_at, fragments_at, exports_at = fields[11:]
    if (major, minor) != (4, 0):
        raise ImageError(f"squashfs {major}.{minor}: only 4.0 can be read")
    if not _SMALLEST_LOG <= log <= _LARGEST_LOG or block_size != 1 << log:
        raise ImageError(f"damaged image: a block size of {block_size:,} bytes")
    if not _SUPERBLOCK.size <= used <= len(source):
        raise ImageError(
            f"the image is cut off: it has {len(source):,} of {used:,} bytes", "copy it again"
        )
    name = _NAMES.get(compressor, f"compressor {compressor}")
    return Superblock(
        inodes=inodes,
        block_size=block_size,
        fragments=fragments,
        compressor=name,
        ids=ids,
        root=(root >> 16, root & 0xFFFF),
        bytes_used=used,
        id_table=ids_at,
        inode_table=inodes_at,
        directory_table=directories_at,
        fragment_table=fragments_at if fragments else -1,
        level=_level(source, name) if flags & _OPTIONS else None,
        fragmented=not flags & _NO_FRAGMENTS,
        index_tables=tuple(
            (at, _POINTER.size * -(-count * size // METADATA_SIZE))
            for at, count, size in (
                (ids_at, ids, _ID_SIZE),
                (exports_at, inodes, _EXPORT_SIZE),
                (fragments_at, fragments, _FRAGMENT_SIZE),
            )
            if count and at < used
        ),
    )


def _level(source: Source, compressor: str) -> int | None:
    """Return the level in the compressor's options, which follow the superblock.

    The level of gzip, zstd or lzo; 0 for the fast algorithms of lzo.
    """
    if compressor == "lzo":
        options = source.unpack(_LZO, _SUPERBLOCK.size, "the options of the compressor")
        _, algorithm, level = options
        if algorithm != _LZO1X_999:
            return 0 if 0 <= algorithm < _LZO1X_999 else None
        return int(level) if 0 < level <= _MOST_LZO else None
    if compressor not in _MOST_LEVEL:
        return None
    _, level = source.unpack(_LEVEL, _SUPERBLOCK.size, "the options of the compressor")
    return int(level) if 0 < level <= _MOST_LEVEL[compressor] else None


@dataclass(frozen=True)
class MetadataBlock:
    """A metadata block: ``end`` is the byte after it in the image, ``octets`` are unpacked."""

    at: int
    end: int
    octets: bytes


@dataclass(eq=False)
class Metadata:
    """The metadata blocks of an image, each unpacked when it is first needed."""

    source: Source
    superblock: Superblock
    blocks: dict[int, MetadataBlock] = field(default_factory=dict)
    unpacked: Budget = field(default_factory=lambda: Budget(MOST_METADATA, "bytes of metadata"))
    data_blocks: Budget = field(default_factory=lambda: Budget(MOST_BLOCKS, "blocks"))

    def block(self, at: int) -> MetadataBlock:
        """Return the block at a byte of the image. Raises ImageError for a damaged one."""
        cached = self.blocks.get(at)
        if cached is not None:
            return cached
        (header,) = struct.unpack("<H", self.source.read(at, HEADER, "a metadata block"))
        length = header & ~_STORED
        if not 0 < length <= METADATA_SIZE:
            raise ImageError(f"damaged image: a metadata block of {length:,} bytes at byte {at:,}")
        octets = self.source.read(at + HEADER, length, "a metadata block")
        if not header & _STORED:
            octets = unpack(self.superblock.compressor, octets, METADATA_SIZE)
        if not octets:
            raise ImageError(f"damaged image: an empty metadata block at byte {at:,}")
        self.unpacked.spend(len(octets))
        block = self.blocks[at] = MetadataBlock(at, at + HEADER + length, octets)
        return block

    def reader(self, at: int, offset: int) -> MetadataReader:
        """Return a reader that begins at an offset of the block at ``at``."""
        return MetadataReader(self, at, offset)

    def table(self, pointers_at: int, entry_size: int, row: int) -> tuple[int, int]:
        """Return block and offset of a row of the fragment or id table."""
        block, offset = divmod(row * entry_size, METADATA_SIZE)
        (at,) = self.source.unpack(_POINTER, pointers_at + block * _POINTER.size, "a table")
        return at, offset

    def table_block(self, pointers_at: int, entry_size: int, row: int) -> int:
        """Return the position of the block with a row of a table; raises as ``block``."""
        return self.block(self.table(pointers_at, entry_size, row)[0]).at


@dataclass(eq=False)
class MetadataReader:
    """A position in a chain of metadata blocks (squashfs_read_metadata)."""

    metadata: Metadata
    at: int
    offset: int

    def read(self, length: int) -> bytes:
        """Return the next bytes, which may be in several blocks."""
        parts = []
        while length:
            block = self.metadata.block(self.at)
            if self.offset >= len(block.octets):
                raise ImageError(f"damaged image: no metadata at byte {self.at:,}+{self.offset:,}")
            part = block.octets[self.offset : self.offset + length]
            parts.append(part)
            length -= len(part)
            self.offset += len(part)
            if self.offset == len(block.octets):
                self.at, self.offset = block.end, 0
        return b"".join(parts)
