"""A client from the requests of a program: the sizes and order of its calls, and its think time.

What a program asked for shows in its requests. Calls through the page cache do not: readahead makes
the requests, by the window in force. Linux 6.18 records the calls that readahead answers; before
that they are derived from the requests and the window.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from foreread.analyzer.ingest.recording import Recording, TraceError
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.load.calls import (
    asks_at_own_times,
    calls_of,
    gaps_until,
    is_in_order,
    run_bytes,
    writer_of,
)
from foreread.analyzer.load.client import Client
from foreread.analyzer.load.programs import Asker, busy_periods
from foreread.analyzer.program.schedule import Left, stays
from foreread.boards.base.printable import printable
from foreread.boards.base.units import KIB, kib_to_pages
from foreread.emulator.linux.requests import SECTOR
from foreread.tracer.formats.capture import dev_of

_CALL = 128 << 10  # bytes of a read of cat and dd, where the recording does not show the calls
_MOST_PAGES = 1 << 12  # of a call
_OFTEN = 0.01  # of the calls
_AHEAD = 0.5  # of the requests are of readahead
_EARLY = 0.1  # of the recording
_MOST_OPEN = 0.5  # of the time that requests of an open loop are in flight
_SEQUENTIAL = 2  # times the window, after POSIX_FADV_SEQUENTIAL (mm/fadvise.c)
_ASYNC, _SYNC = "readahead:page_cache_async_ra", "readahead:page_cache_sync_ra"
_ADVICE = "syscalls:sys_enter_fadvise64"
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class SeenClient:
    """A client, the program that it is, and what was counted of it in the recording."""

    name: str
    client: Client
    requests: int
    nbytes: int
    busy: float  # share of the recording in which a request of it was in flight
    notes: tuple[str, ...] = ()
    unpredicted: str = ""


class Frame:
    """A recording of a load on one disk, from ``begin_ns`` on for ``took_ns``."""

    def __init__(self, recording: Recording, disk: int, begin_ns: int, took_ns: int) -> None:
        self.recording, self.begin_ns, self.took_ns = recording, begin_ns, took_ns
        devices = recording.capture.devices
        known = (each.read_ahead_kb for each in devices if dev_of(each.dev) == disk)
        kib = self.window_kb = next(known, None)
        self.window = None if kib is None else kib_to_pages(kib, recording.page_size)
        self.calls = [*_readahead_calls(recording)]
        self.advised = _advised(recording)
        inserts = recording.inserts
        self.inserters = np.unique(inserts.data["pid"]) if inserts else np.zeros(0, np.int32)

    def client(self, asker: Asker) -> SeenClient:
        """Return the client that a program is."""
        data = asker.rows[~asker.rows["meta"]]
        data = data if len(data) else asker.rows
        notes: list[str] = []
        if bool(asker.rows["write"][0]):
            client = writer_of(data)
        elif data["ahead"].mean() >= _AHEAD or np.isin(asker.threads, self.inserters).any():
            client, notes = self._cached(asker, data)
        else:
            client = self._direct(asker, data)
        busy = asker.busy_ns / self.took_ns
        at_own_times = not client.cached and asks_at_own_times(data)
        why = ""
        if at_own_times:
            each_s = self.took_ns / 1e9 / max(len(busy_periods(data)[0]), 1)
            what = f"it asks at its own times, every {each_s * 1e3:.3g} ms, and does not wait"
            if busy > _MOST_OPEN:
                why = f"{asker.name}: {what}; its requests are in flight for {busy:.0%} of the time"
            else:
                notes = [*notes, f"{what}; predicted as if it waited for each request"]
        notes = [*notes, *self._part(asker)]
        start_s, stop_s = self._limits(asker)
        client = replace(client, start_s=start_s, stop_s=stop_s)
        name = printable(asker.name)
        return SeenClient(
            name, client, len(asker.rows), asker.nbytes, busy, tuple(notes), printable(why)
        )

    def _direct(self, asker: Asker, data: Array) -> Client:
        """Return a client whose requests are its calls."""
        size, outstanding, think_ns = calls_of(data)
        waited = self._waited(asker, data)
        if waited is not None and outstanding == 1:
            number = max(len(busy_periods(data)[0]) - 1, 1)
            think_ns = max(think_ns - waited.ready_in_gaps_ns / number, 0.0)
        return Client(
            in_order=is_in_order(data), size=size, outstanding=outstanding, think_ns=think_ns
        )

    def _cached(self, asker: Asker, data: Array) -> tuple[Client, list[str]]:
        """Return a client that reads through the page cache."""
        in_order = is_in_order(data)
        size, sequential, notes = self._call_size(asker, data, in_order)
        between_ns, unknown = self._between(asker, data)
        per_call = between_ns * len(data) / max(asker.nbytes / size, 1.0)
        return Client(
            in_order=in_order, cached=True, sequential=sequential, size=size, think_ns=per_call
        ), [*notes, *unknown]

    def _call_size(self, asker: Asker, data: Array, in_order: bool) -> tuple[int, bool, list[str]]:
        """Return the bytes of a call, whether it asked for sequential reading, and notes."""
        page, window = self.recording.page_size, self.window
        wanted, windows = _of_threads(self.calls, np.array(asker.threads))
        if len(wanted):
            pages = _usual_most(wanted) if in_order else float(np.median(wanted))
            size = int(np.clip(pages, 1, _MOST_PAGES)) * page
            if not window:
                return size, bool(np.isin(asker.threads, self.advised).any()), []
            return size, bool(np.median(windows) >= _SEQUENTIAL * window), []
        run = run_bytes(data) if in_order else int(np.median(data["sectors"])) * SECTOR
        if not in_order:
            return max(run, page), False, []
        if not window:
            return _CALL, False, ["the size of its calls is not recorded: 128 KiB are assumed"]
        note = f"its calls are derived from reads of {run // KIB:,} KiB beside the window"
        if run > _SEQUENTIAL * window * page:
            return run, False, [note]
        return min(run, _CALL), run > window * page, [note]

    def _between(self, asker: Asker, data: Array) -> tuple[float, list[str]]:
        """Return the time for each request in which its threads neither waited nor could have run.

        Without events of the scheduler it is unknown: 0, and a note.
        """
        waited = self._waited(asker, data)
        if waited is None:
            return 0.0, ["how long it computes between calls is not recorded: no time is assumed"]
        between_ns = waited.took_ns - waited.blocked_ns - waited.ready_ns
        return max(between_ns, 0.0) / len(data), []

    def _waited(self, asker: Asker, data: Array) -> _Waited | None:
        """Return how long its threads waited while it worked; None if that is not recorded."""
        begin, end = int(data["asked_ns"].min()), int(data["done_ns"].max())
        own = stays(self.recording.trace.events, asker.threads, end)
        end = min(end, max((int(rows["end_ns"][-1]) for rows in own.values()), default=end))
        gaps = gaps_until(data)
        blocked_ns = ready_ns = in_gaps_ns = 0.0
        for rows in own.values():
            left = np.clip(rows["end_ns"][:-1].astype(np.int64), begin, end)
            came = np.clip(rows["begin_ns"][1:].astype(np.int64), left, end)
            woken = rows["woken_ns"][1:].astype(np.int64)
            ready = np.where(woken > 0, np.clip(woken, left, came), came)
            ready = np.where(rows["left"][:-1] == Left.RUNNABLE, left, ready)
            blocked = rows["left"][:-1] == Left.BLOCKED
            blocked_ns += float((ready - left)[blocked].sum())
            ready_ns += float((came - ready).sum())
            in_gaps_ns += float((gaps(came) - gaps(ready)).sum())
        return _Waited(end - begin, blocked_ns, ready_ns, in_gaps_ns) if own else None

    def _limits(self, asker: Asker) -> tuple[float | None, float | None]:
        """Return from when to when it worked beside a start, in seconds from the start's begin."""
        if self.recording.capture.is_load:
            return None, None
        first, last = self._seen(asker)
        start_s = first / 1e9 if first > _EARLY * self.took_ns else None
        return start_s, last / 1e9 if last < (1 - _EARLY) * self.took_ns else None

    def _part(self, asker: Asker) -> Iterator[str]:
        """Yield in which part of the recording it worked, unless in all of it."""
        first, last = self._seen(asker)
        if first > _EARLY * self.took_ns or last < (1 - _EARLY) * self.took_ns:
            took_s = self.took_ns / 1e9
            yield f"it worked from {first / 1e9:.1f} s to {last / 1e9:.1f} s of {took_s:.1f} s"

    def _seen(self, asker: Asker) -> tuple[int, int]:
        rows = asker.rows
        first, last = int(rows["asked_ns"].min()), int(rows["done_ns"].max())
        return first - self.begin_ns, last - self.begin_ns


