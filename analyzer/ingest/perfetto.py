"""Reader of Perfetto traces with ftrace events, as Android's ``perfetto`` and ``tracebox`` write.

protos/perfetto/trace of Perfetto 59: packets one after another, each decoded alone with Perfetto's
own schema (``foreread[perfetto]``). traced_probes writes devices in the encoding of user space
(makedev(3)), and no orders of folios.
"""

from __future__ import annotations

import mmap
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from foreread.analyzer.ingest.allowance import grant
from foreread.analyzer.ingest.columns import EventRows, by_time
from foreread.analyzer.ingest.needed import NEEDED, listed
from foreread.analyzer.ingest.page_size import is_page_size
from foreread.analyzer.ingest.perfetto_generic import GenericEvents
from foreread.analyzer.ingest.perfetto_losses import PerfettoLosses
from foreread.analyzer.ingest.recording import SeenWindows, Trace, TraceError
from foreread.analyzer.ingest.spec import EVENT_SPECS
from foreread.analyzer.ingest.tables import Kind, MissingLibrary
from foreread.analyzer.ingest.text_events import flags_of
from foreread.analyzer.ingest.windows_seen import commonest
from foreread.boards.base.bounded import open_regular
from foreread.boards.base.counted import plural
from foreread.tracer.formats.limits import MOST_TRACE_BYTES, RECORD_LESS, check_size

