"""A trace.dat (version 6) for KernelShark and ``trace-cmd report``.

The recorded run has the kernel's own events on the CPUs that recorded them. The events that
foreread derives from a run are on one further CPU for each run, as events of the system
``foreread``. Layout: trace-cmd.dat.v6(5); pages: kernel/trace/ring_buffer.c.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge

import numpy as np

from foreread.analyzer.export.events import Exported, Track, what
from foreread.analyzer.export.lanes import columns_of
from foreread.analyzer.export.tracedat_formats import FORMATS
from foreread.analyzer.ingest.losses import UNKNOWN_CPU, lost_by_cpu, lost_events
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Kind, Rwbs
from foreread.boards.base.units import KIB

_PAGE = 4096
_HEAD = 16  # of a page: time stamp, and bytes of data
_TIME_EXTEND, _DELTA_BITS, _LONGEST_SHORT = 30, 27, 112
_MOST_NAME = 1024  # bytes of a file's name in an event
_MOST_PID, _MOST_SECTORS = (1 << 31) - 1, (1 << 32) - 1
_CPUSTAT, _UNAME = 2, 5  # options of trace.dat (trace-cmd-private.h)
_MOST_WORD = (1 << 64) - 1  # also: no page, no sector
_LETTERS = ((Rwbs.DISCARD, "D"), (Rwbs.WRITE, "W"), (Rwbs.READ, "R"), (Rwbs.FLUSH, "F"),
            (Rwbs.AHEAD, "A"), (Rwbs.SYNC, "S"), (Rwbs.META, "M"))  # fmt: skip

Timed = tuple[int, bytes]  # ns, and the data of an event


def tracedat_of(exported: Exported, recording: Recording, begin_ns: int) -> bytes:
    """Return the file; ``begin_ns`` is when the recorded run began, by the trace's clock."""
    cpus = _recorded(recording, exported.threads)
    last = max(cpus, default=-1)
    for run in range(len(exported.runs)):
        cpus[last + 1 + run] = _derived(exported, run, begin_ns)
    file_systems = ((begin_ns, data) for data in _file_systems(recording))
    cpus[last + 1] = merge(file_systems, cpus[last + 1], key=lambda event: event[0])
    pages = [_pages(cpus.get(cpu, ())) for cpu in range(max(cpus) + 1)]
    return _file(pages, exported, recording)


