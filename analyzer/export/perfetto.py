"""A Perfetto trace: a process track for each run, with a child track for each kind of event.

Perfetto's own builder writes the packets (``foreread[perfetto]``).
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from foreread.analyzer.export.events import Exported, Track, what
from foreread.analyzer.export.lanes import columns_of, lanes_of_requests, threads_that_wait
from foreread.analyzer.ingest.tables import MissingLibrary

_SEQUENCE = 1  # trusted_packet_sequence_id: all events come from one writer
_CLOCK = 6  # BUILTIN_CLOCK_BOOTTIME


def perfetto_of(exported: Exported) -> bytes:
    """Return the trace; raises MissingLibrary without the perfetto package."""
    builder, schema = _library()
    out = io.BytesIO()
    _Writer(builder.StreamingTraceProtoBuilder(out), schema, exported).write()
    return out.getvalue()


def _library() -> tuple[Any, Any]:
    try:
        return (
            import_module("perfetto.trace_builder.proto_builder"),
            import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2"),
        )
    except ImportError as error:
        raise MissingLibrary(
            "Perfetto traces need the perfetto package, which is not installed",
            "pip install 'foreread[perfetto]'",
        ) from error


class _Writer:
    """Writes descriptors before the events of their tracks."""

    def __init__(self, builder: Any, schema: Any, exported: Exported) -> None:
        self._builder, self._exported = builder, exported
        self._type = schema.TrackEvent
        self._tracks = 0

    def write(self) -> None:
        for run, name in enumerate(self._exported.runs):
            above = self._run_track(run, name)
            self._accesses(run, above)
            self._requests(run, above)
            self._unused(run, above)
            self._waits(run, above)

    def _packet(self) -> Any:
        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE
        return packet

    def _run_track(self, run: int, name: str) -> int:
        packet = self._packet()
        self._tracks += 1
        packet.track_descriptor.uuid = self._tracks
        packet.track_descriptor.process.pid = run + 1
        packet.track_descriptor.process.process_name = name
        self._builder.write_packet(packet)
        return self._tracks

    def _track(self, above: int, name: str, counter: bool = False) -> int:
        packet = self._packet()
        self._tracks += 1
        descriptor = packet.track_descriptor
        descriptor.uuid, descriptor.parent_uuid, descriptor.name = self._tracks, above, name
        if counter:
            descriptor.counter.SetInParent()
        self._builder.write_packet(packet)
        return self._tracks

    def _event(self, kind: int, ns: int, track: int) -> Any:
        packet = self._packet()
        packet.timestamp, packet.timestamp_clock_id = ns, _CLOCK
        packet.track_event.type, packet.track_event.track_uuid = kind, track
        return packet

    def _instant(self, ns: int, track: int, name: str, **values: int | str) -> None:
        self._named(self._type.TYPE_INSTANT, ns, track, name, values)

    def _slice(self, ns: int, took: int, track: int, name: str, **values: int | str) -> None:
        self._named(self._type.TYPE_SLICE_BEGIN, ns, track, name, values)
        self._builder.write_packet(self._event(self._type.TYPE_SLICE_END, ns + took, track))

    def _named(
        self, kind: int, ns: int, track: int, name: str, values: dict[str, int | str]
    ) -> None:
        packet = self._event(kind, ns, track)
        packet.track_event.name = name
        for key, value in values.items():
            note = packet.track_event.debug_annotations.add()
            note.name = key
            if isinstance(value, str):
                note.string_value = value
            else:
                note.int_value = value
        self._builder.write_packet(packet)

    def _columns(self, run: int, track: Track, *names: str) -> Iterator[tuple[int, ...]]:
        return columns_of(self._exported, run, track, *names)

    def _accesses(self, run: int, above: int) -> None:
        track = self._track(above, "accesses")
        names = ("start_ns", "file", "page", "thread")
        for start, file, page, thread in self._columns(run, Track.ACCESSES, *names):
            self._instant(start, track, self._exported.name(file), page=page, thread=thread)

    def _requests(self, run: int, above: int) -> None:
        lanes = lanes_of_requests(self._exported, run)
        tracks = [self._track(above, "requests") for _ in range(int(lanes.max(initial=-1)) + 1)]
        names = ("start_ns", "duration_ns", "thread", "sector", "sectors", "detail")
        rows = self._columns(run, Track.REQUESTS, *names)
        for lane, row in zip(lanes.tolist(), rows, strict=True):
            start, took, thread, sector, sectors, detail = row
            name = f"{what(Track.REQUESTS, detail)} {sectors / 2:g} KiB"
            values = {"sector": sector, "sectors": sectors, "thread": thread}
            if took < 0:
                self._instant(start, tracks[lane], f"{name}, no completion recorded", **values)
            else:
                self._slice(start, took, tracks[lane], name, **values)

    def _unused(self, run: int, above: int) -> None:
        track = self._track(above, "read unused")
        counter = self._track(above, "pages read unused", counter=True)
        names = ("start_ns", "file", "page", "pages", "detail")
        total = 0
        for start, file, page, pages, detail in self._columns(run, Track.UNUSED, *names):
            rule = what(Track.UNUSED, detail)
            name = self._exported.name(file)
            self._instant(start, track, name, page=page, pages=pages, rule=rule)
            total += pages
            packet = self._event(self._type.TYPE_COUNTER, start, counter)
            packet.track_event.counter_value = total
            self._builder.write_packet(packet)

    def _waits(self, run: int, above: int) -> None:
        tracks = {
            thread: self._track(above, f"waits of {self._exported.thread(thread)}")
            for thread in threads_that_wait(self._exported, run)
        }
        names = ("start_ns", "duration_ns", "thread", "detail")
        for start, took, thread, detail in self._columns(run, Track.WAITING, *names):
            self._slice(start, took, tracks[thread], f"waits: {what(Track.WAITING, detail)}")
