"""The stays of threads on processors, their ends and wake-ups, from scheduler events."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

import numpy as np

from foreread.analyzer.ingest.tables import Array, Kind, Table, of_kinds, order_by

IDLE = 0  # pid of the tasks that run when nothing else does
NOBODY = -1
IN_INTERRUPT = 8 | 16  # common_flags: hard and soft interrupts (include/linux/trace_events.h)
_SOONER_NS = 20_000  # a wake-up on another CPU may be recorded by so much before its sleep


class Left(IntEnum):
    """Why a thread left its processor."""

    RUNNABLE = 0  # others had to run, too
    ASLEEP = 1  # interruptible: until something happens
    BLOCKED = 2  # uninterruptible: for a device, or a lock of the kernel


# A stay on a processor. ``left`` is how it ended; undefined for the last one of a thread.
# ``woken_ns`` is when the thread was woken before it, 0 if it was not or that is unknown, and
# ``waker`` the thread that did, NOBODY for interrupts. ``follows`` had the processor, ``cpu``,
# before.
STAY = np.dtype(
    [
        ("begin_ns", "u8"),
        ("end_ns", "u8"),
        ("woken_ns", "u8"),
        ("waker", "i4"),
        ("follows", "i4"),
        ("cpu", "u2"),
        ("left", "u1"),
    ]
)
_SWITCHED = np.dtype(
    [("time_ns", "u8"), ("old", "i8"), ("new", "i8"), ("cpu", "u2"), ("left", "u1")]
)


def stays(events: Table, threads: Iterable[int], end_ns: int) -> dict[int, Array]:
    """Return the stays (STAY) of each of ``threads`` that has any, in order of time.

    ``events`` are of a whole run, in order of time; whoever is on a processor after the last of
    them stays there until ``end_ns``.
    """
    switches = events.take(events["kind"] == Kind.SWITCH)
    if not switches.rows:
        return {}
    wakes = events.take(events["kind"] == Kind.WAKING)
    forks = events.take(events["kind"] == Kind.FORK)
    ready = events.take(of_kinds(events, (Kind.WAKING, Kind.FORK)))
    switched = np.concatenate(
        [_on_cpu(events, ready, switches, cpu) for cpu in np.unique(switches["cpu"]).tolist()]
    )
    switched = switched[np.argsort(switched["time_ns"], kind="stable")]
    came, gone = rows_by(switched["new"]), rows_by(switched["old"])
    woken, forked = rows_by(wakes["value"]), rows_by(forks["value"])
    nothing = np.zeros(0, np.int64)
    by_thread = {}
    for thread in threads:
        arrivals = switched[came.get(thread, nothing)]
        departures = switched[gone.get(thread, nothing)]
        if len(arrivals) or len(departures):
            rows = _paired(arrivals, departures, end_ns)
            wakes_of = wakes.take(woken.get(thread, nothing))
            _add_wakers(rows, wakes_of, forks.take(forked.get(thread, nothing)))
            by_thread[thread] = rows
    return by_thread


def among(values: Array, threads: Array) -> Array:
    """Return which values are one of ``threads``, which are in rising order."""
    if not len(threads):
        return np.zeros(len(values), bool)
    row = np.minimum(np.searchsorted(threads, values), len(threads) - 1)
    return np.asarray(threads[row] == values)


def rows_by(values: Array) -> dict[int, Array]:
    """Return the rows of each value, in order."""
    if not len(values):
        return {}
    order = order_by(values)
    unique, first = np.unique(values[order], return_index=True)
    return dict(zip(unique.tolist(), np.split(order, first[1:]), strict=True))


def _on_cpu(events: Table, ready: Table, switches: Table, cpu: int) -> Array:
    """Return the switches of one processor (_SWITCHED), with those that were not recorded.

    Some kernels do not record that a thread follows the idle task (seen on a guest's second
    processor). An unrecorded thread came after everything recorded of the task before it, after
    the wake-up or the fork that made it able to run (``ready``), and before its own first event
    on that processor.
    """
    own = switches.take(switches["cpu"] == cpu)
    switched = np.zeros(own.rows, _SWITCHED)
    switched["time_ns"], switched["old"] = own["time_ns"], own["pid"]
    switched["new"] = own["value"].astype(np.int64)
    switched["cpu"], switched["left"] = cpu, why_left(own["index"], own["pid"])
    unseen = np.flatnonzero(switched["new"][:-1] != switched["old"][1:])
    if not len(unseen):
        return switched
    here = events.take(events["cpu"] == cpu)
    bounds = np.flatnonzero(here["kind"] == Kind.SWITCH)
    begin, old, new = bounds[unseen] + 1, switched["new"][unseen], switched["old"][unseen + 1]
    _, first = _rows_around(here["pid"], new, begin)  # the switch at the end is one at least
    last, _ = _rows_around(here["pid"], old, first)
    latest = np.where(
        last >= begin, here["time_ns"][np.maximum(last, 0)], switched["time_ns"][unseen]
    )
    latest = np.maximum(latest, _ready_before(ready, new, here["time_ns"][first]))
    more = np.zeros(len(unseen), _SWITCHED)
    more["time_ns"], more["old"], more["new"] = latest, old, new
    more["cpu"], more["left"] = cpu, Left.RUNNABLE
    return np.insert(switched, unseen + 1, more)


def _rows_around(pid: Array, task: Array, row: Array) -> tuple[Array, Array]:
    """Return each task's last row of ``pid`` before ``row``, and its first from there on; else -1.

    The number of a task is beyond those of ``pid`` in a damaged trace.
    """
    rows, limits = len(pid) + 1, np.iinfo(pid.dtype)
    keys = np.sort(pid.astype(np.int64) * rows + np.arange(len(pid)))
    can_be = (task >= limits.min) & (task <= limits.max)
    key = np.where(can_be, task, 0) * rows
    at = np.searchsorted(keys, key + row)
    around = []
    for near in (at - 1, at):
        exists = can_be & (near >= 0) & (near < len(keys))
        place = keys[np.where(exists, near, 0)] - key
        around.append(np.where(exists & (place >= 0) & (place < len(pid)), place, -1))
    return around[0], around[1]


def _ready_before(ready: Table, task: Array, time_ns: Array) -> Array:
    """Return when each task was last made able to run before a time; 0 if it was not."""
    value = np.minimum(ready["value"], np.uint64(np.iinfo(np.int64).max)).astype(np.int64)
    tasks = np.concatenate((value, task))
    times = np.concatenate((ready["time_ns"], time_ns))
    is_ready = np.arange(len(tasks)) < ready.rows
    order = order_by(tasks, times, is_ready)
    latest = np.maximum.accumulate(np.where(is_ready[order], np.arange(len(order)), -1))
    source = order[np.maximum(latest, 0)]
    was_ready = (latest >= 0) & (tasks[source] == tasks[order])
    ready_ns = np.empty(len(tasks), np.uint64)
    ready_ns[order] = np.where(was_ready, times[source], np.uint64(0))
    return ready_ns[ready.rows :]


def why_left(state: Array, thread: Array) -> Array:
    """Return why threads left (Left), from prev_state.

    Its lowest bits are S and D in all kernels, except from 4.15 on until that was corrected
    (4.20 and stable releases), where all letters are one bit further up. The idle task never
    sleeps: it has the state of a running task.
    """
    idle = state[thread == IDLE]
    shift = np.uint64(len(idle) > 0 and np.median(idle & np.uint64(0xFF)) == 1)
    bits = (state >> shift) & np.uint64(3)
    blocked = (bits & np.uint64(2)) > 0
    return np.where(blocked, Left.BLOCKED, bits).astype(np.uint8)


def _paired(arrivals: Array, departures: Array, end_ns: int) -> Array:
    """Return stays from arrivals and departures; a departure without arrival is of no length."""
    gone, came = departures["time_ns"], arrivals["time_ns"]
    before = np.concatenate((np.zeros(1, np.uint64), gone[:-1])) if len(gone) else gone
    row = np.searchsorted(came, gone, side="right") - 1
    seen = (row >= 0) & (came[row] >= before) if len(came) else np.zeros(len(gone), bool)
    open_end = len(came) > 0 and (not len(gone) or came[-1] > gone[-1])
    rows = np.zeros(len(gone) + open_end, STAY)
    closed = rows[: len(gone)]
    closed["end_ns"], closed["left"] = gone, departures["left"]
    closed["begin_ns"] = np.where(seen, came[row], gone) if len(came) else gone
    closed["cpu"] = departures["cpu"]
    if len(came):
        closed["follows"] = np.where(seen, arrivals["old"][row], NOBODY)
    if open_end:
        rows[-1]["begin_ns"], rows[-1]["end_ns"] = came[-1], max(end_ns, int(came[-1]))
        rows[-1]["follows"], rows[-1]["cpu"] = arrivals["old"][-1], arrivals["cpu"][-1]
    rows["waker"] = NOBODY
    return rows


def _add_wakers(rows: Array, wakes: Table, forks: Table) -> None:
    """Set the wake-up that ended the sleep before each stay: the last one; and of the first a fork.

    ``wakes`` and ``forks`` are of the thread.
    """
    row = np.searchsorted(wakes["time_ns"], rows["begin_ns"], side="right") - 1
    slept = np.concatenate(([True], rows["left"][:-1] != Left.RUNNABLE))
    since = np.concatenate((np.zeros(1, np.uint64), rows["end_ns"][:-1]))
    since -= np.minimum(since, np.uint64(_SOONER_NS))
    woken = slept & (row >= 0)
    woken[woken] &= wakes["time_ns"][row[woken]] >= since[woken]
    by = row[woken]
    rows["woken_ns"][woken] = wakes["time_ns"][by]
    by_thread = (wakes["index"][by] & np.uint64(IN_INTERRUPT)) == 0
    rows["waker"][woken] = np.where(by_thread, wakes["pid"][by], NOBODY)
    if forks.rows and forks["time_ns"][0] <= rows["begin_ns"][0]:
        rows["woken_ns"][0], rows["waker"][0] = forks["time_ns"][0], forks["pid"][0]
