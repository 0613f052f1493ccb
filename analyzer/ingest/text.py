"""Reader of text: tracefs (``trace``, ``trace_pipe``), ``trace-cmd report``, ``perf script``.

Print formats are those of include/trace/events/{filemap,readahead,block,sched}.h, Linux 3.10 to
6.19. A text does not say the page size: offsets are turned into pages of 4096 bytes.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from analyzer.ingest.allowance import grant
from analyzer.ingest.columns import by_time
from analyzer.ingest.recording import Trace, TraceError
from analyzer.ingest.spec import EVENT_SPECS
from analyzer.ingest.tables import EVENTS, Kind, Rwbs, Table
from boards.bounded import open_regular
from boards.counted import plural
from tracer.formats.limits import MOST_TRACE_BYTES, RECORD_LESS, check_size

_PAGE_SIZE = 4096
_BLOCK_ROWS = 1 << 16
_MAX_MINOR, _MINOR_BITS, _MAX_CPU = (1 << 20) - 1, 20, (1 << 16) - 1
_EVENTS = {name.partition(":")[2].encode(): name for name in EVENT_SPECS}

# "  comm-pid  [cpu] flags secs.usecs: event: text"; the comm is any 15 bytes, too short to hold the
# whole pattern, so the first match of the rest is the right one. perf script: "comm tid [cpu] …",
# or pid/tid; a period may stand before the event.
_HEADER = (
    rb"^(?:[^\n]{0,48}?[- \t])?(?:\d{1,9}/)?(\d{1,9})[ \t]+"
    rb"(?:\([ \d-]{1,10}\)[ \t]+)?\[(\d{1,5})\][ \t]+"
    rb"(?:([^ \t\n]{1,8})[ \t]+)?(\d{1,10})\.(\d{9}|\d{6}):[ \t]+(?:\d{1,19}[ \t]+)?(?:\w{1,63}:)?"
)
_LINE = re.compile(_HEADER + rb"(" + b"|".join(_EVENTS) + rb"):[ \t]*([^\n]{0,4096})$", re.M)
_PERF_LINE = re.compile(
    rb"^(?:[^\n]{0,48}?[ \t])?(?:\d{1,9}/)?\d{1,9}[ \t]+\[\d{1,5}\][ \t]+\d{1,10}\."
    rb"(?:\d{9}|(\d{6})):[ \t]+(?:\d{1,19}[ \t]+)?\w{1,63}:\w{1,63}:",
    re.M,
)
_ANY_LINE = re.compile(_HEADER + rb"(\w{1,63}):", re.M)

# trace_pipe: print_lost_events, kernel/trace/trace.c; trace-cmd report: trace-read.c
_LOST = re.compile(rb"^[ \t]*CPU:(\d{1,5}) \[(?:LOST )?(?:(\d{1,18}) )?EVENTS(?: DROPPED)?\]", re.M)
_OVERWRITTEN = re.compile(rb"^# entries-in-buffer/entries-written: (\d{1,18})/(\d{1,18})\b", re.M)

_PAGE = re.compile(
    rb"dev[ =](\d{1,4}):(\d{1,7}) ino[ =](?:0x)?([0-9a-f]{1,16}) (?:.*?)\bofs=(\d{1,19})"
    rb"(?:-(\d{1,19}))?(?: order=(\d{1,2}))?\s*$"
)
_READAHEAD = re.compile(
    rb"dev=(\d{1,4}):(\d{1,7}) ino=([0-9a-f]{1,16}) index=(\d{1,19}) "
    rb"(?:nr_to_read|req_count)=(\d{1,19})\b"
)
_BLOCK = re.compile(
    rb"(\d{1,4}),(\d{1,7}) ([A-Z]{0,16}) (?:(?:\d{1,10} )?\(.*?\) )?(\d{1,19}) \+ (\d{1,10}) "
)
# Own probes (tracer/probes/definitions.py), as print_kprobe_event prints any.
_PROBED = re.compile(
    rb"\([^)\n]*\) file=\d+ ino=(\d{1,20}) dev=(\d{1,10}) (?:index|pos)=(\d{1,20})"
    rb"(?: count=(\d{1,20}))?\s*$"
)
_CHILD = re.compile(rb".*\bchild_pid=(\d{1,9})\s*$")
_OLD = re.compile(rb".*\bold_pid=(\d{1,9})\s*$")
# The kernel's own words, and those of trace-cmd's plugin (libtraceevent, plugin_sched_switch.c).
_SWITCH = re.compile(
    rb".*(?:\bprev_state=| \[-?\d{1,9}\] )([A-Za-z])[A-Za-z|+]{0,16} ==> "
    rb".*(?:\bnext_pid=|:)(\d{1,9}) (?:next_prio=|\[)-?\d{1,9}\]?\s*$"
)
_WOKEN = re.compile(rb".*(?:\bpid=|:)(\d{1,9}) (?:prio=|\[)-?\d")
# The low bits of prev_state, which have meant the same in every kernel (fs/proc/array.c).
_STATES = {b"R": 0, b"S": 1, b"D": 2}
_OTHER_STATE = 4
# trace_print_lat_fmt, kernel/trace/trace_output.c: the third letter
_HARDIRQ, _SOFTIRQ = 8, 16
_CONTEXT = {"h": _HARDIRQ, "s": _SOFTIRQ, "H": _HARDIRQ | _SOFTIRQ, "z": _HARDIRQ, "Z": _HARDIRQ}
_RWBS = {
    "R": Rwbs.READ,
    "W": Rwbs.WRITE,
    "A": Rwbs.AHEAD,
    "M": Rwbs.META,
    "S": Rwbs.SYNC,
    "F": Rwbs.FLUSH,
    "D": Rwbs.DISCARD,
    "E": Rwbs.DISCARD,
}

Fields = tuple[int, int, int, int, int]  # dev, ino, index, value, flags


def read(path: Path) -> Trace:
    """Decode a text trace. Lines of other events are skipped.

    Raises TraceError when no event of use is in it; OSError if it cannot be read.
    """
    with open_regular(path) as file:
        size = path.stat().st_size
        if size == 0:
            raise TraceError(f"{path} is empty", "copy or record it again")
        check_size(str(path), size, MOST_TRACE_BYTES, RECORD_LESS)
        grant(size)
        text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with text:
        table, unreadable = _rows(text)
        if not table.rows:
            raise _nothing(path, text, unreadable)
        lost, notes = _losses(text)
        perf = _PERF_LINE.search(text)
        if perf is not None and perf[1]:
            notes.append(
                "the text has whole microseconds: events of two CPUs may be in the wrong order; "
                "print it with perf script --ns"
            )
    notes.append("the text does not contain the page size: 4096 bytes assumed")
    if unreadable:
        notes.append(f"{unreadable} lines of events could not be read and are left out")
    names = frozenset(n for n, s in EVENT_SPECS.items() if (table["kind"] == s.kind).any())
    return Trace(
        format="tracefs text" if perf is None else "perf script text",
        events=table,
        lost=lost,
        event_names=names,
        notes=tuple(notes),
    )


def looks_like_text(head: bytes) -> bool:
    """Return whether ``head`` is the beginning of a text trace."""
    return head.startswith((b"# tracer:", b"cpus=")) or _ANY_LINE.search(head) is not None


def _rows(text: mmap.mmap) -> tuple[Table, int]:
    """Return the events by time, and the number of invalid lines."""
    blocks: list[Table] = []
    rows: list[tuple[int, ...]] = []  # ten times as large as the same rows of a table
    unreadable = 0
    for line in _LINE.finditer(text):
        pid, cpu, context, seconds, fraction, event, payload = line.groups()
        kind = EVENT_SPECS[_EVENTS[event]].kind
        fields = _PARSERS[kind](payload)
        if kind == Kind.WAKING and fields is not None:
            fields = (0, 0, _common_flags(context), *fields[3:])
        if fields is None or int(cpu) > _MAX_CPU:
            unreadable += 1
            continue
        time_ns = int(seconds) * 10**9 + int(fraction.ljust(9, b"0"))
        dev, ino, index, value, flags = fields
        rows.append((time_ns, int(cpu), int(kind), int(pid), dev, ino, index, value, flags))
        if len(rows) == _BLOCK_ROWS:
            blocks.append(_table(rows))
            rows.clear()
    return by_time([*blocks, _table(rows)]), unreadable


def _table(rows: list[tuple[int, ...]]) -> Table:
    columns = zip(*rows, strict=True) if rows else ((),) * len(EVENTS.columns)
    pairs = zip(EVENTS.columns, columns, strict=True)
    return Table(EVENTS, {column.name: np.array(values, column.dtype) for column, values in pairs})


def _losses(text: mmap.mmap) -> tuple[dict[int, int], list[str]]:
    lost: dict[int, int] = {}
    notes = []
    for cpu, count in _LOST.findall(text):
        lost[int(cpu)] = lost.get(int(cpu), 0) + int(count or 1)
    for kept, written in _OVERWRITTEN.findall(text):
        if int(written) > int(kept):
            events = plural(int(written) - int(kept), "event", "was")
            notes.append(f"{events} overwritten in the ring buffer")
    return lost, notes


def _nothing(path: Path, text: mmap.mmap, unreadable: int) -> TraceError:
    others = sorted({match[6].decode() for match in _ANY_LINE.finditer(text)})
    if unreadable:
        found = f"{unreadable} lines of events that cannot be read"
    else:
        found = f"other events ({', '.join(others[:6])})" if others else "no events"
    return TraceError(
        f"{path} is a text trace with {found}, and none that says which pages were read",
        "record filemap:mm_filemap_add_to_page_cache at least (foreread record does)",
    )


def _dev(major: bytes, minor: bytes) -> int | None:
    """Return the dev_t, or None if there is no such number."""
    if int(major) >= 1 << 12 or int(minor) > _MAX_MINOR:
        return None
    return int(major) << _MINOR_BITS | int(minor)


def _page(payload: bytes) -> Fields | None:
    match = _PAGE.match(payload)
    dev = _dev(match[1], match[2]) if match else None
    if match is None or dev is None:
        return None
    last = (int(match[5]) + 1) // _PAGE_SIZE - 1 if match[5] else int(match[6] or 0)
    return dev, int(match[3], 16), int(match[4]) // _PAGE_SIZE, max(last, 0), 0


def _readahead(payload: bytes) -> Fields | None:
    match = _READAHEAD.match(payload)
    dev = _dev(match[1], match[2]) if match else None
    if match is None or dev is None:
        return None
    return dev, int(match[3], 16), int(match[4]), int(match[5]), 0


def _block(payload: bytes) -> Fields | None:
    match = _BLOCK.match(payload)
    dev = _dev(match[1], match[2]) if match else None
    if match is None or dev is None:
        return None
    return dev, 0, int(match[4]), int(match[5]), flags_of(match[3].decode())


def flags_of(rwbs: str) -> int:
    """Return the flags (Rwbs) of a block event's letters."""
    flags = Rwbs(0)
    for letter in rwbs:
        flags |= _RWBS.get(letter, Rwbs.OTHER)
    return int(flags)


