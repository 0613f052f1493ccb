"""The requests of a disk with the threads that asked for them, and when."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.requests import asked_ns, requests_for
from foreread.analyzer.ingest.tables import Array, Kind, Rwbs, Table, order_by
from foreread.analyzer.program.schedule import IDLE, Left, rows_by, why_left

_BIOS = "block:block_bio_queue"
_SWITCHES = "sched:sched_switch"
_WORKER = "kworker/"
_NO_TIMES = np.zeros(0, np.int64)
_SLEEP = np.dtype([("woken_ns", "i8"), ("since_ns", "i8"), ("pid", "i8")])
_MOST_OF_A_CALL = 8  # requests of one call that a limiter held
_LATEST_WAKE_NS = 5_000_000  # after the end of the request that a thread waited for

# A request of a load: ``asked_ns`` is when its thread asked for it, ``done_ns`` when it ended.
REQUEST = np.dtype(
    [
        ("asked_ns", "i8"),
        ("done_ns", "i8"),
        ("pid", "i8"),
        ("sector", "i8"),
        ("sectors", "i8"),
        ("write", "?"),
        ("ahead", "?"),
        ("meta", "?"),
        ("held", "?"),  # a kernel worker asked for it, for an unknown thread
    ]
)


def requests_of(recording: Recording, load: Table, disk: int) -> tuple[Array, dict[int, str]]:
    """Return a load's requests of a disk (dev_t), and the names of threads.

    REQUEST rows by time asked: requests that transfer data, and of which the trace has the end.
    Names are by thread, as far as they are in the trace.
    """
    requests = requests_for(replace(recording, requests=load), disk)
    requests = requests.take((requests["sectors"] > 0) & (requests["complete_ns"] > 0))
    events, flags = recording.trace.events, requests["flags"]
    rows = np.zeros(requests.rows, REQUEST)
    times_ns = np.minimum(asked_ns(requests, events), requests["complete_ns"])
    rows["asked_ns"] = times_ns.astype(np.int64)
    for name, column in (
        ("done_ns", "complete_ns"),
        ("pid", "pid"),
        ("sector", "sector"),
        ("sectors", "sectors"),
    ):
        rows[name] = requests[column].astype(np.int64)
    for name, letter in (("write", Rwbs.WRITE), ("ahead", Rwbs.AHEAD), ("meta", Rwbs.META)):
        rows[name] = (flags & letter) > 0
    names = _names(recording, _BIOS, "pid", "comm")
    workers = [pid for pid, name in names.items() if name.startswith(_WORKER)]
    rows["held"] = np.isin(rows["pid"], workers)
    if rows["held"].any():
        _give_back(rows, events)
        names = _names(recording, _SWITCHES, "prev_pid", "prev_comm") | names
    return rows[np.argsort(rows["asked_ns"], kind="stable")], names


def _give_back(rows: Array, events: Table) -> None:
    """Give requests that a limiter held back to the threads that slept until they ended.

    blk-throttle hands a bio on by a kernel worker (see ingest/held.py). The thread that waited for
    it was blocked until its end, and is the next one that is woken, unless a request of its own
    ended just then. A thread that waits for several requests is woken by the last; the others lie
    beside it on the disk.
    """
    sleepers = _sleepers(events)
    sleepers = sleepers[~_have_ended(sleepers, rows[~rows["held"]])]
    held = np.flatnonzero(rows["held"])
    at = np.searchsorted(sleepers["woken_ns"], rows["done_ns"][held])
    known = at < len(sleepers)
    held, sleeper = held[known], sleepers[at[known]]
    done = rows["done_ns"][held]
    waited = (sleeper["since_ns"] < done) & (sleeper["woken_ns"] - done <= _LATEST_WAKE_NS)
    held, sleeper = held[waited], sleeper[waited]
    rows["pid"][held] = sleeper["pid"]
    rows["asked_ns"][held] = np.minimum(rows["asked_ns"][held], sleeper["since_ns"])
    rows["held"][held] = False
    waiters = np.unique(sleeper["pid"])
    for write in (False, True):
        _give_neighbours(rows, write, waiters)


def _have_ended(sleepers: Array, rows: Array) -> Array:
    """Return at the end of which sleeps a request of the same thread ended."""
    ended = np.zeros(len(sleepers), bool)
    done_of = {pid: np.sort(rows["done_ns"][own]) for pid, own in rows_by(rows["pid"]).items()}
    for pid, own in rows_by(sleepers["pid"]).items():
        done = done_of.get(pid, _NO_TIMES)
        woken = sleepers["woken_ns"][own]
        begin = np.maximum(sleepers["since_ns"][own], woken - _LATEST_WAKE_NS)
        ended[own] = np.searchsorted(done, woken, side="right") > np.searchsorted(done, begin)
    return ended


def _give_neighbours(rows: Array, write: bool, waiters: Array) -> None:
    """Give requests that are still a worker's to the one of ``waiters`` with those beside them."""
    for _ in range(_MOST_OF_A_CALL):
        of_kind = rows["write"] == write
        known = np.flatnonzero(of_kind & ~rows["held"] & np.isin(rows["pid"], waiters))
        held = np.flatnonzero(of_kind & rows["held"])
        if not len(known) or not len(held):
            return
        ends, done = rows["sector"] + rows["sectors"], rows["done_ns"]
        after = _matching(rows["sector"][known], ends[held], done[known], done[held])
        before = _matching(ends[known], rows["sector"][held], done[known], done[held])
        beside = np.where(before >= 0, before, after)
        given = beside >= 0
        if not given.any():
            return
        rows["pid"][held[given]] = rows["pid"][known[beside[given]]]
        rows["held"][held[given]] = False