def _file_systems(recording: Recording) -> Iterator[bytes]:
    """Yield the present windows and the types of file systems, as far as the recording has them."""
    kb, page_kb = recording.recorded_read_ahead_kb, recording.page_size // KIB
    windows = recording.windows.pages if recording.windows else {}
    for dev in np.unique(recording.files["dev"]).tolist():
        pages = windows.get(dev, _MOST_SECTORS if kb is None else kb // page_kb)
        fstype = recording.fstypes.get(dev, "").encode(errors="replace")[:15]
        yield FORMATS["file_system"].pack(0, dev, min(pages, _MOST_SECTORS), fstype)


def _recorded(recording: Recording, names: Mapping[int, str]) -> dict[int, Iterable[Timed]]:
    """Return the kernel's events by CPU."""
    events = recording.trace.events
    kept = np.flatnonzero(np.isin(events["kind"], [*_PACKED]))
    comms = {thread: name.encode()[:15] for thread, name in names.items()}
    by_cpu: dict[int, Iterable[Timed]] = {}
    for cpu in np.unique(events["cpu"][kept]).tolist():
        here = events.take(kept[events["cpu"][kept] == cpu])
        columns = (here[c].tolist() for c in ("kind", "pid", "dev", "ino", "index", "value"))
        rows = zip(*columns, here["flags"].tolist(), strict=True)
        by_cpu[cpu] = (
            (time, _PACKED[kind](row, comms))
            for time, (kind, *row) in zip(here["time_ns"].tolist(), rows, strict=True)
        )
    return by_cpu


# An event's pid, dev, ino, index, value and flags; the names of threads.
_Packer = Callable[[Sequence[int], Mapping[int, bytes]], bytes]


def _insert(row: Sequence[int], _: Mapping[int, bytes]) -> bytes:
    pid, dev, ino, index, order, _flags = row
    return FORMATS["mm_filemap_add_to_page_cache"].pack(pid, ino, index, dev, min(order, 255))


def _request(name: str) -> _Packer:
    def packed(row: Sequence[int], _: Mapping[int, bytes]) -> bytes:
        return FORMATS[name].pack(row[0], *_of_request(row))

    return packed


def _queued(row: Sequence[int], comms: Mapping[int, bytes]) -> bytes:
    return FORMATS["block_bio_queue"].pack(row[0], *_of_request(row), _comm(row[0], comms))


def _of_request(row: Sequence[int]) -> tuple[int, int, int, bytes]:
    _pid, dev, _ino, sector, sectors, flags = row
    letters = "".join(letter for flag, letter in _LETTERS if flags & flag)
    return dev, sector, min(sectors, _MOST_SECTORS), letters.encode()


def _fault(row: Sequence[int], _: Mapping[int, bytes]) -> bytes:
    pid, dev, ino, index, _last, _flags = row
    return FORMATS["mm_filemap_fault"].pack(pid, ino, index, dev)


def _range(name: str) -> _Packer:
    def packed(row: Sequence[int], _: Mapping[int, bytes]) -> bytes:
        pid, dev, ino, index, last, _flags = row
        return FORMATS[name].pack(pid, ino, index, dev, last)

    return packed


def _switch(row: Sequence[int], comms: Mapping[int, bytes]) -> bytes:
    old, _dev, _ino, state, new, _flags = row
    new &= _MOST_PID
    before = (_comm(old, comms), old, 0, state & 255)
    return FORMATS["sched_switch"].pack(old, *before, _comm(new, comms), new, 0)


def _waking(row: Sequence[int], comms: Mapping[int, bytes]) -> bytes:
    woken = row[4] & _MOST_PID
    return FORMATS["sched_waking"].pack(row[0], _comm(woken, comms), woken, 0)


def _comm(thread: int, comms: Mapping[int, bytes]) -> bytes:
    return comms.get(thread, b"?" if thread else b"swapper")


_PACKED: dict[int, _Packer] = {
    Kind.INSERT: _insert,
    Kind.FAULT: _fault,
    Kind.GET_PAGES: _range("mm_filemap_get_pages"),
    Kind.MAP_PAGES: _range("mm_filemap_map_pages"),
    Kind.BIO_QUEUE: _queued,
    Kind.RQ_ISSUE: _request("block_rq_issue"),
    Kind.RQ_COMPLETE: _request("block_rq_complete"),
    Kind.SWITCH: _switch,
    Kind.WAKING: _waking,
}


def _derived(exported: Exported, run: int, begin_ns: int) -> Iterator[Timed]:
    """Return foreread's events of a run, in order of time."""
    parts = [_track(exported, run, track) for track in Track]
    return ((max(begin_ns + at, 0), data) for at, data in merge(*parts, key=lambda event: event[0]))


def _track(exported: Exported, run: int, track: Track) -> Iterator[Timed]:
    form = FORMATS[_NAMES[track]]
    names = ("start_ns", "duration_ns", "thread", "file", "page", "pages", "sector", "sectors")
    for row in columns_of(exported, run, track, *names, "detail"):
        start, took, thread, file, page, pages, sector, sectors, detail = row
        word = what(track, detail)[:15].encode()
        numbers = (max(took, 0), page & _MOST_WORD, pages, sector & _MOST_WORD, sectors, word)
        name = exported.name(file).encode()[:_MOST_NAME] + b"\0"
        yield start, form.pack(max(thread, 0), run, *numbers, name=name)


_NAMES = {
    Track.ACCESSES: "page_access",
    Track.REQUESTS: "request",
    Track.UNUSED: "read_unused",
    Track.WAITING: "wait",
}


def _pages(events: Iterable[Timed]) -> bytes:
    """Return the ring-buffer pages of a CPU."""
    pages: list[bytes] = []
    body, first, now = bytearray(), 0, 0
    for time, data in events:
        encoded = _encoded(time - now if body else 0, data)
        if len(body) + len(encoded) > _PAGE - _HEAD:
            pages.append(_page(first, body))
            body, encoded = bytearray(), _encoded(0, data)
        if not body:
            first = time
        body += encoded
        now = time
    if body:
        pages.append(_page(first, body))
    return b"".join(pages)


def _page(time: int, body: bytearray) -> bytes:
    return (struct.pack("<QQ", time, len(body)) + body).ljust(_PAGE, b"\0")


def _encoded(delta: int, data: bytes) -> bytes:
    """Return an event with its time since the previous event (rb_update_event)."""
    extend = b""
    if delta >> _DELTA_BITS:
        low = delta & ((1 << _DELTA_BITS) - 1)
        extend = struct.pack("<II", low << 5 | _TIME_EXTEND, delta >> _DELTA_BITS)
        delta = 0
    data += bytes(-len(data) % 4)
    if len(data) > _LONGEST_SHORT:
        return extend + struct.pack("<II", delta << 5, len(data) + 4) + data
    return extend + struct.pack("<I", delta << 5 | len(data) // 4) + data


def _file(cpus: list[bytes], exported: Exported, recording: Recording) -> bytes:
    """Return the container around the pages of all CPUs."""
    comms = "".join(
        f"{pid} {name.replace(' ', '_')[:15]}\n" for pid, name in sorted(exported.threads.items())
    ).encode()
    start = b"\x17\x08\x44tracing6\0" + struct.pack("<BBI", 0, 8, _PAGE) + _header_info()
    start += struct.pack("<I", 0) + _event_formats(recording.page_size)
    start += struct.pack("<II", 0, 0)
    start += struct.pack("<Q", len(comms)) + comms + struct.pack("<I", len(cpus))
    start += b"options  \0" + b"".join(_options(recording, len(cpus)))
    start += struct.pack("<H", 0) + b"flyrecord\0"
    at = -(-(len(start) + 16 * len(cpus)) // _PAGE) * _PAGE
    places, offset = b"", at
    for pages in cpus:
        places += struct.pack("<QQ", offset, len(pages))
        offset += len(pages)
    return (start + places).ljust(at, b"\0") + b"".join(cpus)


def _options(recording: Recording, cpus: int) -> Iterator[bytes]:
    """Yield the options: the kernel, and the lost events of each CPU if they are known."""
    texts = [(_UNAME, f"Linux ? {recording.kernel} ?")] if recording.kernel else []
    lost = lost_by_cpu(recording)
    if lost_events(recording) is not None:
        counts = {cpu: lost.get(str(cpu), 0) for cpu in range(cpus)}
        counts[0] += lost.get(str(UNKNOWN_CPU), 0)
        texts += [(_CPUSTAT, f"CPU: {cpu}\noverrun: {n}\n") for cpu, n in counts.items()]
    for option, text in texts:
        content = text.encode(errors="replace") + b"\0"
        yield struct.pack("<HI", option, len(content)) + content


def _header_info() -> bytes:
    page = (
        b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
        b"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
        b"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
        b"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n"
    )
    event = (
        b"# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n"
        b"\tarray       :   32 bits\n\n\tpadding     : type == 29\n\ttime_extend : type == 30\n"
        b"\ttime_stamp : type == 31\n\tdata max type_len  == 28\n"
    )
    head = b"header_page\0" + struct.pack("<Q", len(page)) + page
    return head + b"header_event\0" + struct.pack("<Q", len(event)) + event


def _event_formats(page_size: int) -> bytes:
    systems: dict[str, list[bytes]] = {}
    for form in FORMATS.values():
        systems.setdefault(form.system, []).append(form.text(page_size))
    out = struct.pack("<I", len(systems))
    for system, texts in systems.items():
        out += system.encode() + b"\0" + struct.pack("<I", len(texts))
        out += b"".join(struct.pack("<Q", len(text)) + text for text in texts)
    return out
