"""The kernel's tracing metadata as perf.data and trace.dat v6 embed it.

Layout: tools/perf/util/trace-event-info.c (``tracing_data_get``), trace-cmd.dat.v6(5).
"""

from __future__ import annotations

from dataclasses import dataclass

from foreread.analyzer.ingest.cursor import Cursor
from foreread.analyzer.ingest.formats import ByteOrder, Formats, event_name
from foreread.tracer.formats.limits import (
    METADATA_REMEDY,
    MOST_FORMAT_BYTES,
    MOST_TEXT_BYTES,
    check_formats,
    check_size,
)

MAGIC = b"\x17\x08\x44tracing"
_MAX_COUNT = 1 << 16  # of systems, and of events in a system


@dataclass(frozen=True)
class TracingData:
    """The recorded kernel's description of its events; ``texts`` by "system:name"."""

    byte_order: ByteOrder
    long_size: int
    page_size: int
    header_page: bytes
    texts: dict[str, bytes]

    def formats(self, kernel: str | None) -> Formats:
        """Return the events' formats, not parsed yet."""
        return Formats(
            self.texts, byte_order=self.byte_order, long_size=self.long_size, kernel=kernel
        )


def read(data: memoryview | bytes) -> TracingData:
    """Return the metadata up to the event formats; raises ValueError if it is damaged."""
    cursor = Cursor(data, "little")
    if cursor.take(len(MAGIC)) != MAGIC:
        raise ValueError("it does not begin as tracing metadata")
    cursor.string(16)  # version
    big_endian, long_size = cursor.take(2)
    byte_order: ByteOrder = "big" if big_endian else "little"
    cursor = Cursor(cursor.take(cursor.left), byte_order)
    page_size = cursor.u32()
    if big_endian > 1 or long_size not in (4, 8) or not is_trace_page_size(page_size):
        raise ValueError(f"impossible page size {page_size} or long size {long_size}")
    header_page = header_file(cursor, b"header_page")
    header_file(cursor, b"header_event")
    texts = event_formats(cursor, "ftrace") | system_formats(cursor)
    return TracingData(byte_order, long_size, page_size, header_page, texts)


def is_trace_page_size(size: int) -> bool:
    """Return whether a kernel may have pages of this many bytes: 4 KiB to 256 KiB."""
    return 4096 <= size <= 1 << 18 and size & (size - 1) == 0


def header_file(cursor: Cursor, name: bytes) -> bytes:
    """Return the text that follows ``name``, header_page or header_event."""
    if cursor.string(32) != name:
        raise ValueError(f"{name.decode()} is missing")
    length = cursor.u64()
    check_size(name.decode(), length, MOST_TEXT_BYTES, METADATA_REMEDY)
    return bytes(cursor.take(length))


def system_formats(cursor: Cursor) -> dict[str, bytes]:
    """Return the formats of counted event systems by "system:name"."""
    texts: dict[str, bytes] = {}
    for _ in range(count(cursor)):
        system = cursor.string(256).decode(errors="replace")
        texts |= event_formats(cursor, system)
        check_formats(len(texts), "the trace")
    return texts


def event_formats(cursor: Cursor, system: str) -> dict[str, bytes]:
    """Return the counted formats of one system by "system:name"."""
    texts = {}
    for _ in range(count(cursor)):
        text = bytes(cursor.take(_length(cursor)))
        name = event_name(text)
        if name is not None:
            texts[f"{system}:{name}"] = text
    return texts


def _length(cursor: Cursor) -> int:
    """Return the length of a format."""
    length = cursor.u64()
    check_size("the format of an event", length, MOST_FORMAT_BYTES, METADATA_REMEDY)
    return length


def count(cursor: Cursor) -> int:
    """Return a count, bounded by the bytes that so many items need."""
    number = cursor.u32()
    if number > _MAX_COUNT:
        raise ValueError(f"impossible count {number}")
    return number
