"""The trace.dat container, versions 6 and 7: where things are, nothing decoded.

Format: trace-cmd's trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5); libtracecmd, trace-input.c.
A version 6 file is one sequence, a version 7 file sections that options point to. What both have
in common (header page, event formats, options) is read by the same functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from analyzer.ingest import _readers
from analyzer.ingest.byte_reader import DAMAGED, ByteReader
from analyzer.ingest.formats import event_name
from analyzer.ingest.recording import TraceError
from analyzer.ingest.ring import lost_in_stats
from analyzer.ingest.tables import Array

MAGIC = b"\x17\x08\x44tracing"
_LATENCY_REMEDY = "it holds a latency tracer's text, no events: record with trace-cmd record"
_NAME_LIMIT = 4096
_COUNT_LIMIT = 1 << 16  # CPUs, systems, events of a system
_RATIO_LIMIT = 1024  # uncompressed by compressed bytes; ring-buffer pages reach about 100
_SMALL = 64 << 20  # bytes that are always allowed

# enum of trace-cmd-private.h: options, which are section ids as well
_DONE, _DATE, _CPUSTAT, _BUFFER, _TRACECLOCK, _UNAME = range(6)
_OFFSET, _CPUCOUNT, _TSC2NSEC = 7, 8, 14
_HEADER_INFO, _FTRACE_EVENTS, _EVENT_FORMATS, _BUFFER_TEXT = 16, 17, 18, 22
_SECTIONS = {_HEADER_INFO, _FTRACE_EVENTS, _EVENT_FORMATS}
_COMPRESSED = 1  # section flag


@dataclass(frozen=True)
class CpuData:
    """Trace data of one CPU: ``size`` bytes in the file at ``offset``."""

    cpu: int
    offset: int
    size: int


@dataclass
class Buffer:
    """One buffer instance; ``name`` is "" for the top one."""

    name: str
    offset: int
    page_size: int = 0
    cpus: list[CpuData] = field(default_factory=list)
    compressed: bool = False


@dataclass(frozen=True)
class TscToNs:
    """Converts ticks: ``ticks * mult >> shift``."""

    mult: int
    shift: int


@dataclass
class Container:
    """What a trace.dat says of itself, and where its trace data lies."""

    version: int
    reader: ByteReader
    long_size: int
    page_size: int
    compression: str = "none"
    header_page: bytes = b""
    formats: dict[str, bytes] = field(default_factory=dict)
    buffers: list[Buffer] = field(default_factory=list)
    cpu_count: int = 0
    clock: str | None = None
    kernel: str | None = None
    lost: dict[int, int] = field(default_factory=dict)
    time_offset_ns: int = 0
    tsc: TscToNs | None = None
    sections: dict[int, int] = field(default_factory=dict)
    has_text: bool = False

    def expand(self, block: memoryview, size: int) -> memoryview:
        """Return a compressed block expanded to ``size`` bytes; raises TraceError."""
        target = self.room(size, len(block))
        try:
            _readers.inflate(self.compression, block, target)
        except _readers.ReaderError as error:
            raise TraceError(f"{error} ({self.compression})", DAMAGED) from error
        return memoryview(target.data)

    def room(self, size: int, compressed: int) -> Array:
        """Return ``size`` bytes to expand into, unless no real trace packs so tightly."""
        if size > max(_SMALL, _RATIO_LIMIT * compressed):
            raise TraceError(f"{compressed} bytes claim to expand to {size} bytes", DAMAGED)
        return np.empty(size, np.uint8)


def parse(data: memoryview) -> Container:
    """Read the container in ``data``; raises TraceError where it is cut off or senseless."""
    reader = ByteReader(data, "little")
    reader.expect(MAGIC, "the magic of a trace.dat")
    version = reader.string(16, "the file's version")
    if version not in ("6", "7"):
        raise TraceError(
            f"trace.dat version {version!r}; versions 6 and 7 can be read",
            "convert it: trace-cmd convert --file-version 7",
        )
    if reader.number(1, "the byte order"):
        reader.byte_order = "big"
    long_size = reader.number(1, "the size of long")
    if long_size not in (4, 8):
        raise TraceError(f"a long of {long_size} bytes", DAMAGED)
    container = Container(int(version), reader, long_size, reader.number(4, "the page size"))
    if container.version == 6:
        _read_v6(container)
    else:
        _read_v7(container)
    return container


def _read_v6(container: Container) -> None:
    reader = container.reader
    _header_info(container, reader)
    _ftrace_events(container, reader)
    _event_formats(container, reader)
    reader.take(reader.number(4, "the size of kallsyms"), "kallsyms")
    reader.take(reader.number(4, "the size of the printk formats"), "the printk formats")
    reader.take(reader.number(8, "the size of the command names"), "the command names")
    container.cpu_count = _limited(reader, "CPUs")
    top = Buffer("", reader.offset, container.page_size)
    container.buffers.append(top)
    _flyrecord(container, top)
    if container.clock == "":
        text = reader.take(reader.number(8, "the size of the clock's name"), "the clock's name")
        container.clock = _chosen_clock(bytes(text))
    for instance in container.buffers[1:]:
        reader.seek(instance.offset, f"buffer {instance.name!r}")
        instance.page_size = container.page_size
        _flyrecord(container, instance)


def _flyrecord(container: Container, buffer: Buffer) -> None:
    """Read the options, if any, and where the buffer's CPUs have their data (version 6)."""
    reader = container.reader
    kind = bytes(reader.take(10, "the kind of trace data"))
    if kind.startswith(b"options"):
        for option, size in _options_v6(reader):
            _take_option(container, option, ByteReader(size, reader.byte_order))
        kind = bytes(reader.take(10, "the kind of trace data"))
    if kind.startswith(b"latency"):
        raise TraceError("this trace.dat is a latency trace", _LATENCY_REMEDY)
    if not kind.startswith(b"flyrecord"):
        raise TraceError(f"unknown kind of trace data {kind!r}", DAMAGED)
    for cpu in range(container.cpu_count):
        offset = reader.number(8, "the CPUs' table")
        buffer.cpus.append(CpuData(cpu, offset, reader.number(8, "the CPUs' table")))


