"""The compressed clusters of EROFS files, from their indexes (fs/erofs/zmap.c, 6.12)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foreread.emulator.images.erofs_format import FULL, ErofsInode, ErofsSuperblock
from foreread.emulator.images.source import Budget, ImageError, Source

PLAIN, HEAD, NEXT, OTHER_HEAD = range(4)
_SHORT_INDEXES, _BIG, _BIG_OTHER, _INLINE_END, _FRAGMENT_END = 1, 2, 4, 8, 32
_COUNT = 1 << 11  # Z_EROFS_LI_D0_CBLKCNT: the number is the blocks of the cluster
_IN_FRAGMENTS = 1 << 63
_HEADER, _INDEX = 8, 8
_MOST_CLUSTER = 1 << 20
_MOST_UNPACKED = 12 << 20
_SHORT_LOG = 12  # bits of the offset in an index of two bytes


@dataclass(frozen=True)
class Cluster:
    """Bytes [at, at + length) of a file from ``stored`` bytes at ``place`` of the image.

    ``packed``: 0 if stored uncompressed, else the number of the file's compressor, 1 or 2.
    ``fragment``: ``place`` is in the inode of fragments instead.
    """

    at: int
    length: int
    place: int
    stored: int
    packed: int
    fragment: bool = False


@dataclass(frozen=True)
class IndexPlaces:
    """The places of a compressed file's indexes, from byte ``at`` on, after its header.

    The first ``before`` indexes take four bytes each, the ``short`` ones after them two, the others
    four; ``full`` indexes take eight each. ``ends``: the last index marks the end of the file
    inside its logical cluster. ``algorithms`` are the algorithms of both compressors, four bits
    each (h_algorithmtype).
    """

    at: int
    full: bool = False
    before: int = 0
    short: int = 0
    ends: bool = False
    algorithms: int = 0

    def of(self, number: int) -> int:
        """Return the place of an index. Compacted indexes are read in packs of two or sixteen."""
        if self.full:
            return self.at + number * _INDEX
        if number < self.before:
            return self.at + number // 2 * 8
        after = number - self.before
        if after < self.short:
            return self.at + self.before * 4 + after // 16 * 32
        return self.at + self.before * 4 + self.short * 2 + (after - self.short) // 2 * 8


def index_places(
    source: Source, superblock: ErofsSuperblock, inode: ErofsInode
) -> IndexPlaces | None:
    """Return the places of a compressed file's indexes; None if it is all in fragments."""
    indexes, header = indexes_of(source, superblock, inode)
    if indexes is None:
        return None
    last = indexes.load(indexes.count - 1)
    ends = last.kind != NEXT and (indexes.count - 1 << indexes.bits) + last.offset >= inode.size
    return IndexPlaces(indexes.at, indexes.full, indexes.before, indexes.short, ends, header[6])


