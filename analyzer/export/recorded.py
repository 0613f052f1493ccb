"""The recorded run as events."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foreread.analyzer.export.events import NONE, Track, Wait, events_of
from foreread.analyzer.ingest.accesses import of_threads
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind, Rwbs, Table
from foreread.analyzer.program.cpu import event_cost
from foreread.analyzer.program.off_cpu import Reads, Why, off_cpu_intervals
from foreread.analyzer.program.other_work import OtherWork
from foreread.analyzer.program.schedule import stays

_WAITS = {
    Why.OTHERS: Wait.PROCESSOR,
    Why.SLEEP: Wait.SLEEP,
    Why.THREAD: Wait.THREAD,
    Why.DISK: Wait.DISK,
    Why.IDLE: Wait.SLEEP,
}


def recorded_events(recording: Recording) -> Iterator[Table]:
    """Yield the recorded run's events by track."""
    begin = start_ns(recording)
    accesses = recording.accesses
    yield events_of(
        0,
        Track.ACCESSES,
        accesses.rows,
        start_ns=_since(accesses["time_ns"], begin),
        thread=accesses["pid"],
        file=accesses["file"],
        page=accesses["page"].astype(np.int64),
        pages=1,
    )
    yield _requests(recording.requests, begin)
    yield _unused(recording, begin)
    yield from _waits(recording, begin)


def start_ns(recording: Recording) -> int:
    """Return the beginning of the run in ns of the trace's clock."""
    if recording.capture.start_ns is not None:
        return recording.capture.start_ns
    time = recording.trace.events["time_ns"]
    return int(time[0]) if len(time) else 0


def _since(time_ns: Array, begin: int) -> Array:
    return time_ns.astype(np.int64) - begin


def _requests(requests: Table, begin: int) -> Table:
    done = requests["complete_ns"]
    took = _since(done, 0) - _since(requests["issue_ns"], 0)
    return events_of(
        0,
        Track.REQUESTS,
        requests.rows,
        start_ns=_since(requests["issue_ns"], begin),
        duration_ns=np.where(done > 0, took, NONE),
        thread=requests["pid"],
        dev=requests["dev"],
        sector=requests["sector"].astype(np.int64),
        sectors=requests["sectors"],
        detail=requests["flags"],
    )


def _unused(recording: Recording, begin: int) -> Table:
    """Return the pages that were read for the application and never accessed by it."""
    inserts = recording.inserts
    if inserts is None:
        return events_of(0, Track.UNUSED, 0)
    data, files = inserts.data, recording.files
    mask = inserts.pages > 0
    if recording.threads is not None:
        mask = mask & of_threads(data, recording.threads)
    rows = np.flatnonzero(mask)
    row_of = {
        key: row
        for row, key in enumerate(zip(files["dev"].tolist(), files["ino"].tolist(), strict=True))
    }
    keys = zip(data["dev"][rows].tolist(), data["ino"][rows].tolist(), strict=True)
    file = np.array([row_of.get(key, NONE) for key in keys], np.int64)
    count = inserts.pages[rows]
    each = np.repeat(np.arange(len(rows)), count)
    offset = np.arange(len(each)) - np.repeat(np.cumsum(count) - count, count)
    page = data["index"][rows][each].astype(np.int64) + offset
    unused = (file[each] != NONE) & ~accessed(recording, file[each], page)
    unused &= exists(recording, file[each], page)
    each, page = each[unused], page[unused]
    return events_of(
        0,
        Track.UNUSED,
        len(each),
        start_ns=_since(data["time_ns"][rows][each], begin),
        thread=data["pid"][rows][each],
        file=file[each],
        page=page,
        pages=1,
    )


def accessed(recording: Recording, file: Array, page: Array) -> Array:
    """Return whether the application accessed each page."""
    accesses = recording.accesses
    return np.isin(_page_key(file, page), _page_key(accesses["file"], accesses["page"]))


def _page_key(file: Array, page: Array) -> Array:
    """Return one number for a page of a file; page indices fit 40 bits in files up to 4 PiB."""
    return (file.astype(np.int64) << 40) + np.minimum(page, (1 << 40) - 1).astype(np.int64)


def exists(recording: Recording, file: Array, page: Array) -> Array:
    """Return whether each page is within its file, as far as the file's size is known."""
    size = recording.files["size_bytes"][file]
    return np.asarray((size < 0) | (page * recording.page_size < size))


def _waits(recording: Recording, begin: int) -> Iterator[Table]:
    """Yield the waits of each of the application's threads."""
    events, span = recording.trace.events, recording.capture.span_ns
    switches = events["kind"] == Kind.SWITCH
    if span is None or recording.threads is None or not switches.any():
        return
    by_thread = stays(events, sorted(recording.threads), span[1])
    threads = np.array([*by_thread], np.int64)
    reads = Reads(recording.requests.take((recording.requests["flags"] & Rwbs.READ) > 0))
    other_work = OtherWork(events, set(by_thread), event_cost(events))
    why_to_wait = np.array([_WAITS[why] for why in Why], np.uint16)
    for thread, rows in by_thread.items():
        off = off_cpu_intervals(thread, rows, span[0], threads, reads, other_work)
        gone, came = off.left_ns, off.came_ns
        waited = came > gone
        yield events_of(
            0,
            Track.WAITING,
            int(waited.sum()),
            start_ns=_since(gone[waited], begin),
            duration_ns=_since(came[waited], 0) - _since(gone[waited], 0),
            thread=thread,
            detail=why_to_wait[off.why[waited]],
        )
