"""ftrace ring buffers: sub-buffers of every CPU in, the EVENTS table out.

The walk itself is core/ring_walk.c; ring_reference.py is the same in slow Python.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analyzer.ingest import _readers
from analyzer.ingest.columns import PLACE, decode, decode_fields, in_time_order
from analyzer.ingest.formats import SPEC, Formats
from analyzer.ingest.recording import TraceError
from analyzer.ingest.spec import EVENT_SPECS, EventSpec
from analyzer.ingest.tables import EVENTS, Array, Kind, Table

_SMALLEST_EVENT = 12  # bytes: the first word, and the common fields of every event
_Found = tuple[int, int, int]  # records, lost events, gaps
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

    def resized(self, subbuf_size: int) -> Layout:
        """Return the same layout for sub-buffers of another size."""
        return Layout(subbuf_size, self.data_offset, self.commit_size)


@dataclass(frozen=True)
class Stream:
    """Sub-buffers of one CPU: ``size`` bytes at ``offset`` of the data."""

    cpu: int
    offset: int
    size: int
    layout: Layout


@dataclass(frozen=True)
class Loss:
    """Lost events by CPU, and the gaps of unknown size (each counted as one event)."""

    lost: dict[int, int]
    gaps: int


@dataclass(frozen=True)
class RingBuffers:
    """All ring buffers of one trace: streams in ``data`` (any buffer) and the formats."""

    data: object
    streams: Sequence[Stream]
    formats: Formats

    def events(self) -> tuple[Table, Loss]:
        """Return the wanted events (schema EVENTS), merged by time, and what was lost."""
        if self.formats.names.isdisjoint(EVENT_SPECS):
            return Table.empty(EVENTS), self._loss(self._places(np.empty(0, SPEC))[2])
        specs = self.formats.specs()
        places, starts, found = self._places(specs)
        table = decode(self.data, places, starts, specs, self.formats.swap)
        return table, self._loss(found)

    def fields(self, event: str, names: tuple[str, ...]) -> dict[str, Array]:
        """Return ``time_ns``, ``cpu``, ``pid`` and the named fields of one event, by time."""
        layout = self.formats.event(event)
        specs = self.formats.specs({event: EventSpec(Kind.INSERT, {})})  # kind is not looked at
        places, starts, _ = self._places(specs)
        ordered = in_time_order(places, starts)
        return decode_fields(self.data, ordered, layout, names, self.formats.swap)

    def _places(self, specs: Array) -> tuple[Array, Array, list[_Found]]:
        """Return the places of the wanted records in runs by stream, and what was found."""
        # Room for the smallest records possible: memory that is not touched costs nothing, a
        # first pass to count would cost a fifth of the whole.
        room = sum(stream.size for stream in self.streams) // _SMALLEST_EVENT
        places = np.empty(room, PLACE)
        starts = np.zeros(len(self.streams) + 1, "u8")
        found = []
        for number, stream in enumerate(self.streams):
            start = int(starts[number])
            found.append(self._walk(stream, specs, places[start:]))
            starts[number + 1] = start + found[-1][0]
        return places[: int(starts[-1])], starts, found

    def _walk(self, stream: Stream, specs: Array, places: Array) -> _Found:
        layout = stream.layout
        shape = (layout.subbuf_size, layout.data_offset, layout.commit_size)
        where = (stream.offset, stream.size, stream.cpu)
        try:
            return _readers.ring_walk(self.data, shape, where, specs, self.formats.swap, places)
        except _readers.ReaderError as error:
            raise TraceError(f"ring buffer of CPU {stream.cpu}, {error}", DAMAGED) from error

    def _loss(self, found: list[_Found]) -> Loss:
        lost: dict[int, int] = {}
        for stream, (_, events, gaps) in zip(self.streams, found, strict=True):
            if events or gaps:
                lost[stream.cpu] = lost.get(stream.cpu, 0) + events + gaps
        return Loss(lost, sum(gaps for _, _, gaps in found))


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
    """Return what to say of gaps whose size the trace does not tell."""
    if not loss.gaps:
        return ()
    return (f"{loss.gaps} gaps in the trace of unknown size, counted as one lost event each",)


def clock_notes(clock: str | None) -> tuple[str, ...]:
    """Return what to say of a trace clock other than the monotonic one."""
    if clock is None or clock == "mono":
        return ()
    if clock in ("counter", "x86-tsc", "ppc-tb"):
        return (f"trace clock {clock}: times are ticks, not nanoseconds; record with -C mono",)
    if clock == "local":
        return ("trace clock local: the order of events on different CPUs is approximate",)
    return (f"trace clock {clock}",)