def indexes_of(
    source: Source, superblock: ErofsSuperblock, inode: ErofsInode
) -> tuple[Indexes | None, bytes]:
    """Return the indexes of a compressed file, None if it is all in fragments, and its header."""
    at = -(-inode.end // 8) * 8
    header = source.read(at, _HEADER, "the clusters of a file")
    if int.from_bytes(header, "little") & _IN_FRAGMENTS or not inode.size:
        return None, header
    advice = int.from_bytes(header[4:6], "little")
    bits = superblock.block_size.bit_length() - 1 + (header[7] & 7)
    count = -(-inode.size // (1 << bits))
    return Indexes(source, superblock, inode, at + _HEADER, advice, bits, count), header


@dataclass(frozen=True)
class Index:
    """One index: the kind of its logical cluster, and numbers that depend on the kind."""

    kind: int
    offset: int = 0
    block: int = 0
    count: int = 0  # blocks of the cluster that this index continues


def clusters_of(
    source: Source, superblock: ErofsSuperblock, inode: ErofsInode, budget: Budget
) -> Iterator[Cluster]:
    """Yield the clusters of a compressed file in their order. Raises ImageError if damaged."""
    at = -(-inode.end // 8) * 8
    header = source.read(at, _HEADER, "the clusters of a file")
    value = int.from_bytes(header, "little")
    if value & _IN_FRAGMENTS:
        place = value ^ _IN_FRAGMENTS
        yield Cluster(0, inode.size, place, inode.size, 0, True)
        return
    advice = int.from_bytes(header[4:6], "little")
    bits = superblock.block_size.bit_length() - 1 + (header[7] & 7)
    count = -(-inode.size // (1 << bits))
    budget.spend(count)
    indexes = Indexes(source, superblock, inode, at + _HEADER, advice, bits, count)
    heads = list(_heads(indexes, advice))
    if not heads or heads[0][0]:
        raise ImageError("damaged image: a compressed file does not begin with a cluster")
    for row, (begin, packed, block, blocks) in enumerate(heads):
        last = row + 1 == len(heads)
        length = (inode.size if last else heads[row + 1][0]) - begin
        if not 0 < length <= _MOST_UNPACKED:
            raise ImageError("damaged image: the clusters of a file are not in order")
        place, stored = block * superblock.block_size, blocks * superblock.block_size
        if last and advice & _INLINE_END:
            place, stored = indexes.end, int.from_bytes(header[2:4], "little")
        elif last and advice & _FRAGMENT_END:
            high = block << 32 if inode.layout == FULL else 0
            place = high | int.from_bytes(header[:4], "little")
            yield Cluster(begin, length, place, length, 0, True)
            return
        if stored > _MOST_CLUSTER or place + stored > len(source):
            raise ImageError("damaged image: a cluster is outside the image")
        yield Cluster(begin, length, place, stored, packed)


def _heads(indexes: Indexes, advice: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield (first byte in the file, packed, first block, blocks) of each cluster."""
    unit = 1 << (indexes.bits - (indexes.superblock.block_size.bit_length() - 1))
    entries = [indexes.load(number) for number in range(indexes.count)]
    for number, index in enumerate(entries):
        if index.kind == NEXT:
            continue
        begin = (number << indexes.bits) + index.offset
        if begin >= indexes.inode.size:
            continue
        big = {HEAD: _BIG, OTHER_HEAD: _BIG_OTHER}.get(index.kind, 0) & advice
        following = entries[number + 1] if number + 1 < len(entries) else None
        blocks = following.count if big and following and following.kind == NEXT else 0
        packed = {HEAD: 1, OTHER_HEAD: 2}.get(index.kind, 0)
        yield begin, packed, index.block, blocks or unit


class Indexes:
    """The indexes of a file: of eight bytes each, or packed into four and two."""

    def __init__(
        self,
        source: Source,
        superblock: ErofsSuperblock,
        inode: ErofsInode,
        at: int,
        advice: int,
        bits: int,
        count: int,
    ) -> None:
        self.superblock, self.inode, self.bits, self.count = superblock, inode, bits, count
        self.full = inode.layout == FULL
        self.big = bool(advice & _BIG)
        self.at = at + 8 if self.full else at
        # Packs of two-byte indexes begin on a border of 32 bytes.
        self.before = (32 - at % 32) // 4 % 8
        short = advice & _SHORT_INDEXES and self.before < count
        self.short = (count - self.before) // 16 * 16 if short else 0
        if self.short and bits != _SHORT_LOG:
            raise ImageError("damaged image: short indexes of large clusters")
        if not self.full and bits > _SHORT_LOG + 2:
            raise ImageError("damaged image: indexes of clusters that are too large")
        size = self._after() - self.at
        self.octets = source.read(self.at, size, "the clusters of a file")

    @property
    def end(self) -> int:
        """Return the first byte after the indexes: the place of an inline end of the file."""
        if self.full:
            return self.at + self.count * _INDEX
        return self._after()

    def _after(self) -> int:
        if self.full:
            return self.at + self.count * _INDEX
        after = self.count - self.before - self.short
        if after <= 0 and not self.short:  # all before the first border
            return self.at + -(-self.count // 2) * 8
        return self.at + self.before * 4 + self.short * 2 + -(-after // 2) * 8

    def load(self, number: int) -> Index:
        """Return an index (z_erofs_load_cluster_from_disk)."""
        if self.full:
            return self._load_full(number)
        if number < self.before:
            pack, row, shift = number // 2 * 8, number % 2, 2
        elif number < self.before + self.short:
            row = (number - self.before) % 16
            pack, shift = self.before * 4 + (number - self.before) // 16 * 32, 1
        else:
            after = number - self.before - self.short
            pack = self.before * 4 + self.short * 2 + after // 2 * 8
            row, shift = after % 2, 2
        return self._unpacked(pack, row, shift)

    def _load_full(self, number: int) -> Index:
        octets = self.octets[number * _INDEX : (number + 1) * _INDEX]
        kind = octets[0] & 3
        first = int.from_bytes(octets[4:6], "little")
        if kind == NEXT:
            return Index(kind, count=first & ~_COUNT if first & _COUNT else 0)
        offset = int.from_bytes(octets[2:4], "little")
        return Index(kind, self._checked(offset), int.from_bytes(octets[4:8], "little"))

    def _checked(self, offset: int) -> int:
        if offset >= 1 << self.bits:
            raise ImageError("damaged image: an offset is outside its cluster")
        return offset

    def _unpacked(self, pack: int, row: int, shift: int) -> Index:
        """unpack_compacted_index: 2 or 16 indexes, then the block before the first head's block."""
        number = 2 if shift == 2 else 16
        size = number << shift
        octets = self.octets[pack : pack + size]
        width = (size - 4) * 8 // number
        low, kind = self._decoded(octets, row, width)
        if kind == NEXT:
            return Index(kind, count=low & ~_COUNT if low & _COUNT else 0)
        block = int.from_bytes(octets[-4:], "little") + self._blocks_before(octets, row, width)
        return Index(kind, self._checked(low), block)

    def _decoded(self, octets: bytes, row: int, width: int) -> tuple[int, int]:
        at = row * width
        value = int.from_bytes(octets[at // 8 : at // 8 + 4], "little") >> at % 8
        bits = max(self.bits, _SHORT_LOG)
        return value & ((1 << bits) - 1), value >> bits & 3

    def _blocks_before(self, octets: bytes, row: int, width: int) -> int:
        """Return the blocks of the clusters that begin before a row of the pack."""
        blocks = 0 if self.big else 1
        while row > 0:
            row -= 1
            low, kind = self._decoded(octets, row, width)
            if kind != NEXT:
                blocks += 1
            elif not self.big:
                row -= low
                blocks += row >= 0
            elif low & _COUNT:
                row -= 1
                blocks += low & ~_COUNT
            elif low <= 1:
                raise ImageError("damaged image: a distance between clusters cannot be")
            else:
                row -= low - 2
        return blocks
