"""Pages of the ring buffers as events, with the names of threads that ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from foreread.analyzer.ingest.formats import ByteOrder, Formats
from foreread.analyzer.ingest.ring import Layout, RingBuffers, Stream
from foreread.analyzer.ingest.tables import EVENTS, Array, Table

EXIT = "sched:sched_process_exit"


@dataclass(frozen=True, eq=False)
class Interval:
    """The events (EVENTS) of an interval, by time, and the names of threads that ended in it."""

    events: Table
    ended: Mapping[int, str]


class Decoder:
    """Decodes pages of one kernel; ``formats`` are the texts of its events by "system:name".

    ``header_page`` is tracefs' description of a page. Raises TraceError for unknown formats.
    """

    def __init__(
        self, header_page: bytes, formats: Mapping[str, bytes], byte_order: ByteOrder
    ) -> None:
        self._layout = Layout.parse(header_page)
        self._formats = Formats(formats, byte_order=byte_order, long_size=self._layout.commit_size)

    def decode(self, pages: Mapping[int, bytes]) -> Interval:
        """Return the events in the pages of each CPU; raises TraceError for damaged ones."""
        data, streams = b"".join(pages.values()), []
        at = 0
        for cpu, each in pages.items():
            streams.append(Stream.plain(cpu, at, len(each), self._layout))
            at += len(each)
        if not data:
            return Interval(Table.empty(EVENTS), {})
        rings = RingBuffers(memoryview(data), streams, self._formats)
        events, _ = rings.events()
        return Interval(events, self._names(rings))

    def _names(self, rings: RingBuffers) -> dict[int, str]:
        if EXIT not in self._formats.names:
            return {}
        ended = rings.reader_of_fields()(EXIT, ("comm",))
        return {
            int(pid): _text(name)
            for pid, name in zip(ended["pid"].tolist(), ended["comm"].tolist(), strict=True)
        }


def _text(name: bytes | str) -> str:
    return name if isinstance(name, str) else name.partition(b"\0")[0].decode(errors="replace")


def until(events: Table, time_ns: int) -> tuple[Table, Table]:
    """Return the events before a time, and the rest."""
    early: Array = events["time_ns"] < np.uint64(max(time_ns, 0))
    return events.take(early), events.take(~early)