def _matching(values: Array, wanted: Array, done_ns: Array, at_ns: Array) -> Array:
    """Return the row of each wanted value that was done last before ``at_ns``; -1 without one."""
    value = np.concatenate((values, wanted))
    order = order_by(value, np.concatenate((done_ns, at_ns)), np.arange(len(value)) >= len(values))
    is_row = order < len(values)
    latest = np.maximum.accumulate(np.where(is_row, np.arange(len(order)), -1))
    row = order[np.maximum(latest, 0)]
    matching = np.where((latest >= 0) & (value[row] == value[order]), row, -1)
    rows = np.empty(len(value), np.int64)
    rows[order] = matching
    return rows[len(values) :]


def _sleepers(events: Table) -> Array:
    """Return when threads were blocked (uninterruptible sleep), in order of their wake-ups."""
    switches = events.take(events["kind"] == Kind.SWITCH)
    left = why_left(switches["index"], switches["pid"])
    sleeps = switches.take((left == Left.BLOCKED) & (switches["pid"] != IDLE))
    wakes = events.take(events["kind"] == Kind.WAKING)
    thread = np.concatenate((sleeps["pid"].astype(np.int64), wakes["value"].astype(np.int64)))
    time = np.concatenate((sleeps["time_ns"], wakes["time_ns"]))
    order = order_by(thread, time)
    is_sleep = order < sleeps.rows
    woken = np.flatnonzero(is_sleep[:-1] & ~is_sleep[1:])
    woken = woken[thread[order[woken]] == thread[order[woken + 1]]]
    rows = np.zeros(len(woken), _SLEEP)
    rows["since_ns"], rows["woken_ns"] = time[order[woken]], time[order[woken + 1]]
    rows["pid"] = thread[order[woken]]
    return rows[np.argsort(rows["woken_ns"], kind="stable")]


def _names(recording: Recording, event: str, pid: str, comm: str) -> dict[int, str]:
    """Return the last name of each thread in the events of one kind: that of its program."""
    trace = recording.trace
    if trace.read_fields is None or event not in trace.event_names:
        return {}
    fields = trace.read_fields(event, (comm,) if pid == "pid" else (pid, comm))
    pids = np.asarray(fields[pid])
    if not len(pids):
        return {}
    last = {thread: rows[-1] for thread, rows in rows_by(pids.astype(np.int64)).items()}
    names = fields[comm]
    return {t: bytes(names[row]).decode(errors="replace") for t, row in last.items()}