def _probed(payload: bytes) -> Fields | None:
    match = _PROBED.match(payload)
    if match is None:
        return None
    ino, dev, index, value = (int(number or 0) for number in match.groups())
    return (
        (dev, ino, index, value, 0) if dev < 1 << 32 and max(ino, index, value) < 1 << 64 else None
    )


def _thread(pattern: re.Pattern[bytes]) -> Callable[[bytes], Fields | None]:
    def parse(payload: bytes) -> Fields | None:
        match = pattern.match(payload)
        return (0, 0, 0, int(match[1]), 0) if match else None

    return parse


def _switch(payload: bytes) -> Fields | None:
    match = _SWITCH.match(payload)
    if match is None:
        return None
    return 0, 0, _STATES.get(match[1], _OTHER_STATE), int(match[2]), 0


def _common_flags(context: bytes | None) -> int:
    """Return the interrupt state in a line's flag letters, in the format of common_flags."""
    return _CONTEXT.get(context[2:3].decode(errors="replace"), 0) if context else 0


_PARSERS: dict[Kind, Callable[[bytes], Fields | None]] = {
    **dict.fromkeys((Kind.INSERT, Kind.DELETE, Kind.FAULT, Kind.GET_PAGES, Kind.MAP_PAGES), _page),
    **dict.fromkeys((Kind.RA_UNBOUNDED, Kind.RA_SYNC), _readahead),
    **dict.fromkeys((Kind.BIO_QUEUE, Kind.RQ_ISSUE, Kind.RQ_COMPLETE), _block),
    Kind.FORK: _thread(_CHILD),
    Kind.EXEC: _thread(_OLD),
    **dict.fromkeys((Kind.PROBED_FAULT, Kind.PROBED_READ), _probed),
    Kind.SWITCH: _switch,
    Kind.WAKING: _thread(_WOKEN),
    Kind.EXIT: lambda _: (0, 0, 0, 0, 0),
}
