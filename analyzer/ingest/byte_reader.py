"""A bounds-checked cursor over bytes of a file whose numbers have a byte order."""

from __future__ import annotations

from typing import Literal

from analyzer.ingest.recording import TraceError

DAMAGED = "the file is damaged or was cut off: copy or record it again"


class ByteReader:
    """Reads numbers, blocks and strings from ``data``; raises TraceError past its end."""

    def __init__(self, data: memoryview, byte_order: Literal["little", "big"]) -> None:
        self.data = data
        self.byte_order = byte_order
        self.offset = 0

    def seek(self, offset: int, what: str) -> None:
        """Go to ``offset``, which the file says ``what`` is at."""
        if offset > len(self.data):
            raise TraceError(
                f"{what} would be at byte {offset} of a file of {len(self.data)} bytes", DAMAGED
            )
        self.offset = offset

    def take(self, size: int, what: str) -> memoryview:
        """Return the next ``size`` bytes, without a copy."""
        end = self.offset + size
        if end > len(self.data):
            raise TraceError(
                f"the file ends at byte {len(self.data)}, inside {what} ({size} bytes at "
                f"{self.offset})",
                DAMAGED,
            )
        block = self.data[self.offset : end]
        self.offset = end
        return block

    def number(self, size: int, what: str) -> int:
        """Return the next unsigned number of ``size`` bytes."""
        return int.from_bytes(self.take(size, what), self.byte_order)

    def string(self, limit: int, what: str) -> str:
        """Return the next NUL-terminated string of less than ``limit`` bytes."""
        window = bytes(self.data[self.offset : self.offset + limit])
        text, end, _ = window.partition(b"\0")
        if not end:
            raise TraceError(f"{what} at byte {self.offset} does not end", DAMAGED)
        self.offset += len(text) + 1
        return text.decode(errors="surrogateescape")

    def expect(self, magic: bytes, what: str) -> None:
        """Skip ``magic``, which must come next."""
        at = self.offset
        if bytes(self.take(len(magic), what)) != magic:
            raise TraceError(f"{what} expected at byte {at}, something else found", DAMAGED)
