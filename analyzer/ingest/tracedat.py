"""Reader of trace-cmd's trace.dat, versions 6 and 7, all buffer instances."""

from __future__ import annotations

import mmap
from dataclasses import replace
from pathlib import Path

import numpy as np

from foreread.analyzer.ingest import _readers
from foreread.analyzer.ingest.allowance import grant
from foreread.analyzer.ingest.formats import Formats
from foreread.analyzer.ingest.recording import Trace, TraceError
from foreread.analyzer.ingest.ring import (
    DAMAGED,
    Layout,
    RingBuffers,
    Stream,
    clock_notes,
    gap_notes,
    most_lost,
    page_size,
)
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.ingest.tracedat_container import (
    Buffer,
    Container,
    CpuData,
    TscToNs,
    check_expansion,
)
from foreread.analyzer.ingest.tracedat_layout import parse
from foreread.analyzer.ingest.tracing_data import MAGIC, is_trace_page_size
from foreread.boards.base.bounded import open_regular
from foreread.tracer.formats.limits import MOST_TRACE_BYTES, RECORD_LESS, check_size

_MAX_SHIFT = 32


def begins(head: bytes) -> bool:
    """Return whether ``head`` begins a trace.dat."""
    return head.startswith(MAGIC)


def read(path: Path) -> Trace:
    """Decode a trace.dat; see :func:`decode`. Raises OSError if it cannot be read."""
    with open_regular(path) as file:
        size = path.stat().st_size
        if size == 0:
            raise TraceError(f"{path} is empty", "copy or record it again")
        check_size(str(path), size, MOST_TRACE_BYTES, RECORD_LESS)
        grant(size)
        flags = mmap.MAP_PRIVATE | mmap.MAP_POPULATE
        mapped = mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ)
    return decode(memoryview(mapped))


def decode(data: memoryview) -> Trace:
    """Decode the bytes of a trace.dat.

    All buffers are merged by time. ``time_ns`` is shifted as the file's own DATE, OFFSET and
    TSC2NSEC options say (libtracecmd does the same). Raises TraceError for a file that is
    damaged, of another version, or a latency trace.
    """
    container = parse(data)
    formats = Formats(
        container.texts,
        byte_order=container.byte_order,
        long_size=container.long_size,
        kernel=container.kernel,
    )
    rings = _rings(container, formats)
    events, loss = rings.events()
    _to_ns(events["time_ns"], container)

    reader = rings.reader_of_fields()

    def read_fields(event: str, fields: tuple[str, ...]) -> dict[str, Array]:
        columns = reader(event, fields)
        _to_ns(columns["time_ns"], container)
        return columns

    return Trace(
        format=f"trace.dat v{container.version}",
        events=events,
        page_size=page_size(container.texts)
        or (container.page_size if is_trace_page_size(container.page_size) else None),
        kernel=container.kernel,
        lost=most_lost(container.lost, loss.lost),
        uncounted="" if container.counted else "the file has no statistics of the buffers",
        event_names=formats.names,
        notes=(*clock_notes(None if container.tsc else container.clock), *gap_notes(loss)),
        read_fields=read_fields,
    )


def _rings(container: Container, formats: Formats) -> RingBuffers:
    chosen = [(buffer, cpu) for buffer in container.buffers for cpu in buffer.cpus if cpu.size]
    for buffer, cpu in chosen:
        _check(container, buffer, cpu)
    layout = Layout.parse(container.header_page)
    streams = [_stream(container, buffer, cpu, layout, formats.swap) for buffer, cpu in chosen]
    expanded = sum(stream.expanded for stream in streams)
    check_expansion(expanded, len(container.data))
    grant(expanded)
    return RingBuffers(container.data, streams, formats)


def _stream(
    container: Container, buffer: Buffer, cpu: CpuData, layout: Layout, swap: bool
) -> Stream:
    layout = replace(layout, subbuf_size=buffer.subbuf_size)
    if not buffer.compressed:
        return Stream.plain(cpu.cpu, cpu.offset, cpu.size, layout)
    # The size that trace-cmd 3.1 gives for compressed data is 4 bytes short: chunks have their own
    # sizes.
    packed = container.data[cpu.offset :]
    try:
        expanded = _readers.inflate_chunks(container.compression, packed, swap, None)
    except _readers.ReaderError as error:
        raise TraceError(f"data of CPU {cpu.cpu}: {error}", DAMAGED) from error
    return Stream(cpu.cpu, cpu.offset, len(packed), layout, container.compression, expanded)


def _check(container: Container, buffer: Buffer, cpu: CpuData) -> None:
    where = f"CPU {cpu.cpu} of buffer {buffer.name!r}" if buffer.name else f"CPU {cpu.cpu}"
    length = len(container.data)
    if cpu.offset + cpu.size > length:
        raise TraceError(
            f"the data of {where} ends at byte {cpu.offset + cpu.size} of a file of {length} bytes",
            DAMAGED,
        )
    if cpu.cpu > np.iinfo(np.uint16).max:
        raise TraceError(f"there is no CPU {cpu.cpu}", DAMAGED)


def _to_ns(time: Array, container: Container) -> None:
    """Apply the file's own conversion in place; numbers wrap as in libtracecmd."""
    if container.tsc is not None:
        _scale(time, container.tsc)
    if container.time_offset_ns:
        time += np.uint64(container.time_offset_ns % (1 << 64))


def _scale(time: Array, tsc: TscToNs) -> None:
    """``time * mult >> shift`` without 128-bit numbers (mul_u64_u32_shr of libtracecmd)."""
    if tsc.shift > _MAX_SHIFT:
        raise TraceError(f"the file's clock has a shift of {tsc.shift} bits", DAMAGED)
    mult, shift = np.uint64(tsc.mult), np.uint64(tsc.shift)
    high = (time >> np.uint64(32)) * mult << (np.uint64(32) - shift)
    time[:] = ((time & np.uint64(0xFFFFFFFF)) * mult >> shift) + high
