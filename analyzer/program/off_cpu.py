"""The reasons why threads were off their processors, and the time that they computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from foreread.analyzer.ingest.tables import Array, Table
from foreread.analyzer.program.other_work import OtherWork
from foreread.analyzer.program.schedule import Left, among

_LATEST_HANDED_ON_NS = 1e6  # by a kernel worker, which takes some microseconds


class Why(IntEnum):
    """Why a thread was off its processor."""

    OTHERS = 0  # it could have run
    SLEEP = 1  # for an unknown reason: time, the network, another process
    THREAD = 2  # until another thread of the application did something
    DISK = 3  # until something was read
    IDLE = 4  # asleep, and nothing depends on how often or how long (idle.py)


@dataclass(frozen=True, eq=False)
class Off:
    """The times when one thread was off a processor, in order; all columns are equally long.

    ``ready_ns`` is when it could run again, ``came_ns`` when it did, and ``latency_ns`` the time
    between them without recording; during ``others_ns`` of it, others worked for the application on
    the processor where it then ran, and no thread of the application came in between.
    ``unsent_ns``: time they worked on its request, before the disk did. ``checked_ns``: after the
    disk had, until a kernel worker had checked or decrypted what was read and woke the thread; 0 if
    the completion itself did. ``was_running``: it ran before. ``was_free``: no other thread of the
    application had been on the processor it came back to.
    """

    left_ns: Array
    ready_ns: Array
    latency_ns: Array
    others_ns: Array
    unsent_ns: Array
    checked_ns: Array
    came_ns: Array
    woken_ns: Array
    waker: Array
    why: Array
    was_running: Array
    was_free: Array

    def computed(
        self, stays: Array, did_ns: Array, issued_ns: Array, usual_ns: float
    ) -> Callable[[Array], Array]:
        """Return a function of time: the computing time of the thread up to it (ns).

        It computed while it was on a processor, except after the issue of a request that it then
        waited for (the disk works already), and while it came back: the others' work, or else the
        latency, at most ``usual_ns``; if it could run throughout, the others' work alone.
        ``did_ns`` and ``issued_ns``: the times of its operations and of its requests.
        """
        begin, end = stays["begin_ns"].astype(np.float64), stays["end_ns"].astype(np.float64)
        disk = self.why == Why.DISK
        stay = np.searchsorted(stays["end_ns"], self.left_ns[disk])
        since = np.append(0, did_ns)[np.searchsorted(did_ns, self.left_ns[disk], side="right")]
        since = np.maximum(since, stays["begin_ns"][stay])
        issue = np.append(issued_ns, np.iinfo(np.uint64).max)[np.searchsorted(issued_ns, since)]
        end[stay] = np.minimum(end[stay], issue.astype(np.float64))
        usual = np.where(self.why == Why.OTHERS, 0.0, usual_ns)
        back = np.maximum(np.minimum(self.latency_ns, usual), self.others_ns) + self.unsent_ns
        came = self.came_ns.astype(np.float64)
        edges = np.concatenate((begin, end, came - back, came))
        slope = np.repeat((1.0, -1.0, 1.0, -1.0), (len(begin), len(end), len(came), len(came)))
        order = np.argsort(edges, kind="stable")
        edges, rate = edges[order], np.cumsum(slope[order])
        total = np.concatenate(([0.0], np.cumsum(np.diff(edges) * rate[:-1])))
        return lambda times: np.interp(times.astype(np.float64), edges, total)


class Reads:
    """Issue and completion (ns) of a disk's reads in order of completion; the first is none."""

    def __init__(self, reads: Table) -> None:
        order = np.argsort(reads["complete_ns"], kind="stable")
        nothing = np.zeros(1, np.uint64)
        self.complete_ns = np.concatenate((nothing, reads["complete_ns"][order]))
        self.issue_ns = np.concatenate((nothing, reads["issue_ns"][order]))