_PACKET = 0x0A  # field 1 of Trace, with a length: packet
_LEVELS = 2  # compressed packets within the file's own
_MOST_CPU, _U32, _U64 = (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1
_DAMAGED = "copy the file again, or record again"
_RECORD = f"enable {listed(NEEDED, '/')} among the ftrace_events of the trace's configuration"

Row = tuple[int, ...]
Fields = tuple[int, int, int, int, int]  # dev, ino, index, value, flags


class _Damaged(ValueError):
    """Bytes other than packets."""


def begins(head: bytes) -> bool:
    """Return whether ``head`` begins with packets of a trace: three, or the whole of it."""
    at = 0
    for _ in range(3):
        if at == len(head):
            return at > 0
        try:
            begin, end = _next(head, at)
        except _Damaged:
            return False
        if begin == end or head[begin : begin + 1] in (b"", b"\0"):
            return False
        if end > len(head):
            return at > 0 or len(head) > 1 << 12
        at = end
    return True


def read(path: Path) -> Trace:
    """Decode a Perfetto trace. Packets of other data sources are skipped.

    Raises TraceError for damage and for a trace without an event of use, MissingLibrary without
    the perfetto package, LimitError for what is too large; OSError if it cannot be read.
    """
    schema = _schema()
    with open_regular(path) as file:
        size = path.stat().st_size
        check_size(str(path), size, MOST_TRACE_BYTES, RECORD_LESS)
        grant(size)
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        with data:
            return _Packets(schema, path).trace(data)
    except (_Damaged, zlib.error) as error:
        raise TraceError(f"{path} is a damaged Perfetto trace: {error}", _DAMAGED) from error


def _schema() -> Any:
    try:
        return import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    except ImportError as error:
        raise MissingLibrary(
            "a Perfetto trace needs the perfetto package, which is not installed",
            "pip install 'foreread[perfetto]'",
        ) from error


class _Packets:
    """The packets of a trace on their way to a table."""

    def __init__(self, schema: Any, path: Path) -> None:
        self._decode: Callable[[bytes], Any] = schema.TracePacket.FromString
        self._error: type[Exception] = import_module("google.protobuf.message").DecodeError
        self._path = path
        self._rows = EventRows()
        self._expanded = 0
        self._losses = PerfettoLosses()
        self._kernel: str | None = None
        self._page_size: int | None = None
        self._compact = False
        self._generic = GenericEvents()

    def trace(self, data: mmap.mmap) -> Trace:
        """Return the trace of all packets."""
        self._all(data, _LEVELS)
        events = by_time(self._rows.tables())
        if not events.rows:
            raise TraceError(f"{self._path} has no ftrace event that foreread uses", _RECORD)
        return Trace(
            format="Perfetto",
            events=events,
            kernel=self._kernel,
            page_size=self._page_size,
            lost=self._losses.lost(),
            uncounted=self._losses.uncounted(),
            windows=self._windows(),
            event_names=frozenset(
                name for name, spec in EVENT_SPECS.items() if (events["kind"] == spec.kind).any()
            ),
            notes=tuple(self._notes()),
            unread=self._generic.unread,
        )

    def _windows(self) -> SeenWindows | None:
        """Return the windows in events that Perfetto's schema lacks."""
        counted = self._generic.windows
        event = next((event for event, _, _ in counted), "")
        counts: Counter[tuple[int, int]] = Counter()
        for (_, dev, pages), count in counted.items():
            counts[_dev(dev) & _U32, pages] += count
        return commonest(event, counts)

    def _notes(self) -> Iterator[str]:
        yield "Perfetto traces do not contain the order of folios: each insert counts as one page"
        if self._compact:
            yield "scheduler events are in compact form, which foreread does not read"
        if self._generic.unread:
            yield f"{plural(self._generic.unread, 'needed event')} could not be read: fields lack"

    def _all(self, data: bytes | mmap.mmap, levels: int) -> None:
        at = 0
        while at < len(data):
            begin, end = _next(data, at)
            if end > len(data):
                raise _Damaged(f"the packet at byte {at:,} ends after the file")
            self._packet(data[begin:end], levels)
            at = end

    def _packet(self, content: bytes, levels: int) -> None:
        try:
            packet = self._decode(content)
        except self._error as error:
            raise _Damaged("a packet cannot be decoded") from error
        if packet.HasField("ftrace_events"):
            self._bundle(packet.ftrace_events)
        elif packet.HasField("compressed_packets"):
            if levels == 1:
                raise _Damaged("compressed packets within compressed packets")
            self._all(self._inflated(packet.compressed_packets), levels - 1)
        elif packet.HasField("ftrace_stats"):
            self._losses.add_stats(packet.ftrace_stats)
        elif packet.HasField("trace_stats"):
            self._losses.add_service(packet.trace_stats)
        elif packet.HasField("system_info"):
            self._kernel = packet.system_info.utsname.release or self._kernel
            page = packet.system_info.page_size
            if is_page_size(page):
                self._page_size = page

    def _inflated(self, content: bytes) -> bytes:
        stream = zlib.decompressobj()
        left = MOST_TRACE_BYTES - self._expanded
        data = stream.decompress(content, left + 1)
        self._expanded += len(data)
        check_size(f"{self._path}, expanded,", self._expanded, MOST_TRACE_BYTES, RECORD_LESS)
        grant(len(data))
        return data

    def _bundle(self, bundle: Any) -> None:
        cpu = bundle.cpu
        if cpu > _MOST_CPU:
            raise _Damaged(f"there is no CPU {cpu}")
        self._losses.add_bundle(bundle)
        self._compact |= bundle.HasField("compact_sched")
        self._generic.learn(bundle)
        for event in bundle.event:
            needed = self._fields(event)
            if needed is None:
                continue
            kind, fields = needed
            pid = event.pid if event.pid < 1 << 31 else 0
            self._rows.add((event.timestamp, cpu, int(kind), pid, *fields))

    def _fields(self, event: Any) -> tuple[Kind, Fields] | None:
        """Return a needed event's kind and fields."""
        name = event.WhichOneof("event")
        if name in _EVENTS:
            kind, fields_of = _EVENTS[name]
            return kind, fields_of(event, getattr(event, name))
        generic = self._generic.columns(event) if name in (None, "generic") else None
        if generic is None:
            return None
        kind, (dev, *columns) = generic
        ino, index, value, flags = columns
        return kind, (_dev(dev) & _U32, ino, index, value, flags)


def _next(data: bytes | mmap.mmap, at: int) -> tuple[int, int]:
    """Return where the packet at ``at`` begins and ends; its end may be after the data's."""
    if data[at] != _PACKET:
        raise _Damaged(f"no packet at byte {at:,}")
    length, shift = 0, 0
    for place in range(at + 1, min(at + 6, len(data))):
        length |= (data[place] & 0x7F) << shift
        shift += 7
        if data[place] < 0x80:
            return place + 1, place + 1 + length
    raise _Damaged(f"no length of a packet at byte {at + 1:,}")


def _dev(device: int) -> int:
    """Return the kernel's dev_t of a device in the encoding of user space (gnu_dev_makedev)."""
    major = (device >> 8) & 0xFFF
    minor = (device & 0xFF) | (device >> 12) & 0xFFF00
    return major << 20 | minor


def _page(_: Any, event: Any) -> Fields:
    return _dev(event.s_dev), event.i_ino, event.index, 0, 0


def _block(_: Any, event: Any) -> Fields:
    flags = flags_of(event.rwbs)
    return _dev(event.dev), 0, event.sector, event.nr_sector, flags


def _switch(_: Any, event: Any) -> Fields:
    return 0, 0, event.prev_state & _U64, event.next_pid & _U32, 0


def _waking(event: Any, woken: Any) -> Fields:
    return 0, 0, event.common_flags, woken.pid & _U32, 0


# By the field of FtraceEvent.
_EVENTS: dict[str | None, tuple[Kind, Callable[[Any, Any], Fields]]] = {
    "mm_filemap_add_to_page_cache": (Kind.INSERT, _page),
    "mm_filemap_delete_from_page_cache": (Kind.DELETE, _page),
    "block_bio_queue": (Kind.BIO_QUEUE, _block),
    "block_rq_issue": (Kind.RQ_ISSUE, _block),
    "block_rq_complete": (Kind.RQ_COMPLETE, _block),
    "sched_process_fork": (Kind.FORK, lambda _, fork: (0, 0, 0, fork.child_pid & _U32, 0)),
    "sched_process_exec": (Kind.EXEC, lambda _, run: (0, 0, 0, run.old_pid & _U32, 0)),
    "sched_process_exit": (Kind.EXIT, lambda *_: (0, 0, 0, 0, 0)),
    "sched_switch": (Kind.SWITCH, _switch),
    "sched_waking": (Kind.WAKING, _waking),
}
