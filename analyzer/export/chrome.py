"""Trace events as JSON, for chrome://tracing, Speedscope and Perfetto.

Format: "Trace Event Format" of the Chromium project: times in microseconds; complete events (X) of
one thread nest; here no two events of a lane overlap.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from foreread.analyzer.export.events import Exported, Track, what
from foreread.analyzer.export.lanes import columns_of, lanes_of_requests, threads_that_wait

_ACCESSES, _UNUSED, _REQUESTS, _THREADS = 1, 2, 10, 1000  # thread numbers in the viewer

Event = dict[str, Any]


def chrome_of(exported: Exported) -> bytes:
    """Return the JSON; characters with a meaning in HTML or a terminal are escaped."""
    lines = (_line(event) for event in _events(exported))
    notes = _line({"notes": list(exported.notes)})
    body = ",\n".join(lines)
    text = f'{{"displayTimeUnit":"ms","otherData":{notes},"traceEvents":[\n{body}\n]}}\n'
    return text.encode("ascii")


def _line(event: Event) -> str:
    return json.dumps(event, separators=(",", ":")).replace("<", "\\u003c")


def _events(exported: Exported) -> Iterator[Event]:
    for run, name in enumerate(exported.runs):
        yield _named("process_name", run, 0, name)
        yield {**_named("process_sort_index", run, 0, ""), "args": {"sort_index": run}}
        yield _named("thread_name", run, _ACCESSES, "accesses")
        yield _named("thread_name", run, _UNUSED, "read unused")
        yield from _accesses(exported, run)
        yield from _requests(exported, run)
        yield from _unused(exported, run)
        yield from _waits(exported, run)


def _named(kind: str, run: int, lane: int, name: str) -> Event:
    return {"ph": "M", "pid": run + 1, "tid": lane, "name": kind, "args": {"name": name}}


def _instant(run: int, lane: int, ns: int, name: str, args: Event) -> Event:
    at = {"ts": ns / 1000, "pid": run + 1, "tid": lane}
    return {"ph": "i", "s": "t", **at, "name": name, "args": args}


def _slice(run: int, lane: int, ns: int, took_ns: int, name: str, args: Event) -> Event:
    at = {"ts": ns / 1000, "dur": took_ns / 1000, "pid": run + 1, "tid": lane}
    return {"ph": "X", **at, "name": name, "args": args}


def _accesses(exported: Exported, run: int) -> Iterator[Event]:
    names = ("start_ns", "file", "page", "thread")
    for start, file, page, thread in columns_of(exported, run, Track.ACCESSES, *names):
        args = {"page": page, "thread": thread}
        yield _instant(run, _ACCESSES, start, exported.name(file), args)


def _requests(exported: Exported, run: int) -> Iterator[Event]:
    lanes = lanes_of_requests(exported, run)
    for lane in sorted(set(lanes.tolist())):
        yield _named("thread_name", run, _REQUESTS + lane, f"requests {lane + 1}")
    names = ("start_ns", "duration_ns", "thread", "sector", "sectors", "detail")
    rows = columns_of(exported, run, Track.REQUESTS, *names)
    for lane, (start, took, thread, sector, sectors, detail) in zip(
        lanes.tolist(), rows, strict=True
    ):
        name = f"{what(Track.REQUESTS, detail)} {sectors / 2:g} KiB"
        args: Event = {"sector": sector, "sectors": sectors, "thread": thread}
        if took < 0:
            args["note"] = "no completion was recorded"
            yield _instant(run, _REQUESTS + lane, start, name, args)
        else:
            yield _slice(run, _REQUESTS + lane, start, took, name, args)


def _unused(exported: Exported, run: int) -> Iterator[Event]:
    total = 0
    names = ("start_ns", "file", "page", "pages", "detail")
    for start, file, page, pages, detail in columns_of(exported, run, Track.UNUSED, *names):
        args = {"page": page, "pages": pages, "rule": what(Track.UNUSED, detail)}
        yield _instant(run, _UNUSED, start, exported.name(file), args)
        total += pages
        counter = {"ph": "C", "ts": start / 1000, "pid": run + 1, "name": "read unused"}
        yield {**counter, "args": {"pages": total}}


def _waits(exported: Exported, run: int) -> Iterator[Event]:
    lane_of = {thread: _THREADS + n for n, thread in enumerate(threads_that_wait(exported, run))}
    for thread, lane in lane_of.items():
        yield _named("thread_name", run, lane, f"waits of {exported.thread(thread)}")
    names = ("start_ns", "duration_ns", "thread", "detail")
    for start, took, thread, detail in columns_of(exported, run, Track.WAITING, *names):
        name = f"waits: {what(Track.WAITING, detail)}"
        yield _slice(run, lane_of[thread], start, took, name, {})
