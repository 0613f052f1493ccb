"""A tiny writer of BTF: structs of named, anonymous and bit-field members (uapi/linux/btf.h)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

INT, PTR, STRUCT, UNION, TYPEDEF, CONST = 1, 2, 4, 5, 8, 10
HEADER_BYTES = 24


@dataclass
class BtfFile:
    """Types in order; ``order`` is "<" or ">"."""

    order: str = "<"
    types: list[bytes] = field(default_factory=list)
    strings: bytes = b"\0"

    def string(self, text: str) -> int:
        if not text:
            return 0
        at = len(self.strings)
        self.strings += text.encode() + b"\0"
        return at

    def add(self, kind: int, name: str, value: int, *words: int, vlen=0, flag=0) -> int:
        info = flag << 31 | kind << 24 | vlen
        head = struct.pack(f"{self.order}III", self.string(name), info, value)
        self.types.append(head + struct.pack(f"{self.order}{len(words)}I", *words))
        return len(self.types)

    def integer(self, size: int = 4) -> int:
        return self.add(INT, f"u{size * 8}", size, size * 8)

    def struct(self, name: str, *members: tuple[str, int, int], kind=STRUCT, flag=0) -> int:
        """Add a struct of (name, type, offset in bits or as its flag has it)."""
        words = [word for text, type_, at in members for word in (self.string(text), type_, at)]
        return self.add(kind, name, 0, *words, vlen=len(members), flag=flag)

    @property
    def data(self) -> bytes:
        types = b"".join(self.types)
        head = (0xEB9F, 1, 0, HEADER_BYTES, 0, len(types), len(types), len(self.strings))
        return struct.pack(f"{self.order}HBBIIIII", *head) + types + self.strings
