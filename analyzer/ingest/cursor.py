"""A bounds-checked reader of the small binary structures around a trace's records."""

from __future__ import annotations

import struct
from typing import Literal


class ShortData(ValueError):
    """The structure ends before its last field."""


class Cursor:
    """A position in bytes; every step past the end raises ShortData."""

    def __init__(self, data: memoryview | bytes, byte_order: Literal["little", "big"]) -> None:
        self._data = memoryview(data)
        self.byte_order = byte_order
        self._prefix = "<" if byte_order == "little" else ">"
        self.at = 0

    @property
    def left(self) -> int:
        """Bytes not yet read."""
        return len(self._data) - self.at

    def take(self, size: int) -> memoryview:
        """Return the next ``size`` bytes, not copied."""
        if size < 0 or size > self.left:
            raise ShortData(f"{size} bytes wanted at {self.at}, {self.left} are left")
        self.at += size
        return self._data[self.at - size : self.at]

    def numbers(self, codes: str) -> tuple[int, ...]:
        """Return numbers by struct codes (``"IIQ"``), unaligned, in the data's byte order."""
        layout = struct.Struct(self._prefix + codes)
        return layout.unpack(self.take(layout.size))

    def u16(self) -> int:
        """Return an unsigned 16-bit number."""
        return self.numbers("H")[0]

    def u32(self) -> int:
        """Return an unsigned 32-bit number."""
        return self.numbers("I")[0]

    def u64(self) -> int:
        """Return an unsigned 64-bit number."""
        return self.numbers("Q")[0]

    def string(self, limit: int = 4096) -> bytes:
        """Return the bytes up to the next NUL, which is read too."""
        window = bytes(self._data[self.at : self.at + limit])
        end = window.find(0)
        if end < 0:
            raise ShortData(f"string at {self.at} has no end")
        self.at += end + 1
        return window[:end]
