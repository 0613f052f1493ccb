"""The contents of files of a squashfs image, unpacked."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from foreread.emulator.images.compressors import unpack
from foreread.emulator.images.source import ImageError, Octets, Source
from foreread.emulator.images.squashfs import SquashfsImage

_KEPT = 3  # unpacked fragments: as many as the kernel keeps


@dataclass(eq=False)
class Contents:
    """The contents of an image; some fragments stay unpacked, since many files share each."""

    image: SquashfsImage
    octets: Octets
    kept: dict[int, bytes] = field(default_factory=dict)

    def block(self, file: int, number: int) -> bytes:
        """Return the unpacked bytes of one block of a file; the last one may be in a fragment.

        ``file`` is a row of ``image.files``. Raises ImageError for damaged or missing data.
        """
        row, size = self.image.files[file], self.image.block_size
        length = min(size, int(row["size"]) - number * size)
        if number < 0 or length <= 0:
            raise ImageError(f"a file of {int(row['size']):,} bytes has no block {number}")
        if number < int(row["blocks"]):
            octets = self._unpacked(self.image.blocks[int(row["first"]) + number])
            octets = octets or b"\0" * length
        else:
            octets = self._fragment(int(row["fragment"]))[int(row["offset"]) :][:length]
        if len(octets) != length:
            raise ImageError(
                f"damaged image: a block of {len(octets):,} instead of {length:,} bytes"
            )
        return octets

    def _fragment(self, row: int) -> bytes:
        unpacked = self.kept.get(row)
        if unpacked is None:
            unpacked = self._unpacked(self.image.fragments[row])
            if len(self.kept) >= _KEPT:
                self.kept.pop(next(iter(self.kept)))
            self.kept[row] = unpacked
        return unpacked

    def _unpacked(self, block: np.void) -> bytes:
        packed = Source(self.octets).read(int(block["at"]), int(block["length"]), "a block")
        if block["stored"] or not packed:
            return packed
        return unpack(self.image.superblock.compressor, packed, self.image.block_size)
