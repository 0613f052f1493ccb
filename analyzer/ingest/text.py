"""Reader of text: tracefs (``trace``, ``trace_pipe``), ``trace-cmd report``, ``perf script``.

``text_lines.py`` reads the lines: their heads by ``text_heads.py``, what the events say by
``text_events.py``. Text around them, as the viewer in a web page of systrace, is passed over.
"""

from __future__ import annotations

import mmap
import re
from pathlib import Path

import numpy as np

from foreread.analyzer.ingest import page_size as sizes
from foreread.analyzer.ingest.allowance import grant
from foreread.analyzer.ingest.columns import by_time
from foreread.analyzer.ingest.needed import NEEDED, listed
from foreread.analyzer.ingest.recording import Trace, TraceError
from foreread.analyzer.ingest.spec import EVENT_SPECS
from foreread.analyzer.ingest.tables import Array, Kind, Table, of_kinds
from foreread.analyzer.ingest.text_heads import ANY_LINE, event_of
from foreread.analyzer.ingest.text_lines import NAMES, Lines, Text
from foreread.analyzer.ingest.text_losses import text_losses
from foreread.analyzer.ingest.text_unread import Unread
from foreread.analyzer.ingest.windows_seen import windows_of_text
from foreread.boards.base.bounded import open_regular
from foreread.boards.base.counted import plural
from foreread.tracer.formats.limits import MOST_TRACE_BYTES, RECORD_LESS, check_size

_EMBEDDED = b'"systemTraceEvents"'  # chrome://tracing: the text as a string of JSON
_IN_PAGE = re.compile(rb"# tracer:|class=\"trace-data\"|linuxPerfData")
_UNNAMED = re.compile(rb"\[UNKNOWN EVENT\][^\n]*")
_BLK = re.compile(rb"^# tracer: blk$", re.M)
_ESSENTIAL = (Kind.INSERT, Kind.BIO_QUEUE, Kind.RQ_ISSUE, Kind.RQ_COMPLETE)
_NAMELESS = (
    (
        re.compile(rb"^(?:\d+ \d+ \d+|[0-9a-f]{8} [0-9a-f]{8} [0-9a-f]{16}) type: \d+$", re.M),
        "events whose names the trace options raw and hex leave out",
        "copy tracefs's file trace again after: echo noraw > trace_options; echo nohex > "
        "trace_options",
    ),
    (
        _BLK,
        "lines of the tracer blk, which do not name events",
        "record the events instead: trace-cmd record -e block -e filemap",
    ),
    (
        re.compile(rb"\0"),
        "events in the binary form of the trace option bin",
        "copy tracefs's file trace again after: echo nobin > trace_options",
    ),
    (
        _UNNAMED,
        "events that trace-cmd report could not name",
        "give the trace.dat that it was printed from",
    ),
)


def read(path: Path, page_size: int | None = None) -> Trace:
    """Decode a text trace. Lines of other events are skipped.

    ``page_size``: of the traced kernel in bytes; None: learnt from the text.
    Raises TraceError when no event of use is in it, when most of a needed event's lines are in a
    form that is not read, and when the pages cannot have this size; OSError if it cannot be read.
    """
    with open_regular(path) as file:
        size = path.stat().st_size
        if size == 0:
            raise TraceError(f"{path} is empty", "copy or record it again")
        check_size(str(path), size, MOST_TRACE_BYTES, RECORD_LESS)
        grant(size)
        text = _embedded(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    lines = Lines(text, _begin(text))
    events, in_bytes = lines.table()
    if not events.rows:
        raise _nothing(path, text, lines.unread)
    if lines.unread.misses_most(_ESSENTIAL, events):
        raise TraceError(f"{path}: {lines.unread}", lines.unread.remedy)
    lost, uncounted = text_losses(text)
    notes = []
    unnamed = sum(1 for _ in _UNNAMED.finditer(text))
    if unnamed:
        notes.append(
            f"trace-cmd report could not name the events of {plural(unnamed, 'line')}; give the "
            "trace.dat that it printed"
        )
    if _BLK.search(text):
        notes.append(
            "lines of the tracer blk are not read; record the events block:* instead of it"
        )
    learnt = _to_pages(events, in_bytes, page_size)
    names = frozenset(n for n, s in EVENT_SPECS.items() if (events["kind"] == s.kind).any())
    return Trace(
        format="perf script text" if lines.by_perf else "tracefs text",
        events=by_time([events]),
        page_size=learnt.size,
        page_size_assumed=not learnt.known and bool((events["kind"] <= Kind.RA_SYNC).any()),
        lost=lost,
        uncounted=uncounted,
        event_names=names,
        windows=windows_of_text(text),
        notes=(*notes, *lines.notes()),
        unread=lines.unread.lines,
    )


def begins(head: bytes) -> bool:
    """Return whether ``head`` begins a text trace, or has a line of one."""
    if head.startswith((b"# tracer:", b"cpus=")) or b"\n# tracer:" in head:
        return True
    if b"\0" not in head and any(names.search(head) for names in NAMES):
        return True
    return ANY_LINE.search(head) is not None


def _begin(text: Text) -> int:
    """Return where a web page has the trace: its viewer's code before it names events, too."""
    match = _IN_PAGE.search(text) if text[:1] == b"<" else None
    return match.start() if match else 0


def _embedded(text: mmap.mmap) -> Text:
    """Return the text; where it is a string of a JSON document, with line ends."""
    if text[:1] == b"{" and text.find(_EMBEDDED) >= 0:
        return text[:].replace(b"\\n", b"\n")
    return text


def _to_pages(events: Table, in_bytes: Array, page_size: int | None) -> sizes.PageSize:
    """Turn positions in bytes into pages, in place; return the page size."""
    if page_size is None:
        learnt = sizes.learn(events, in_bytes)
    else:
        sizes.check(page_size, events, in_bytes)
        learnt = sizes.PageSize(page_size, known=True)
    ranges = in_bytes & of_kinds(events, sizes.RANGE_KINDS)
    events["index"][in_bytes] //= np.uint64(learnt.size)
    events["value"][ranges] //= np.uint64(learnt.size)
    return learnt


def _nothing(path: Path, text: Text, unread: Unread) -> TraceError:
    """Return the error of a text without a line that can be read."""
    if unread.lines:
        return TraceError(f"{path}: {unread}", unread.remedy)
    for pattern, what, remedy in _NAMELESS:
        if pattern.search(text):
            return TraceError(f"{path} is a text trace with {what}", remedy)
    others = sorted({event_of(match).decode() for match in ANY_LINE.finditer(text)})
    other = f"other events ({', '.join(others[:6])})" if others else "no events"
    return TraceError(
        f"{path} is a text trace with {other}, and none that says which pages were read",
        f"record {listed(NEEDED)} (foreread record does)",
    )
