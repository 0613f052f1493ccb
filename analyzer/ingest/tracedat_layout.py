"""The container format of trace.dat, versions 6 and 7; nothing is decoded.

Format: trace-cmd's trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5); libtracecmd, trace-input.c.
A version 6 file is one sequence; a version 7 file has sections, to which options point. Header
page, event formats and options are the same in both, and read by the same functions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foreread.analyzer.ingest import _readers, tracing_data
from foreread.analyzer.ingest.cursor import Cursor
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.ring import lost_in_stats
from foreread.analyzer.ingest.tracedat_container import (
    Buffer,
    Container,
    CpuData,
    TscToNs,
    check_expansion,
)
from foreread.analyzer.ingest.tracing_data import MAGIC, count
from foreread.tracer.formats.limits import (
    MOST_BUFFERS,
    MOST_CPUS_OF_BUFFERS,
    MOST_OPTION_SECTIONS,
    LimitError,
)

_LATENCY_REMEDY = "it holds a latency tracer's text, no events: record with trace-cmd record -e …"

# trace-cmd-private.h: ids of options, which are those of sections as well
_DONE, _DATE, _CPUSTAT, _BUFFER, _TRACECLOCK, _UNAME = range(6)
_OFFSET, _CPUCOUNT, _TSC2NSEC = 7, 8, 14
_HEADER_INFO, _FTRACE_EVENTS, _EVENT_FORMATS, _BUFFER_TEXT = 16, 17, 18, 22
_COMPRESSED = 1  # section flag


def parse(data: memoryview) -> Container:
    """Read the container in ``data``; raises TraceError if it is truncated or invalid."""
    try:
        return _parse(data)
    except (TraceError, LimitError):
        raise
    except ValueError as error:
        raise TraceError(
            f"trace.dat is damaged or was cut off: {error}", "copy it again, or record again"
        ) from error


def _parse(data: memoryview) -> Container:
    head = Cursor(data, "little")
    if head.take(len(MAGIC)) != MAGIC:
        raise ValueError("it does not begin as one")
    version = head.string(16)
    if version not in (b"6", b"7"):
        raise TraceError(
            f"trace.dat of version {version!r}; versions 6 and 7 can be read",
            "convert it: trace-cmd convert --file-version 7",
        )
    big_endian, long_size = head.take(2)
    if big_endian > 1 or long_size not in (4, 8):
        raise ValueError(f"impossible long size {long_size} or byte order {big_endian}")
    cursor = Cursor(data, "big" if big_endian else "little")
    cursor.at = head.at
    container = Container(data, int(version), cursor.byte_order, long_size, cursor.u32())
    read = _read_v6 if container.version == 6 else _read_v7
    read(container, cursor)
    return container


def _read_v6(container: Container, cursor: Cursor) -> None:
    _take_header(container, cursor)
    _take_ftrace_formats(container, cursor)
    _take_formats(container, cursor)
    cursor.take(cursor.u32())  # kallsyms
    cursor.take(cursor.u32())  # printk formats
    cursor.take(cursor.u64())  # command names
    container.cpu_count = count(cursor)
    container.buffers.append(Buffer("", 0, container.page_size))
    _take_flyrecord(container, container.buffers[0], cursor)
    if container.clock == "":
        container.clock = _chosen_clock(bytes(cursor.take(cursor.u64())))
    cpu_count = container.cpu_count
    for instance in container.buffers[1:]:
        container.cpu_count = cpu_count  # an instance's own options may change it
        instance.subbuf_size = container.page_size
        _take_flyrecord(container, instance, container.cursor(instance.offset))


def _take_flyrecord(container: Container, buffer: Buffer, cursor: Cursor) -> None:
    """Read the options, if any, and where the buffer's CPUs have their data (version 6)."""
    kind = cursor.take(10)
    if bytes(kind).startswith(b"options"):
        while option := cursor.u16():
            _take_option(container, option, cursor.take(cursor.u32()))
        kind = cursor.take(10)
    if bytes(kind).startswith(b"latency"):
        raise TraceError("this trace.dat is a latency trace", _LATENCY_REMEDY)
    if not bytes(kind).startswith(b"flyrecord"):
        raise ValueError(f"unknown kind of trace data {bytes(kind)!r}")
    _check_cpus(container, container.cpu_count)
    buffer.cpus = [CpuData(cpu, *cursor.numbers("QQ")) for cpu in range(container.cpu_count)]


def _read_v7(container: Container, cursor: Cursor) -> None:
    container.compression = cursor.string().decode(errors="replace")
    cursor.string()  # its version
    if container.compression not in ("none", "zlib", "zstd"):
        raise TraceError(
            f"trace.dat compressed with {container.compression!r}; none, zlib and zstd can be read",
            "convert it: trace-cmd convert --compression none",
        )
    _follow_options(container, cursor.u64())
    for section, take in _SECTIONS.items():
        take(container, _section(container, section, container.sections.get(section, 0)))
    for buffer in container.buffers:
        _, buffer.compressed = _open_section(container, _BUFFER, buffer.offset)
    if container.is_latency and not container.buffers:
        raise TraceError("this trace.dat is a latency trace", _LATENCY_REMEDY)


