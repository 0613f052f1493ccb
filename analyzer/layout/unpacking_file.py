"""Reads unpacking.json: a board's time to unpack, by compressor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.layout.order import LayoutError
from foreread.analyzer.layout.seconds import Unpacking
from foreread.boards.base.document import read_document
from foreread.boards.base.note import Note, NoteKind
from foreread.emulator.images.compressors import COMPRESSORS, Compressor
from foreread.tracer.formats.unpacking import Unpacked, UnpackingDocument

_OPTIONS: Mapping[str, str] = {
    "gzip": "CONFIG_SQUASHFS_ZLIB",
    "lz4": "CONFIG_SQUASHFS_LZ4",
    "zstd": "CONFIG_SQUASHFS_ZSTD",
    "xz": "CONFIG_SQUASHFS_XZ",
    "lzo": "CONFIG_SQUASHFS_LZO",
}
_REMEDY = "write one with `foreread layout … --target T`"


@dataclass(frozen=True)
class Measured:
    """What a board takes to unpack."""

    document: UnpackingDocument

    @property
    def by_compressor(self) -> Mapping[str, Unpacking]:
        """The time of each compressor."""
        by_name: dict[str, list[Unpacked]] = {}
        for entry in self.document.compressors:
            by_name.setdefault(entry.compressor, []).append(entry)
        page = self.document.page_size
        return {compressor: _unpacking(measured, page) for compressor, measured in by_name.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the board lacks."""
        missing = ", ".join(self.document.missing)
        if not missing:
            return ()
        text = f"{missing}: not compared; the board's kernel, or mksquashfs here, lacks it"
        return (Note(text, NoteKind.ANSWER),)

    def usable(self, compressors: Sequence[Compressor] | None) -> list[Compressor]:
        """Return the compressors that the board has; ``compressors``, if given, must be there.

        Raises LayoutError.
        """
        missing = set(self.document.missing)
        for compressor in compressors or ():
            if compressor in missing:
                kernel = self.document.kernel or "unknown"
                raise LayoutError(
                    f"the board's kernel ({kernel}), or mksquashfs here, lacks {compressor}",
                    f"set {_OPTIONS[compressor]}=y in the kernel, or leave out --compressor "
                    f"{compressor}",
                )
        return [
            compressor for compressor in compressors or COMPRESSORS if compressor not in missing
        ]


def read_unpacking(file: StrPath) -> Measured:
    """Return what a file says. Raises LayoutError."""
    return Measured(read_document(file, UnpackingDocument, LayoutError, _REMEDY))


def _unpacking(measured: Sequence[Unpacked], page_bytes: int) -> Unpacking:
    """Return the time of one compressor, measured with blocks of one size or several."""
    insert_ns = sum(entry.insert_ns for entry in measured) / len(measured)
    first, sizes = measured[0], [entry for entry in measured if entry.block_size is not None]
    by_block = sorted((entry.block_size or 0, entry.page_ns, entry.sector_ns) for entry in sizes)
    return Unpacking(first.page_ns, first.sector_ns, insert_ns, tuple(by_block), page_bytes)
