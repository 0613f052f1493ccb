"""Reader of the text that blkparse prints: requests of a disk, and nothing of files.

blkparse's default format is "%D %2c %8s %5T.%9t %5p %2a %3d " and what the action adds
(blkparse_fmt.c): "sector + sectors [comm]" for what is read here.
"""

from __future__ import annotations

import mmap
import re
from pathlib import Path

from foreread.analyzer.ingest.allowance import grant
from foreread.analyzer.ingest.blktrace import NOTES
from foreread.analyzer.ingest.columns import EventRows, by_time
from foreread.analyzer.ingest.losses import UNKNOWN_CPU
from foreread.analyzer.ingest.recording import Trace, TraceError
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.ingest.text_events import dev_of_pair, flags_of
from foreread.boards.base.bounded import open_regular
from foreread.boards.base.counted import plural
from foreread.tracer.formats.limits import MOST_TRACE_BYTES, RECORD_LESS, check_size

_MAX_CPU = (1 << 16) - 1
_HEAD = (
    rb"^[> \t]*(\d{1,10}),(\d{1,10})[ \t]+(\d{1,5})[ \t]+\d{1,10}[ \t]+(\d{1,10})\.(\d{9})[ \t]+"
    rb"(\d{1,9})[ \t]+"
)
_ANY_LINE = re.compile(_HEAD + rb"[A-Z]{1,2}[ \t]+[A-Z]{1,8}\b", re.M)
# Without sectors, a command of the disk's driver has its bytes: "36 (12 00 …) [hdparm]".
_LINE = re.compile(
    _HEAD
    + rb"([QDC])[ \t]+([A-Z]{1,8})[ \t]+"
    + rb"(?:(\d{1,19}) \+ (\d{1,10})(?=[ \t\r\n]|\Z)|(?=\d{1,19}(?!\d| \()))",
    re.M,
)
_KINDS = {b"Q": Kind.BIO_QUEUE, b"D": Kind.RQ_ISSUE, b"C": Kind.RQ_COMPLETE}
# At the end of the text: events that blkparse skipped, since blktrace had lost them.
_SKIPS = re.compile(rb"^Skips: (?:\d[\d,]*) forward \((\d[\d,]{0,24})[ \t]", re.M)


def begins(head: bytes) -> bool:
    """Return whether a line of blkparse is in ``head``."""
    return _ANY_LINE.search(head) is not None


def read(path: Path) -> Trace:
    """Decode a text of blkparse.

    Raises TraceError when no request is in it, LimitError for one that is too large; OSError if it
    cannot be read.
    """
    with open_regular(path) as file:
        size = path.stat().st_size
        check_size(str(path), size, MOST_TRACE_BYTES, RECORD_LESS)
        grant(size)
        text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with text:
        rows, unread, first = _read(text)
        events = by_time(rows.tables())
        skips = _SKIPS.findall(text)
    skipped = sum(int(count.replace(b",", b"")) for count in skips)
    if not events.rows:
        raise TraceError(
            f"{path} is a text of blkparse without queued, issued or completed requests",
            "give the files NAME.blktrace.N that it was made from",
        )
    return Trace(
        format="blkparse text",
        events=events,
        lost={UNKNOWN_CPU: skipped} if skipped else {},
        uncounted="" if skips else "the text has no line of skipped events",
        event_names=frozenset({"block:block_bio_queue", "block:block_rq_issue"}),
        notes=(*NOTES, f'{plural(unread, "request")} could not be read, as "{first}"')
        if unread
        else NOTES,
        unread=unread,
    )


def _read(text: mmap.mmap) -> tuple[EventRows, int, str]:
    """Return the requests, the number of those that cannot be read, and the first of these."""
    rows, unread, first = EventRows(), 0, ""
    for line in _LINE.finditer(text):
        major, minor, cpu, seconds, fraction, pid, action, rwbs, sector, sectors = line.groups()
        dev = dev_of_pair(major, minor)
        if dev is None or sector is None or int(cpu) > _MAX_CPU:
            unread, first = unread + 1, first or line[0].decode().strip()
            continue
        time_ns, flags = int(seconds + fraction), flags_of(rwbs.decode())
        places = (int(sector), int(sectors), flags)
        rows.add((time_ns, int(cpu), _KINDS[action], int(pid), dev, 0, *places))
    return rows, unread, first