def _options_v6(reader: ByteReader) -> Iterator[tuple[int, memoryview]]:
    while option := reader.number(2, "an option"):
        yield option, reader.take(reader.number(4, "an option's size"), f"option {option}")


def _read_v7(container: Container) -> None:
    reader = container.reader
    container.compression = reader.string(_NAME_LIMIT, "the compression's name")
    reader.string(_NAME_LIMIT, "the compression's version")
    if container.compression not in ("none", "zlib", "zstd"):
        raise TraceError(
            f"compressed with {container.compression!r}; none, zlib and zstd can be read",
            "convert it: trace-cmd convert --compression none",
        )
    seen: set[int] = set()
    offset = reader.number(8, "the offset of the options")
    while offset and offset not in seen:
        seen.add(offset)
        offset = _options_v7(container, offset)
    for section, parse_section in (
        (_HEADER_INFO, _header_info),
        (_FTRACE_EVENTS, _ftrace_events),
        (_EVENT_FORMATS, _event_formats),
    ):
        parse_section(container, _section(container, section, container.sections.get(section, 0)))
    for buffer in container.buffers:
        buffer.compressed = _section_header(container, _BUFFER, buffer.offset)
    if container.has_text and not container.buffers:
        raise TraceError("this trace.dat is a latency trace", _LATENCY_REMEDY)


def _section_header(container: Container, section: int, offset: int) -> bool:
    """Go to a section and skip its header; return whether the section is compressed."""
    reader = container.reader
    reader.seek(offset, f"section {section}")
    found = reader.number(2, f"section {section}")
    if found != section or not offset:
        raise TraceError(f"section {section} is not at byte {offset}", DAMAGED)
    flags = reader.number(2, "a section's flags")
    reader.take(12, "a section's header")  # id of its description, size
    return bool(flags & _COMPRESSED)


def _section(container: Container, section: int, offset: int) -> ByteReader:
    """Return a reader of a section's content, expanded if compressed."""
    compressed = _section_header(container, section, offset)
    reader = container.reader
    if not compressed:
        return reader
    packed = reader.number(4, "a section's compressed size")
    size = reader.number(4, "a section's size")
    block = reader.take(packed, f"section {section}")
    return ByteReader(container.expand(block, size), reader.byte_order)


def _options_v7(container: Container, offset: int) -> int:
    """Take the options of one section; return the offset of the next such section, or 0."""
    reader = _section(container, _DONE, offset)
    while True:
        option = reader.number(2, "an option")
        size = reader.number(4, "an option's size")
        value = ByteReader(reader.take(size, f"option {option}"), reader.byte_order)
        if option == _DONE:
            return value.number(8, "the next options' offset")
        _take_option(container, option, value)


