"""unpacking.json: the time that a board's processor takes to unpack blocks, by compressor."""

from __future__ import annotations

from typing import Annotated

import msgspec

from foreread.boards.base.document import Document, says


class Unpacked(msgspec.Struct, frozen=True, kw_only=True):
    """One compressor with blocks of one size, measured."""

    compressor: str
    page_ns: Annotated[float, says("time to unpack a page, for what comes out")]
    insert_ns: Annotated[float, says("time to put an unpacked page into the page cache")]
    pages: Annotated[int, says("pages unpacked in all")]
    seconds: Annotated[float, says("duration of the measurement")]
    sector_ns: Annotated[float, says("more time for each compressed sector that goes in")] = 0.0
    block_size: Annotated[
        Annotated[int, msgspec.Meta(ge=1)] | None,
        says("bytes of the blocks that were unpacked; null: not known, or clusters"),
    ] = None


class UnpackingDocument(Document, frozen=True, kw_only=True):
    """What a board's kernel takes to read blocks that are in memory, unpacked."""

    kernel: str
    page_size: int
    compressors: tuple[Unpacked, ...]
    missing: Annotated[
        tuple[str, ...], says("compressors that the kernel of the board, or the builder, lacks")
    ]

    def lacking(self, compressors: tuple[str, ...]) -> UnpackingDocument:
        """Return the same with more compressors that are missing."""
        return msgspec.structs.replace(self, missing=(*self.missing, *compressors))

    def also(self, other: UnpackingDocument) -> UnpackingDocument:
        """Return the same with what was measured of the same compressors in ``other``."""
        compressors = {compressor.compressor for compressor in self.compressors}
        more = tuple(
            compressor for compressor in other.compressors if compressor.compressor in compressors
        )
        return msgspec.structs.replace(self, compressors=(*self.compressors, *more))
