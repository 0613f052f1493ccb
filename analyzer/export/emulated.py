"""A run emulated under another window, as events."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from foreread.analyzer.export.events import ExportError, Track, Wait, events_of
from foreread.analyzer.export.recorded import page_key
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
    accesses, touched = start.recording.accesses, history.touched
    accessed = np.isin(
        page_key(touched["file"], touched["page"]), page_key(accesses["file"], accesses["page"])
    )
    touched = touched[accessed]
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
    accesses, loaded = start.recording.accesses, history.loaded
    size = start.recording.files["size_bytes"][loaded["file"]]
    exists = (size < 0) | (loaded["page"] * start.recording.page_size < size)
    accessed = np.isin(
        page_key(loaded["file"], loaded["page"]), page_key(accesses["file"], accesses["page"])
    )
    vain = loaded[exists & ~accessed]
    vain = vain[np.lexsort((vain["page"], vain["file"], vain["request"]))]
    new = np.ones(len(vain), bool)
    new[1:] = np.diff(vain["page"]) != 1
    for name in ("request", "file", "cause"):
        new[1:] |= vain[name][1:] != vain[name][:-1]
    first = np.flatnonzero(new)
    return _while_read(
        run,
        Track.UNUSED,
        start,
        history.sent[vain["request"][first]],
        file=vain["file"][first],
        page=vain["page"][first],
        pages=np.diff(np.append(first, len(vain))),
        detail=vain["cause"][first].astype(np.uint16) + 1,
    )


def _while_read(
    run: int, track: Track, start: Start, sent: npt.NDArray[np.void], **columns: object
) -> Table:
    """Return the thread ids of the run's threads; -1 for threads that only represent requests."""
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
    """Return the thread ids of the run's threads; -1 for those that only stand for requests."""
    ids = np.full(max(int(number.max(initial=0)) + 1, len(start.threads)), -1, np.int32)
    if start.threads:
        ids[: len(start.threads)] = start.threads
    elif start.recording.capture.pid is not None:
        ids[0] = start.recording.capture.pid  # one sequence
    return ids[number]


def _ns(time: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return np.rint(time).astype(np.int64)
