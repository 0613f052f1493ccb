"""ftrace ring buffers: sub-buffers of every CPU in, the EVENTS table out.

The walk itself is core/ring_walk.c; analyzer/reference/ring_walk.py is the same in slow Python.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foreread.analyzer.ingest import _readers
from foreread.analyzer.ingest.columns import PLACE, decode
from foreread.analyzer.ingest.fields import FieldReader
from foreread.analyzer.ingest.formats import SPEC, Formats
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.spec import EVENT_SPECS
from foreread.analyzer.ingest.tables import EVENTS, Array, Table

_SMALLEST_EVENT = 12  # bytes: the first word, and the common fields of every event
_Lost = tuple[int, int]  # events, gaps
DAMAGED = "the trace is damaged: copy it again, or record again"
_HEADER_FIELD = re.compile(
    rb"^\s*field: [^;\n]*?(\w+);\s*offset:(\d{1,9});\s*size:(\d{1,9});", re.M
)


@dataclass(frozen=True)
class Layout:
    """A sub-buffer: ``subbuf_size`` and ``data_offset`` in bytes, ``commit_size`` 4 or 8."""

    subbuf_size: int
    data_offset: int
    commit_size: int

    @classmethod
    def parse(cls, text: bytes) -> Layout:
        """Read ``events/header_page`` (ring_buffer_print_page_header); raises TraceError."""
        fields = {name: (int(at), int(size)) for name, at, size in _HEADER_FIELD.findall(text)}
        time, commit = fields.get(b"timestamp"), fields.get(b"commit")
        if b"data" not in fields or time != (0, 8) or commit not in ((8, 4), (8, 8)):
            raise TraceError("header_page describes no sub-buffer that is known", DAMAGED)
        offset, size = fields[b"data"]
        return cls(offset + size, offset, commit[1])

    @property
    def shape(self) -> tuple[int, int, int]:
        """The same as the C core takes it."""
        return self.subbuf_size, self.data_offset, self.commit_size


@dataclass(frozen=True)
class Stream:
    """Sub-buffers of one CPU: ``size`` bytes at ``offset`` of the data.

    With a ``method`` other than none these are chunks; the sub-buffers in them have ``expanded``
    bytes.
    """

    cpu: int
    offset: int
    size: int
    layout: Layout
    method: str
    expanded: int

    @classmethod
    def plain(cls, cpu: int, offset: int, size: int, layout: Layout) -> Stream:
        """Return a stream that is not compressed."""
        return cls(cpu, offset, size, layout, "none", size)


@dataclass(frozen=True)
class Loss:
    """Lost events by CPU, and the gaps of unknown size (each counted as one event)."""

    lost: dict[int, int]
    gaps: int


@dataclass(frozen=True)
class RingBuffers:
    """All ring buffers of one trace: streams in ``data`` (any buffer) and the formats."""

    data: memoryview
    streams: Sequence[Stream]
    formats: Formats

    def events(self) -> tuple[Table, Loss]:
        """Return the wanted events (schema EVENTS), merged by time, and what was lost."""
        wanted = not self.formats.names.isdisjoint(EVENT_SPECS)
        specs = self.formats.specs() if wanted else np.empty(0, SPEC)
        # Untouched memory is free, and saves a counting pass.
        columns = {c.name: np.empty(self._most_events(), c.dtype) for c in EVENTS.columns}
        decoded = self._decode(specs, tuple(columns.values()))
        if decoded is None:  # a clock goes back: sort first
            plain = self.expanded()
            places, starts, losses = plain.places(specs)
            return decode(plain.data, places, starts, specs, self.formats.swap), self._loss(losses)
        rows, losses = decoded
        filled = {name: column[:rows] for name, column in columns.items()}
        return Table(EVENTS, filled), self._loss(losses)

    def reader_of_fields(self) -> FieldReader:
        """Return Trace.read_fields of these buffers."""
        plain: list[RingBuffers] = []  # decompressed when first needed, and once

        def find(specs: Array) -> tuple[object, Array, Array]:
            plain[:] = plain or [self.expanded()]
            places, starts, _ = plain[0].places(specs)
            return plain[0].data, places, starts

        return FieldReader(self.formats, find)

    def expanded(self) -> RingBuffers:
        """Return the same with nothing compressed."""
        if all(stream.method == "none" for stream in self.streams):
            return self
        ends = np.cumsum([stream.expanded for stream in self.streams]).tolist()
        data = np.empty(ends[-1], np.uint8)
        streams = [
            Stream.plain(s.cpu, end - s.expanded, s.expanded, s.layout)
            for s, end in zip(self.streams, ends, strict=True)
        ]
        for packed, plain in zip(self.streams, streams, strict=True):
            self._expand(packed, data[plain.offset : plain.offset + plain.size])
        return RingBuffers(memoryview(data.data), streams, self.formats)

    def places(self, specs: Array) -> tuple[Array, Array, list[_Lost]]:
        """Return the places of the wanted records in runs by stream, and what was lost."""
        places = np.empty(self._most_events(), PLACE)
        starts = np.zeros(len(self.streams) + 1, "u8")
        losses = []
        for number, stream in enumerate(self.streams):
            start = int(starts[number])
            records, *lost = self._walk(stream, specs, places[start:])
            losses.append((lost[0], lost[1]))
            starts[number + 1] = start + records
        return places[: int(starts[-1])], starts, losses

    def _most_events(self) -> int:
        return sum(stream.expanded for stream in self.streams) // _SMALLEST_EVENT

    def _decode(self, specs: Array, columns: tuple[Array, ...]) -> tuple[int, list[_Lost]] | None:
        sources = tuple((s.offset, s.size, s.cpu, s.layout.shape, s.method) for s in self.streams)
        try:
            return _readers.ring_decode(self.data, sources, specs, self.formats.swap, columns)
        except _readers.ReaderError as error:
            raise TraceError(f"ring buffer of {error}", DAMAGED) from error

    def _expand(self, stream: Stream, target: Array) -> None:
        block = self.data[stream.offset : stream.offset + stream.size]
        try:
            if stream.method == "none":
                target[:] = np.frombuffer(block, np.uint8)
            else:
                _readers.inflate_chunks(stream.method, block, self.formats.swap, target)
        except _readers.ReaderError as error:
            raise TraceError(f"data of CPU {stream.cpu}: {error}", DAMAGED) from error

    def _walk(self, stream: Stream, specs: Array, places: Array) -> tuple[int, int, int]:
        where, shape = (stream.offset, stream.size, stream.cpu), stream.layout.shape
        try:
            return _readers.ring_walk(self.data, shape, where, specs, self.formats.swap, places)
        except _readers.ReaderError as error:
            raise TraceError(f"ring buffer of CPU {stream.cpu}, {error}", DAMAGED) from error

    def _loss(self, losses: list[_Lost]) -> Loss:
        lost: dict[int, int] = {}
        for stream, (events, gaps) in zip(self.streams, losses, strict=True):
            if events or gaps:
                lost[stream.cpu] = lost.get(stream.cpu, 0) + events + gaps
        return Loss(lost, sum(gaps for _, gaps in losses))


def page_size(formats: dict[str, bytes]) -> int | None:
    """Return the kernel's page size in bytes: its filemap events print ``index << PAGE_SHIFT``."""
    text = formats.get("filemap:mm_filemap_add_to_page_cache", b"")
    match = re.search(rb"REC->index\)? << \(?(\d{2})\b", text)
    return 1 << int(match[1]) if match and 12 <= int(match[1]) <= 18 else None


