"""A run emulated under another window, as events."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from foreread.analyzer.export.events import ExportError, Track, Wait, events_of
from foreread.analyzer.export.recorded import accessed, exists
from foreread.analyzer.ingest.tables import Rwbs, Table
from foreread.analyzer.predict.start import Start
from foreread.emulator.linux.timed_windows import timed_windows
from foreread.emulator.stepwise.history import DISK, PROCESSOR, SLEEP, THREAD, History, history

MOST_STEPS = 1_000_000  # a minute or two in Python
_WAITS = {DISK: Wait.DISK, THREAD: Wait.THREAD, SLEEP: Wait.SLEEP, PROCESSOR: Wait.PROCESSOR}


def replayed(start: Start, window: int) -> History:
    """Return the replay of a start under ``window`` (pages), with the times of ``Start.timed``.

    Raises ExportError for a start of too many steps.
    """
    if len(start.run.steps) > MOST_STEPS:
        raise ExportError(
            f"the start has {len(start.run.steps):,} steps, and an emulated run is exported for up "
            f"to {MOST_STEPS:,}",
            "export the recorded run alone: remove --window",
        )
    recorded = timed_windows(start.run, [0], start.device)[0]
    run, cpu = start.run, start.cpu
    if window:
        run, cpu = start.reading_ahead(run, recorded, cpu)
    return history(run, window, start.device, cpu, recorded)


def emulated_events(run: int, start: Start, history: History) -> Iterator[Table]:
    """Yield the events of an emulated run by track."""
    yield _accesses(run, start, history)
    yield _requests(run, start, history)
    yield _unused(run, start, history)
    waits = history.waits
    yield events_of(
        run,
        Track.WAITING,
        len(waits),
        start_ns=_ns(waits["begin_ns"]),
        duration_ns=_ns(waits["end_ns"]) - _ns(waits["begin_ns"]),
        thread=_threads(start, waits["thread"]),
        detail=[_WAITS[why] for why in waits["why"].tolist()],
    )


def _accesses(run: int, start: Start, history: History) -> Table:
    touched = history.touched
    touched = touched[accessed(start.recording, touched["file"], touched["page"])]
    return events_of(
        run,
        Track.ACCESSES,
        len(touched),
        start_ns=_ns(touched["time_ns"]),
        thread=_threads(start, touched["thread"]),
        file=touched["file"],
        page=touched["page"],
        pages=1,
    )


def _requests(run: int, start: Start, history: History) -> Table:
    sent = history.sent
    return _while_read(
        run,
        Track.REQUESTS,
        start,
        sent,
        dev=start.disk,
        sector=sent["sector"].astype(np.int64),
        sectors=sent["sectors"],
        detail=int(Rwbs.READ),
    )


def _unused(run: int, start: Start, history: History) -> Table:
    """Return runs of pages of one request that the start did not access."""
    loaded = history.loaded
    pages = (start.recording, loaded["file"], loaded["page"])
    unused = loaded[exists(*pages) & ~accessed(*pages)]
    unused = unused[np.lexsort((unused["page"], unused["file"], unused["request"]))]
    new = np.ones(len(unused), bool)
    new[1:] = np.diff(unused["page"]) != 1
    for name in ("request", "file", "cause"):
        new[1:] |= unused[name][1:] != unused[name][:-1]
    first = np.flatnonzero(new)
    return _while_read(
        run,
        Track.UNUSED,
        start,
        history.sent[unused["request"][first]],
        file=unused["file"][first],
        page=unused["page"][first],
        pages=np.diff(np.append(first, len(unused))),
        detail=unused["cause"][first].astype(np.uint16) + 1,
    )


def _while_read(
    run: int, track: Track, start: Start, sent: npt.NDArray[np.void], **columns: object
) -> Table:
    """Return events that last from the sending of a request to its completion."""
    return events_of(
        run,
        track,
        len(sent),
        start_ns=_ns(sent["sent_ns"]),
        duration_ns=_ns(sent["done_ns"]) - _ns(sent["sent_ns"]),
        thread=_threads(start, sent["thread"]),
        **columns,
    )


def _threads(start: Start, number: npt.NDArray[np.uint16]) -> npt.NDArray[np.int32]:
    """Return the thread ids of the run's threads; -1 for threads that only represent requests."""
    ids = np.full(max(int(number.max(initial=0)) + 1, len(start.threads)), -1, np.int32)
    if start.threads:
        ids[: len(start.threads)] = start.threads
    elif start.recording.capture.pid is not None:
        ids[0] = start.recording.capture.pid  # one sequence
    return ids[number]


def _ns(time: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return np.rint(time).astype(np.int64)
