"""When a recorded run begins and ends, and which threads are in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Rwbs


@dataclass(frozen=True)
class Frame:
    """A run from ``start_ns`` to ``end_ns`` on ``cpus`` processors.

    ``threads`` are the application's, rising; empty if they are not known. ``roots`` ran
    already when the run began. It ends with process ``ends_with``, or otherwise if that is None.
    """

    start_ns: int
    end_ns: int
    threads: tuple[int, ...]
    roots: tuple[int, ...]
    ends_with: int | None
    cpus: int


def frame_of(recording: Recording) -> Frame:
    """Return the frame of a recording.

    Another tool's trace does not name the command: there it is from the first accessed page to the
    end of the last read, of all threads that access pages.
    """
    capture, threads = recording.capture, recording.threads
    span, host = capture.span_ns, capture.host
    if span is None or host is None or capture.pid is None:
        return _of_accesses(recording)
    return Frame(
        *span,
        tuple(sorted(threads or ())),
        (capture.pid, *(capture.boot.processes if capture.boot else ())),
        capture.pid if capture.ended_by == "exit" else None,
        max(host.cpu_count, 1),
    )


def _of_accesses(recording: Recording) -> Frame:
    events, times = recording.trace.events, recording.accesses["time_ns"]
    if not len(times):
        return Frame(0, 0, (), (), None, 1)
    threads = np.unique(recording.accesses["pid"])
    start, first = int(times[0]), int(recording.accesses["pid"][0])
    before = np.unique(events["pid"][events["time_ns"] < times[0]])
    roots = {first, *np.intersect1d(threads, before).tolist()}
    cpus = len(np.unique(events["cpu"][np.isin(events["pid"], threads)]))
    end = max(int(times[-1]), _last_end(recording, threads))
    return Frame(start, end, tuple(threads.tolist()), tuple(sorted(roots)), None, max(cpus, 1))


def _last_end(recording: Recording, threads: Array) -> int:
    """Return when the last read of the threads ends."""
    requests = recording.requests
    own = ((requests["flags"] & Rwbs.READ) > 0) & np.isin(requests["pid"], threads)
    return int(requests["complete_ns"][own].max(initial=0))