def lost_in_stats(text: str) -> int:
    """Return the events lost by one CPU according to its ``per_cpu/cpuN/stats``."""
    counts = re.findall(r"^(?:commit )?(?:overrun|dropped events): (\d{1,19})$", text, re.M)
    return sum(map(int, counts))


def most_lost(*sources: dict[int, int]) -> dict[int, int]:
    """Return the losses by CPU; sources count the same events, so the largest count holds."""
    cpus = sorted(set().union(*sources))
    lost = {cpu: max(source.get(cpu, 0) for source in sources) for cpu in cpus}
    return {cpu: count for cpu, count in lost.items() if count}


def gap_notes(loss: Loss) -> tuple[str, ...]:
    """Return the note about gaps of unknown size."""
    if not loss.gaps:
        return ()
    return (f"{loss.gaps} gaps in the trace of unknown size, counted as one lost event each",)


def clock_notes(clock: str | None) -> tuple[str, ...]:
    """Return the note about a trace clock other than the monotonic one."""
    if clock is None or clock == "mono":
        return ()
    if clock in ("counter", "x86-tsc", "ppc-tb"):
        return (f"trace clock {clock}: times are ticks, not nanoseconds; record with -C mono",)
    if clock == "local":
        return ("trace clock local: the order of events on different CPUs is approximate",)
    return (f"trace clock {clock}",)