def _take_option(container: Container, option: int, value: ByteReader) -> None:
    """Keep what is of use; options not known, or not needed, are skipped."""
    text = bytes(value.data).rstrip(b"\0").decode(errors="replace")
    if option == _BUFFER:
        _take_buffer(container, value)
    elif option == _BUFFER_TEXT:
        container.has_text = True
    elif option == _CPUSTAT:
        _take_stats(container, text)
    elif option == _UNAME:
        container.kernel = _kernel(text)
    elif option == _TRACECLOCK:  # version 6 may have it empty: it stands behind the CPUs' table
        container.clock = _chosen_clock(bytes(value.data)) or ""
    elif option == _CPUCOUNT:
        container.cpu_count = _limited(value, "CPUs")
    elif option in (_DATE, _OFFSET):
        container.time_offset_ns += _c_number(text) * (1000 if option == _DATE else 1)
    elif option == _TSC2NSEC:
        container.tsc = TscToNs(value.number(4, "TSC2NSEC"), value.number(4, "TSC2NSEC"))
    elif option in _SECTIONS:
        container.sections[option] = value.number(8, f"the offset of section {option}")


def _take_buffer(container: Container, value: ByteReader) -> None:
    offset = value.number(8, "a buffer's offset")
    buffer = Buffer(value.string(_NAME_LIMIT, "a buffer's name"), offset)
    container.buffers.append(buffer)
    if container.version == 6:
        return
    clock = value.string(_NAME_LIMIT, "a buffer's clock")
    container.clock = container.clock or clock
    buffer.page_size = value.number(4, "a buffer's page size")
    for _ in range(_limited(value, "CPUs")):
        cpu = value.number(4, "a buffer's CPU")
        start = value.number(8, "a buffer's CPU")
        buffer.cpus.append(CpuData(cpu, start, value.number(8, "a buffer's CPU")))


def _take_stats(container: Container, text: str) -> None:
    first, _, rest = text.partition("\n")
    name, _, cpu = first.partition(": ")
    if name == "CPU" and cpu.isascii() and cpu.isdigit() and len(cpu) < 6:
        lost = lost_in_stats(rest)
        container.lost[int(cpu)] = container.lost.get(int(cpu), 0) + lost


def _header_info(container: Container, reader: ByteReader) -> None:
    reader.expect(b"header_page\0", "header_page")
    container.header_page = bytes(_sized(reader, "header_page"))
    reader.expect(b"header_event\0", "header_event")
    _sized(reader, "header_event")


def _ftrace_events(container: Container, reader: ByteReader) -> None:
    for _ in range(_limited(reader, "ftrace events")):
        _keep_format(container, "ftrace", _sized(reader, "an ftrace event's format"))


def _event_formats(container: Container, reader: ByteReader) -> None:
    for _ in range(_limited(reader, "event systems")):
        system = reader.string(_NAME_LIMIT, "an event system's name")
        for _ in range(_limited(reader, f"events of system {system}")):
            _keep_format(container, system, _sized(reader, f"a format of system {system}"))


def _keep_format(container: Container, system: str, text: memoryview) -> None:
    name = event_name(bytes(text))
    if name is not None:
        container.formats[f"{system}:{name}"] = bytes(text)


def _sized(reader: ByteReader, what: str) -> memoryview:
    return reader.take(reader.number(8, f"the size of {what}"), what)


def _limited(reader: ByteReader, what: str) -> int:
    count = reader.number(4, f"the number of {what}")
    if count > _COUNT_LIMIT:
        raise TraceError(f"the file claims to have {count} {what}", DAMAGED)
    return count


def _kernel(uname: str) -> str | None:
    """Return the release in "sysname nodename release machine"."""
    words = uname.split()
    return words[2] if len(words) > 2 else None


def _chosen_clock(text: bytes) -> str | None:
    """Return the clock in brackets, as tracefs' ``trace_clock`` marks it."""
    _, opened, rest = text.partition(b"[")
    name, closed, _ = rest.partition(b"]")
    return name.strip().decode(errors="replace") if opened and closed else None


def _c_number(text: str) -> int:
    """Return a number as strtoll with base 0 reads it; 0 if it is none or too large."""
    try:
        number = int(text.strip()[:40], 0)
    except ValueError:
        return 0
    return number if abs(number) < 1 << 63 else 0
