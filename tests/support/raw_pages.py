"""A slow, plain reader of ring-buffer pages, to look at what the tracer recorded.

Layout: Documentation/trace/ring-buffer-map.rst, include/linux/ring_buffer.h (type_len, 6.18).
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

PADDING, TIME_EXTEND, TIME_STAMP = 29, 30, 31


def read_events(trace: Path, name: str) -> list[dict[str, int]]:
    """Return the integer fields of every event ``system/name`` in a trace directory."""
    number, fields = read_format(trace / "events" / name / "format")
    pages = [page for raw in sorted(trace.glob("cpu*.raw")) for page in _pages(raw)]
    records = [record for page in pages for record in _records(page)]
    return [
        {field: _integer(record, *place) for field, place in fields.items()}
        for record in records
        if struct.unpack_from("=H", record)[0] == number
    ]


def read_format(path: Path) -> tuple[int, dict[str, tuple[int, int]]]:
    """Return an event's id, and offset and size of each of its integer fields."""
    text = path.read_text()
    number = int(re.search(r"^ID: (\d+)", text, re.M)[1])
    found = re.findall(r"field:[^;\[]*?(\w+);\s*offset:(\d+);\s*size:([1248]);", text)
    return number, {name: (int(offset), int(size)) for name, offset, size in found}


def _pages(raw: Path, size: int = 4096) -> list[bytes]:
    data = raw.read_bytes()
    return [data[start : start + size] for start in range(0, len(data), size)]


def _records(page: bytes) -> list[bytes]:
    """Return the data of every event in a page."""
    _, commit = struct.unpack_from("=QQ", page)
    end = 16 + (commit & 0xFFFFF)
    position, records = 16, []
    while position < end:
        (word,) = struct.unpack_from("=I", page, position)
        type_len, position = word & 31, position + 4
        if type_len in (TIME_EXTEND, TIME_STAMP):
            position += 4
            continue
        if type_len in (0, PADDING):
            (length,) = struct.unpack_from("=I", page, position)
            if type_len == 0:
                records.append(page[position + 4 : position + length])
            elif word >> 5 == 0:
                break  # the rest of the page is padding
            position += length
        else:
            records.append(page[position : position + type_len * 4])
            position += type_len * 4
    return records


def _integer(record: bytes, offset: int, size: int) -> int:
    return int.from_bytes(record[offset : offset + size], "little")