@dataclass(frozen=True)
class _Waited:
    """How long threads were blocked, and how long they could have run while others did (ns).

    ``took_ns``: from their first request to their last time on a processor. ``ready_in_gaps_ns``:
    while no request of theirs was in flight.
    """

    took_ns: float
    blocked_ns: float
    ready_ns: float
    ready_in_gaps_ns: float


@dataclass(frozen=True, eq=False)
class _Calls:
    """Calls that readahead answered: thread, pages that were wanted, window of the open file."""

    pids: Array
    pages: Array
    window: Array


def _readahead_calls(recording: Recording) -> Iterator[_Calls]:
    """Yield the calls in the events of Linux 6.18 and later."""
    trace = recording.trace
    for event in (_ASYNC, _SYNC):
        if trace.read_fields is None or event not in trace.event_names:
            continue
        try:
            fields = trace.read_fields(event, ("req_count", "ra_pages"))
        except TraceError:  # a kernel without the field
            continue
        yield _Calls(fields["pid"], fields["req_count"], fields["ra_pages"])


def _advised(recording: Recording) -> Array:
    """Return the threads that asked for sequential reading, as far as that was recorded."""
    trace = recording.trace
    if trace.read_fields is None or _ADVICE not in trace.event_names:
        return _NONE
    fields = trace.read_fields(_ADVICE, ("advice",))
    return np.unique(fields["pid"][fields["advice"] == os.POSIX_FADV_SEQUENTIAL])


def _usual_most(pages: Array) -> float:
    """Return the most pages that are often wanted: the rest of a call that was answered in part."""
    values, counts = np.unique(pages, return_counts=True)
    return float(values[counts >= min(_OFTEN * len(pages), counts.max())].max())


def _of_threads(calls: Sequence[_Calls], threads: Array) -> tuple[Array, Array]:
    """Return the pages that the calls of threads wanted, and the windows of their files."""
    own = [(call, np.isin(call.pids, threads)) for call in calls]
    pages = np.concatenate([_NONE, *(call.pages[rows] for call, rows in own)])
    return pages, np.concatenate([_NONE, *(call.window[rows] for call, rows in own)])
