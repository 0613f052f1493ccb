"""Which parts of a program or library are mapped, and which of them are executed (elf(5)).

The kernel maps a program and its dynamic loader without a system call, so traces do not show it.
"""

from __future__ import annotations

import os
import struct

_LARGEST_TABLE = 64 << 10  # bytes of program headers; real files have under 1 KiB
_PT_LOAD = 1
_PF_X, _PF_W = 1, 2


def segments_of(descriptor: int) -> list[tuple[int, int, bool, bool]]:
    """Return (position, length, executable, writable) of each mapped part; [] if not ELF."""
    head = os.pread(descriptor, 64, 0).ljust(64, b"\0")
    if head[:4] != b"\x7fELF" or head[4] not in (1, 2) or head[5] not in (1, 2):
        return []
    order = "<" if head[5] == 1 else ">"
    if head[4] == 2:
        (start,) = struct.unpack_from(order + "Q", head, 32)
        size, count = struct.unpack_from(order + "HH", head, 54)
        fields = struct.Struct(order + "IIQQQQ")  # type, flags, offset, vaddr, paddr, filesz
    else:
        (start,) = struct.unpack_from(order + "I", head, 28)
        size, count = struct.unpack_from(order + "HH", head, 42)
        fields = struct.Struct(
            order + "IIIIIII"
        )  # type, offset, vaddr, paddr, filesz, memsz, flags
    if size < fields.size or size * count > _LARGEST_TABLE or start >= 1 << 62:
        return []
    table = os.pread(descriptor, size * count, start)
    segments = []
    for at in range(0, len(table) - fields.size + 1, size):
        row = fields.unpack_from(table, at)
        kind, flags = row[0], row[1] if head[4] == 2 else row[6]
        offset, length = (row[2], row[5]) if head[4] == 2 else (row[1], row[4])
        if kind == _PT_LOAD and length and offset + length < 1 << 62:
            segments.append((offset, length, bool(flags & _PF_X), bool(flags & _PF_W)))
    return segments
