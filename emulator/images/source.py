"""The bytes of an image, which are hostile input: every read is checked."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from typing import Any

from foreread.emulator.error import EmulatorError

Octets = bytes | bytearray | memoryview | mmap.mmap
_NOT_AN_IMAGE = "give the image that the board boots from, or build it again"


class ImageError(EmulatorError, ValueError):
    """An image that cannot be read; ``remedy`` says what to do."""

    def __init__(self, message: str, remedy: str = _NOT_AN_IMAGE) -> None:
        super().__init__(message, remedy)


@dataclass(frozen=True, eq=False)
class Source:
    """An image in memory, or mapped into it."""

    octets: Octets

    def __len__(self) -> int:
        return len(self.octets)

    def read(self, at: int, length: int, what: str) -> bytes:
        """Return ``length`` bytes from position ``at``; ImageError if the image ends before."""
        if at < 0 or length < 0 or at + length > len(self.octets):
            raise ImageError(f"damaged image: {what} at byte {at:,} is outside the image")
        return bytes(self.octets[at : at + length])

    def unpack(self, layout: struct.Struct, at: int, what: str) -> tuple[Any, ...]:
        """Return the fields of a structure at a position; ImageError as ``read``."""
        return layout.unpack(self.read(at, layout.size, what))


@dataclass(eq=False)
class Budget:
    """The limit of an amount that an image may contain, whatever its headers state."""

    most: int
    what: str
    spent: int = 0

    def spend(self, amount: int) -> None:
        """Add to the amount; ImageError above the limit."""
        self.spent += amount
        if self.spent > self.most:
            raise ImageError(
                f"the image has more than {self.most:,} {self.what}, more than foreread reads",
                "give an image with fewer files",
            )