def off_cpu_intervals(
    thread: int,
    stays: Array,
    start_ns: int,
    threads: Array,
    reads: Reads,
    others: OtherWork,
) -> Off:
    """Return when and why a thread was off its processors (``stays``: STAY).

    ``threads`` are the application's, rising; ``reads`` are the disk's; ``others`` are the
    processors' other work.
    """
    first = stays[:1]
    # Before its first stay a thread is not there; the command's first one is, from the start.
    has_parent = among(first["waker"], threads)[0]
    created = first["woken_ns"] if has_parent else np.array([start_ns], np.uint64)
    left = np.concatenate((np.minimum(created, first["begin_ns"]), stays["end_ns"][:-1]))
    came, woken, waker = stays["begin_ns"], stays["woken_ns"], stays["waker"]
    how = np.concatenate(([Left.ASLEEP], stays["left"][:-1]))
    complete, issue = reads.complete_ns, reads.issue_ns
    row = np.searchsorted(complete[1:], came, side="right")  # the last that had ended; 0: none
    last = complete[row]
    by_thread = (how != Left.RUNNABLE) & among(waker, threads) & (waker != thread)
    by_disk = (how == Left.BLOCKED) & (last > left) & ~by_thread
    why = np.where(how == Left.RUNNABLE, Why.OTHERS, Why.SLEEP)
    why = np.where(by_thread, Why.THREAD, np.where(by_disk, Why.DISK, why))
    ready = np.where((woken > 0) & (why != Why.OTHERS), np.maximum(woken, left), came)
    ready = np.where(by_disk, last, ready)
    # A kernel worker may issue what the thread has queued; after others, that is the disk's time.
    idle = by_disk & (complete[np.maximum(row, 1) - 1] <= left)
    unsent = np.where(idle, np.maximum(issue[row] - left.astype(np.float64), 0.0), 0.0)
    # Later time is not computing: a limiter delayed the request (block/blk-throttle.c).
    unsent[unsent > _LATEST_HANDED_ON_NS] = 0.0
    sent = np.where(unsent > 0, issue[row], left)
    left_cpu = np.concatenate((stays["cpu"][:1], stays["cpu"][:-1]))
    unsent = np.maximum(unsent - others.recording(left_cpu, left, sent), 0.0)
    was_free = ~among(stays["follows"], threads)
    was_running = np.arange(len(stays)) > 0
    cpu, could_run = stays["cpu"], np.where(why == Why.OTHERS, left, ready)
    worked = others.worked(cpu, others.without_application(cpu, could_run, came), came)
    latency = came.astype(np.float64) - ready - others.recording(cpu, ready, came)
    handed_on = by_disk & (woken > ready) & others.switched(cpu, ready, woken)
    checked = np.where(handed_on, woken.astype(np.float64) - ready, 0.0)
    checked = np.maximum(checked - others.recording(cpu, ready, np.maximum(woken, ready)), 0.0)
    times = (left, ready, np.maximum(latency, 0.0), worked, unsent, checked, came)
    return Off(*times, woken, waker, why, was_running, was_free)


def usual_latency(offs: Iterable[Off]) -> float:
    """Return the median time to come back to a free processor (ns)."""
    latencies = np.zeros(0)
    for off in offs:
        has_end = (off.why == Why.DISK) | ((off.why != Why.OTHERS) & (off.woken_ns > 0))
        latencies = np.concatenate((latencies, off.latency_ns[off.was_free & has_end]))
    return float(np.median(latencies)) if len(latencies) else 0.0


def usual_check(offs: Iterable[Off]) -> float:
    """Return the median time that kernel workers worked on what a thread waited for (ns).

    btrfs compares checksums there, dm-crypt decrypts. The recorded reads were of one page. A worker
    comes to its processor first, as the thread does after it.
    """
    checks = []
    for off in offs:
        disk = off.why == Why.DISK
        came = off.came_ns[disk].astype(np.float64) - off.woken_ns[disk]
        checks.append(np.where(off.checked_ns[disk] > 0, off.checked_ns[disk] - came, 0.0))
    times = np.concatenate(checks) if checks else np.zeros(0)
    return max(float(np.median(times)), 0.0) if len(times) else 0.0