def _follow_options(container: Container, offset: int) -> None:
    """Take all options; each section of them ends in the offset of the next, or 0."""
    seen: set[int] = set()
    while offset:
        if offset in seen:
            raise ValueError(f"its options at byte {offset} follow themselves")
        seen.add(offset)
        if len(seen) > MOST_OPTION_SECTIONS:
            raise ValueError(f"it has more than {MOST_OPTION_SECTIONS} sections of options")
        cursor = _section(container, _DONE, offset)
        while option := cursor.u16():
            _take_option(container, option, cursor.take(cursor.u32()))
        cursor.take(4)  # size of the last option
        offset = cursor.u64()


def _open_section(container: Container, section: int, offset: int) -> tuple[Cursor, bool]:
    """Return a cursor at a section's content, and whether the section is compressed."""
    cursor = container.cursor(offset)
    section_id, flags, _, _ = cursor.numbers("HHIQ")  # id, flags, id of the description, size
    if section_id != section or offset == 0:
        raise ValueError(f"section {section} is not at byte {offset}")
    return cursor, bool(flags & _COMPRESSED)


def _section(container: Container, section: int, offset: int) -> Cursor:
    """Return a cursor at a section's content, expanded if need be."""
    cursor, compressed = _open_section(container, section, offset)
    if not compressed:
        return cursor
    packed, size = cursor.numbers("II")
    block = cursor.take(packed)
    check_expansion(size, packed)
    target = np.empty(size, np.uint8)
    _readers.inflate(container.compression, block, target)
    return Cursor(target.data, container.byte_order)


def _take_option(container: Container, option: int, value: memoryview) -> None:
    """Keep the needed options; skip others."""
    cursor = Cursor(value, container.byte_order)
    text = bytes(value).rstrip(b"\0").decode(errors="replace")
    if option == _BUFFER:
        _take_buffer(container, cursor)
    elif option == _BUFFER_TEXT:
        container.is_latency = True
    elif option == _CPUSTAT:
        _take_stats(container, text)
    elif option == _UNAME:
        container.kernel = _release(text)
    elif option == _TRACECLOCK:  # version 6 may leave it empty: it stands after the CPUs' table
        container.clock = _chosen_clock(bytes(value)) or ""
    elif option == _CPUCOUNT:
        container.cpu_count = count(cursor)
    elif option in (_DATE, _OFFSET):
        container.time_offset_ns += _c_number(text) * (1000 if option == _DATE else 1)
    elif option == _TSC2NSEC:
        container.tsc = TscToNs(*cursor.numbers("II"))
    elif option in _SECTIONS:
        container.sections[option] = cursor.u64()


def _check_cpus(container: Container, number: int) -> None:
    """Raise ValueError if ``number`` more CPUs are more than any trace has."""
    if sum(len(buffer.cpus) for buffer in container.buffers) + number > MOST_CPUS_OF_BUFFERS:
        raise ValueError(f"its buffers have more than {MOST_CPUS_OF_BUFFERS:,} CPUs")


def _take_buffer(container: Container, cursor: Cursor) -> None:
    offset = cursor.u64()
    buffer = Buffer(cursor.string().decode(errors="replace"), offset)
    container.buffers.append(buffer)
    if len(container.buffers) > MOST_BUFFERS:
        raise ValueError(f"it has more than {MOST_BUFFERS} buffer instances")
    if container.version == 6:
        return
    clock = cursor.string().decode(errors="replace")
    container.clock = container.clock or clock
    buffer.subbuf_size = cursor.u32()
    number = count(cursor)
    _check_cpus(container, number)
    buffer.cpus = [CpuData(*cursor.numbers("IQQ")) for _ in range(number)]


def _take_stats(container: Container, text: str) -> None:
    first, _, rest = text.partition("\n")
    name, _, cpu = first.partition(": ")
    if name == "CPU" and cpu.isascii() and cpu.isdigit() and len(cpu) < 6:
        container.counted = True
        container.lost[int(cpu)] = container.lost.get(int(cpu), 0) + lost_in_stats(rest)


def _take_header(container: Container, cursor: Cursor) -> None:
    container.header_page = tracing_data.header_file(cursor, b"header_page")
    tracing_data.header_file(cursor, b"header_event")


def _take_ftrace_formats(container: Container, cursor: Cursor) -> None:
    container.texts |= tracing_data.event_formats(cursor, "ftrace")


def _take_formats(container: Container, cursor: Cursor) -> None:
    container.texts |= tracing_data.system_formats(cursor)


_SECTIONS: dict[int, Callable[[Container, Cursor], None]] = {
    _HEADER_INFO: _take_header,
    _FTRACE_EVENTS: _take_ftrace_formats,
    _EVENT_FORMATS: _take_formats,
}


def _release(uname: str) -> str | None:
    """Return the kernel's release in "sysname nodename release machine"."""
    words = uname.split()
    return words[2] if len(words) > 2 else None


def _chosen_clock(text: bytes) -> str | None:
    """Return the clock in brackets, as tracefs' ``trace_clock`` marks it."""
    _, opened, rest = text.partition(b"[")
    name, closed, _ = rest.partition(b"]")
    return name.strip().decode(errors="replace") if opened and closed else None


def _c_number(text: str) -> int:
    """Return a number as strtoll with base 0 reads it; 0 if it is invalid or too large."""
    try:
        number = int(text.strip()[:40], 0)
    except ValueError:
        return 0
    return number if abs(number) < 1 << 63 else 0
