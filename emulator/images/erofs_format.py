"""The superblock, inodes and directories of EROFS (fs/erofs/erofs_fs.h)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from foreread.emulator.images.source import ImageError, Source

MAGIC = 0xE0F5E1E2
SUPERBLOCK_AT = 1024
SLOT = 32  # bytes: inodes are numbered by their places
PLAIN, FULL, INLINE, COMPACT, CHUNKS = range(5)
COMPRESSED = (FULL, COMPACT)
NO_BLOCK = 0xFFFFFFFF
_CHUNK_BITS, _CHUNK_INDEXES = 0x1F, 0x20
_SUPERBLOCK = struct.Struct("<3I2BH2Q4I32xI3H2BIQ")
_COMMON = struct.Struct("<3H")  # format, xattr count, mode
_SMALL = struct.Struct("<H2I4xI4x2H4x")  # links, size, mtime or links, union, uid, gid
_ENTRY = struct.Struct("<QHBx")
_SMALLEST_LOG, _LARGEST_LOG = 9, 16
_DIRECTORY_TYPE, _FILE_TYPE, _LINK_TYPE, _TYPE_MASK = 0o040000, 0o100000, 0o120000, 0o170000
_LONG_NAME = 255
# The incompatible features that no reader can ignore: the unknown ones.
_KNOWN_FEATURES = 0x7F
_DEVICES = 0x08
MOST_DIRECTORY = 64 << 20  # bytes


@dataclass(frozen=True)
class ErofsSuperblock:
    """The superblock; ``block_size`` in bytes, ``meta_at`` the first byte of inodes."""

    block_size: int
    root: int
    packed: int  # inode of the fragments, 0 without them
    inodes: int
    blocks: int
    meta_at: int
    algorithms: int
    features: int


@dataclass(frozen=True)
class ErofsInode:
    """An inode; ``at`` is its first byte, ``end`` the byte after its attributes.

    ``first`` is the first block (or the format of chunks, or the number of compressed blocks).
    """

    number: int
    at: int
    end: int
    mode: int
    size: int
    layout: int
    first: int

    @property
    def is_directory(self) -> bool:
        """Whether the inode is a directory."""
        return self.mode & _TYPE_MASK == _DIRECTORY_TYPE

    @property
    def is_file(self) -> bool:
        """Whether the inode is a regular file."""
        return self.mode & _TYPE_MASK == _FILE_TYPE

    @property
    def is_link(self) -> bool:
        """Whether the inode is a symbolic link."""
        return self.mode & _TYPE_MASK == _LINK_TYPE


def read_erofs_superblock(source: Source) -> ErofsSuperblock:
    """Return the superblock. Raises ImageError if it is not EROFS, or unreadable."""
    magic = MAGIC.to_bytes(4, "little")
    if len(source) < SUPERBLOCK_AT + 128 or source.read(SUPERBLOCK_AT, 4, "the magic") != magic:
        raise ImageError("not an EROFS image")
    fields = source.unpack(_SUPERBLOCK, SUPERBLOCK_AT, "the superblock")
    _, _, _, log, _, root, inodes, _, _, blocks, meta, _, features, algorithms, devices, *rest = (
        fields
    )
    packed = rest[-1]
    if not _SMALLEST_LOG <= log <= _LARGEST_LOG:
        raise ImageError(f"damaged image: blocks of 2^{log} bytes")
    unknown = features & ~_KNOWN_FEATURES
    if unknown:
        raise ImageError(
            f"the image has features that foreread does not know (0x{unknown:x})",
            "build it without them, for example with mkfs.erofs 1.8",
        )
    if features & _DEVICES and devices:
        raise ImageError("the image's data is on other devices", "build it as one image")
    return ErofsSuperblock(
        block_size=1 << log,
        root=root,
        packed=packed,
        inodes=inodes,
        blocks=blocks,
        meta_at=meta << log,
        algorithms=algorithms,
        features=features,
    )


def read_erofs_inode(source: Source, superblock: ErofsSuperblock, number: int) -> ErofsInode:
    """Return an inode by its number. Raises ImageError for a damaged inode."""
    at = superblock.meta_at + number * SLOT
    form, attributes, mode = source.unpack(_COMMON, at, "an inode")
    layout = form >> 1 & 7
    if layout > CHUNKS:
        raise ImageError(f"damaged image: an inode of layout {layout}")
    if form & 1:
        (size, first) = struct.unpack("<QI", source.read(at + 8, 12, "an inode"))
        end = at + 64
    else:
        (size, _, first) = struct.unpack("<3I", source.read(at + 8, 12, "an inode"))
        end = at + 32
    end += 12 + 4 * (attributes - 1) if attributes else 0
    return ErofsInode(number, at, end, mode, size, layout, first)


def flat_pieces(superblock: ErofsSuperblock, inode: ErofsInode) -> Iterator[tuple[int, int, int]]:
    """Yield (first byte in the file, on the image, bytes) of a file that is stored uncompressed.

    The end of an inline file lies after its inode.
    """
    block = superblock.block_size
    tail = inode.size % block if inode.layout == INLINE else 0
    if inode.layout == INLINE and not tail and inode.size:
        tail = block
    whole = inode.size - tail
    if whole:
        yield 0, inode.first * block, whole
    if tail:
        yield whole, inode.end, tail


def chunk_pieces(
    source: Source, superblock: ErofsSuperblock, inode: ErofsInode
) -> Iterator[tuple[int, int, int]]:
    """Yield pieces of a file in chunks, as ``flat_pieces`` does; holes are left out."""
    form = inode.first & 0xFFFF
    size = superblock.block_size << (form & _CHUNK_BITS)
    if form & _CHUNK_BITS > 31 - _SMALLEST_LOG:
        raise ImageError("damaged image: the chunks of a file are too large")
    indexes = bool(form & _CHUNK_INDEXES)
    width = 8 if indexes else 4
    at = -(-inode.end // width) * width
    count = -(-inode.size // size)
    table = source.read(at, count * width, "the chunks of a file")
    for number in range(count):
        entry = table[number * width : (number + 1) * width]
        block = int.from_bytes(entry[-4:], "little")
        if block != NO_BLOCK:
            length = min(size, inode.size - number * size)
            yield number * size, block * superblock.block_size, length


def read_erofs_directory(octets: bytes, block_size: int) -> Iterator[tuple[bytes, int]]:
    """Yield (name, inode) from a directory's contents, without "." and ".."."""
    for begin in range(0, len(octets), block_size):
        block = octets[begin : begin + block_size]
        if len(block) < _ENTRY.size:
            raise ImageError("damaged image: a directory is too short")
        _, first, _ = _ENTRY.unpack_from(block)
        if first % _ENTRY.size or not _ENTRY.size <= first <= len(block):
            raise ImageError("damaged image: a directory's names are in the wrong place")
        rows = [_ENTRY.unpack_from(block, at) for at in range(0, first, _ENTRY.size)]
        ends = [row[1] for row in rows[1:]] + [len(block)]
        for (inode, at, _), end in zip(rows, ends, strict=True):
            if not first <= at < end <= len(block):
                raise ImageError("damaged image: a directory's names overlap")
            name = block[at:end].rstrip(b"\0") if end == len(block) else block[at:end]
            if not name or len(name) > _LONG_NAME or b"/" in name or b"\0" in name:
                raise ImageError("damaged image: a directory has a name that cannot be")
            if name not in (b".", b".."):
                yield name, inode


def first_name(block: bytes) -> bytes:
    """Return the first name in a block of a directory that ``read_erofs_directory`` has checked."""
    _, at, _ = _ENTRY.unpack_from(block)
    end = _ENTRY.unpack_from(block, _ENTRY.size)[1] if at > _ENTRY.size else len(block)
    return block[at:end].rstrip(b"\0")
