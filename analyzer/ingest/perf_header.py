"""The parts of a perf.data file around its records: header, event attributes, features.

Layout: tools/perf/Documentation/perf.data-file-format.txt and tools/perf/util/header.c of the
kernel; struct perf_event_attr is in include/uapi/linux/perf_event.h. Both the file mode and the
pipe mode (``perf record -o -``) are read here; the records themselves by core/perf_walk.c.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import IntEnum

from foreread.analyzer.ingest import perf_records
from foreread.analyzer.ingest.cursor import Cursor, ShortData
from foreread.analyzer.ingest.formats import ByteOrder
from foreread.analyzer.ingest.recording import TraceError

MAGICS = (b"PERFILE2", b"2ELIFREP")  # tools/perf/util/header.c: little-endian, big-endian
TRACEPOINT = 2  # PERF_TYPE_TRACEPOINT
_DUMMY = (1, 9)  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY: carries MMAP and COMM, no samples
_HEADER_SIZE = 104
_ATTR_MIN_SIZE = 64  # PERF_ATTR_SIZE_VER0
_SAMPLE_ID_ALL = 18  # bit of the attribute's flags
_MAX_IDS = 1 << 20  # events × CPUs in all


class Feature(IntEnum):
    """HEADER_* of tools/perf/util/header.h, as far as they are used."""

    TRACING_DATA = 1
    HOSTNAME = 3
    OSRELEASE = 4
    ARCH = 6
    DIR_FORMAT = 24
    COMPRESSED = 27


@dataclass(frozen=True)
class Attr:
    """One recorded event: fields of struct perf_event_attr and the ids of its samples."""

    type: int
    config: int
    sample_type: int
    read_format: int
    sample_id_all: bool
    ids: tuple[int, ...]

    @property
    def is_dummy(self) -> bool:
        """Whether it is an event without samples."""
        return (self.type, self.config) == _DUMMY


@dataclass(frozen=True)
class Container:
    """A parsed perf.data file; ``records`` is its data section."""

    byte_order: ByteOrder
    attrs: tuple[Attr, ...]
    features: dict[int, memoryview]
    records: memoryview
    notes: tuple[str, ...] = ()

    def text(self, feature: Feature) -> str | None:
        """Return a feature that is one string; None if absent or damaged."""
        try:
            cursor = Cursor(self.features[feature], self.byte_order)
            return (
                Cursor(cursor.take(cursor.u32()), self.byte_order)
                .string()
                .decode("utf-8", "replace")
            )
        except (KeyError, ShortData):
            return None


def read(data: memoryview, in_parts: bool = False) -> Container:
    """Parse a perf.data file; ``in_parts``: other files have the records. Raises TraceError."""
    byte_order = _byte_order(bytes(data[:8]))
    cursor = Cursor(data, byte_order)
    try:
        cursor.take(8)
        if cursor.u64() == 16:
            return _read_pipe(data[16:], byte_order)
        return _read_file(data, byte_order, in_parts)
    except ShortData as error:
        raise _damaged(f"its header is cut: {error}") from error


def _damaged(what: str) -> TraceError:
    return TraceError(
        f"perf.data is damaged: {what}",
        "copy it again, or record again and let perf record end by itself or by Ctrl-C",
    )


def _byte_order(magic: bytes) -> ByteOrder:
    if magic in MAGICS:
        return "little" if magic == MAGICS[0] else "big"
    if magic == b"PERFFILE":
        raise TraceError("perf.data is of version 1 (perf before 2.6.37)", "record with newer perf")
    raise TraceError("not a perf.data file: it does not begin with PERFILE2", "give another file")


@dataclass(frozen=True)
class _Section:
    offset: int
    size: int

    def of(self, data: memoryview, what: str) -> memoryview:
        if self.offset > len(data) or self.size > len(data) - self.offset:
            raise _damaged(f"its {what} would end at byte {self.offset + self.size} of {len(data)}")
        return data[self.offset : self.offset + self.size]


def _section(cursor: Cursor) -> _Section:
    return _Section(*cursor.numbers("QQ"))


@dataclass
class _Tail:
    """Feature sections, and the errors in them."""

    features: dict[int, memoryview] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def _read_file(data: memoryview, byte_order: ByteOrder, in_parts: bool) -> Container:
    cursor = Cursor(data, byte_order)
    cursor.take(8)
    header_size, attr_size = cursor.numbers("QQ")
    attrs, records, _event_types = _section(cursor), _section(cursor), _section(cursor)
    bitmap = bytes(cursor.take(32))
    if header_size != _HEADER_SIZE:
        raise _damaged(f"its header has {header_size} bytes instead of {_HEADER_SIZE}")
    if records.size == 0 and not in_parts:
        raise _cut_off()
    tail = _Tail()
    if records.offset + records.size > len(data):
        tail.notes.append(
            f"the file is cut: {len(data)} bytes of at least {records.offset + records.size}"
        )
    else:
        tail = _features(data, byte_order, bitmap, records.offset + records.size)
    return Container(
        byte_order,
        _file_attrs(data, byte_order, attrs, attr_size),
        tail.features,
        data[records.offset : records.offset + records.size],
        tuple(tail.notes),
    )


def _cut_off() -> TraceError:
    return TraceError(
        "perf.data was not completed: its header says that it holds no data, so perf record was "
        "killed or the power failed, and the event formats, written last, are missing",
        "record again and end perf record by Ctrl-C, or record through a pipe "
        "(perf record -o - … > FILE), which is readable up to where it was cut",
    )


def _features(data: memoryview, byte_order: ByteOrder, bitmap: bytes, start: int) -> _Tail:
    """Read the table of sections after the records, one for each bit that is set."""
    tail = _Tail()
    cursor = Cursor(data[start:], byte_order)
    try:
        for feature in _feature_bits(bitmap, byte_order):
            tail.features[feature] = _section(cursor).of(data, f"feature {feature}")
    except (ShortData, TraceError) as error:
        tail.notes.append(f"the file's features are damaged: {error}")
    return tail


def _feature_bits(bitmap: bytes, byte_order: ByteOrder) -> list[int]:
    """Return the bits set in an unsigned long[]; a 32-bit big-endian machine's has other words."""
    for word in ("Q", "I"):
        width = struct.calcsize(f"<{word}") * 8
        words = struct.unpack(
            f"{'<' if byte_order == 'little' else '>'}{256 // width}{word}", bitmap
        )
        bits = [i for i in range(256) if words[i // width] >> (i % width) & 1]
        if byte_order == "little" or Feature.HOSTNAME in bits:
            break
    return bits


def _file_attrs(
    data: memoryview, byte_order: ByteOrder, section: _Section, entry_size: int
) -> tuple[Attr, ...]:
    """Each entry is an attribute, then the section of its ids."""
    if entry_size < _ATTR_MIN_SIZE + 16 or section.size % entry_size:
        raise _damaged(f"attributes of {entry_size} bytes do not fill {section.size} bytes")
    cursor = Cursor(section.of(data, "attributes"), byte_order)
    attrs: list[Attr] = []
    room = _MAX_IDS
    while cursor.left:
        attr = _attr(cursor.take(entry_size - 16), byte_order)
        ids = _section(cursor).of(data, "event ids")
        room -= len(ids) // 8
        if room < 0:
            raise _damaged(f"its events have more than {_MAX_IDS} ids")
        attrs.append(replace(attr, ids=_ids(ids, byte_order)))
    return tuple(attrs)


def _attr(data: memoryview, byte_order: ByteOrder) -> Attr:
    cursor = Cursor(data, byte_order)
    kind, _size, config, _period, sample_type, read_format = cursor.numbers("IIQQQQ")
    flags = cursor.take(8)
    # A bit field: the first bit is the lowest on little-endian machines, else the highest.
    bit = _SAMPLE_ID_ALL % 8 if byte_order == "little" else 7 - _SAMPLE_ID_ALL % 8
    sample_id_all = bool(flags[_SAMPLE_ID_ALL // 8] >> bit & 1)
    return Attr(kind, config, sample_type, read_format, sample_id_all, ())


def _ids(data: memoryview, byte_order: ByteOrder) -> tuple[int, ...]:
    return Cursor(data, byte_order).numbers(f"{len(data) // 8}Q")


def _read_pipe(data: memoryview, byte_order: ByteOrder) -> Container:
    """Pipe mode: attributes and features are records, before the first sample."""
    attrs: list[Attr] = []
    features: dict[int, memoryview] = {}
    with suppress(ShortData):  # the walk over the records reaches the same end and reports it
        for kind, body, extra in perf_records.describing(data, byte_order):
            if kind == perf_records.HEADER_ATTR:
                attrs.append(_pipe_attr(body, byte_order))
            elif kind == perf_records.TRACING_DATA:
                features[Feature.TRACING_DATA] = extra
            elif kind == perf_records.HEADER_FEATURE:
                features[Cursor(body, byte_order).u64()] = body[8:]
    return Container(byte_order, tuple(attrs), features, data)


def _pipe_attr(body: memoryview, byte_order: ByteOrder) -> Attr:
    cursor = Cursor(body, byte_order)
    _kind, size = cursor.numbers("II")
    cursor = Cursor(body, byte_order)
    attr = _attr(cursor.take(max(size, _ATTR_MIN_SIZE)), byte_order)
    return replace(attr, ids=_ids(cursor.take(cursor.left), byte_order))
