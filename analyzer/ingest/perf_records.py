"""The records of a perf.data that describe the others: pipe mode, and Android's simpleperf.

Layouts: tools/lib/perf/include/perf/event.h of the kernel; system/extras/simpleperf/record.h of
Android, whose own types begin at 32768 and have sizes of 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from foreread.analyzer.ingest.cursor import Cursor, ShortData
from foreread.analyzer.ingest.formats import ByteOrder

HEADER_ATTR, TRACING_DATA, HEADER_FEATURE = 64, 66, 80
_SAMPLE, _AUXTRACE, _COMPRESSED = 9, 71, 81
_SIMPLEPERF = 1 << 15
_SPLIT, _SPLIT_END, _SIMPLEPERF_TRACING_DATA = 32772, 32773, 32777

Record = tuple[int, memoryview, memoryview]  # type, content, what follows without being counted


def describing(data: memoryview, byte_order: ByteOrder) -> Iterator[Record]:
    """Yield the records up to the first sample, or to damage: the walk reports that.

    A record that simpleperf has split is one.
    """
    cursor, parts = Cursor(data, byte_order), bytearray()
    with suppress(ShortData):
        while cursor.left >= 8:
            kind, size = _header(cursor)
            if size < 8 or kind == _SAMPLE:
                return
            body = cursor.take(size - 8)
            extra = cursor.take(_payload(kind, body, byte_order))
            if kind == _SPLIT:
                parts += body
            elif kind == _SPLIT_END:
                whole = Cursor(memoryview(bytes(parts)), byte_order)
                kind, size = _header(whole)
                yield kind, whole.take(max(size - 8, 0)), extra
                parts.clear()
            else:
                yield kind, body, extra


def is_compressed(data: memoryview, byte_order: ByteOrder) -> bool:
    """Return whether ``simpleperf record -z`` wrote the records: no feature of the file says so."""
    return len(data) >= 8 and _header(Cursor(data, byte_order))[0] == _COMPRESSED


def formats_in(data: memoryview, byte_order: ByteOrder) -> memoryview | None:
    """Return the event formats among the records; None without them."""
    for kind, body, extra in describing(data, byte_order):
        if kind in (TRACING_DATA, _SIMPLEPERF_TRACING_DATA):
            cursor = Cursor(body, byte_order)
            with suppress(ShortData):
                return extra if len(extra) else cursor.take(cursor.u32())
    return None


def _header(cursor: Cursor) -> tuple[int, int]:
    """Return type and size of the next record."""
    kind, upper, size = cursor.numbers("IHH")
    return kind, size | upper << 16 if kind >= _SIMPLEPERF else size


def _payload(kind: int, body: memoryview, byte_order: ByteOrder) -> int:
    """Bytes after a record that its size does not count; simpleperf counts its formats."""
    if kind == TRACING_DATA:
        size = Cursor(body, byte_order).u32()
        return 0 if len(body) - 4 >= size else (size + 7) & ~7
    if kind == _AUXTRACE:
        return Cursor(body, byte_order).u64()
    return 0
