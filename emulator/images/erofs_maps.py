"""The places of a compressed EROFS file's bytes, as the kernel maps them (fs/erofs/zmap.c).

Indexes are read from metadata pages, one for each logical cluster of a block. The kernel knows an
extent up to the end of the logical cluster that it looked at, not up to the end of the extent.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from foreread.emulator.images.erofs import ErofsImage
from foreread.emulator.images.erofs_clusters import IndexPlaces
from foreread.emulator.images.erofs_format import COMPRESSED
from foreread.emulator.images.source import ImageError

_LZ4 = 0  # Z_EROFS_COMPRESSION_LZ4


class Kind(IntEnum):
    """The kind of a mapping."""

    HOLE = 0  # after the end of the file
    CLUSTER = 1
    INLINE = 2  # a cluster among the metadata
    FRAGMENT = 3  # bytes of the file with all fragments


@dataclass(slots=True)
class Mapped:
    """Bytes [at, end) of a file (struct erofs_map_blocks).

    ``full``: the end of the whole extent is known (EROFS_MAP_FULL_MAPPED). ``place`` and ``stored``
    are the bytes on the image, ``packed`` if they are compressed.
    """

    at: int
    end: int
    kind: Kind
    full: bool = False
    place: int = 0
    stored: int = 0
    packed: bool = False


class CompressedFile:
    """A compressed file: its extents and the places of its indexes."""

    def __init__(self, image: ErofsImage, row: int) -> None:
        file = image.files[row]
        if file["layout"] not in COMPRESSED:
            raise ImageError("a file that is not compressed", "pass a row of a compressed one")
        self.size = int(file["size"])
        pieces = image.pieces[int(file["first"]) :][: int(file["pieces"])]
        self.block = image.superblock.block_size
        self.heads: list[int] = pieces["at"].tolist()
        self.rows = list(
            zip(*(pieces[name].tolist() for name in ("place", "stored", "packed")), strict=True)
        )
        self.kinds = [
            Kind.FRAGMENT if fragment else Kind.INLINE if stored % self.block else Kind.CLUSTER
            for fragment, stored in zip(
                pieces["fragment"].tolist(), pieces["stored"].tolist(), strict=True
            )
        ]
        self.indexes: IndexPlaces | None = image.indexes[row]
        self.header = -(-int(file["inode_end"]) // 8) * 8
        ends = self.indexes is not None and self.indexes.ends
        # Heads of logical clusters: in the last cluster it may be the end of the file.
        self.marks = [*self.heads, *([self.size] if ends else [])]

    def map(self, offset: int, readmore: bool = False) -> Mapped:
        """z_erofs_map_blocks_iter: return the known part of the extent at an offset."""
        if offset >= self.size:
            return Mapped(self.size, offset + 1, Kind.HOLE)
        if self.indexes is None:
            return Mapped(0, self.size, Kind.FRAGMENT, place=self.rows[0][0])
        row = bisect_right(self.heads, offset) - 1
        border = (offset // self.block + 1) * self.block
        after = self.marks[row + 1] if row + 1 < len(self.marks) else border
        full = after < border
        kind = self.kinds[row]
        if self.kinds[-1] == Kind.INLINE and not full:
            border = min(border, self.size) if self.heads[row] >= border - self.block else border
        place, stored, packed = self.rows[row]
        mapped = Mapped(self.heads[row], min(after, border), kind, full, place, stored, packed > 0)
        if kind == Kind.FRAGMENT:
            mapped.full = False
        elif readmore and self._expands(packed) and mapped.end - mapped.at >= self.block:
            mapped.end, mapped.full = self._extent_end(row), True
        return mapped

    def _expands(self, packed: int) -> bool:
        """Return whether the kernel searches the end of an extent to unpack it whole."""
        if not packed or self.indexes is None:
            return False
        return (self.indexes.algorithms >> 4 * (packed - 1)) & 15 != _LZ4

    def _extent_end(self, row: int) -> int:
        """z_erofs_get_extent_decompressedlen: up to the next head; the last extent to the end."""
        return self.marks[row + 1] if row + 1 < len(self.marks) else self.size

    def metadata_of(self, mapped: Mapped, offset: int) -> Iterator[int]:
        """Yield the bytes of metadata that ``map`` reads: the index, its head's index, the next."""
        if self.indexes is None or mapped.kind == Kind.HOLE:
            return
        last = -(-self.size // self.block) - 1
        head = mapped.at // self.block
        numbers = {min(offset // self.block, last), head, min((mapped.end - 1) // self.block, last)}
        if mapped.stored > self.block:
            numbers.add(min(head + 1, last))
        for number in sorted(numbers):
            yield self.indexes.of(number)

    def metadata_of_first(self) -> Iterator[int]:
        """Yield the bytes of metadata read before the first ``map`` (z_erofs_fill_inode_lazy)."""
        yield self.header
        if self.indexes is not None and self.kinds[-1] != Kind.CLUSTER:
            last = -(-self.size // self.block) - 1
            yield self.indexes.of(last)
            yield self.indexes.of(self.heads[-1] // self.block)
