"""Threads on processors, one event after another.

A thread is an iterator of its waits. It occupies a CPU while it computes, and continues at the end
of its computing. Its actions take no time, and happen in order of time, simultaneous ones in order
of rows. A thread that has to compute takes a free CPU, or the CPU occupied longest by another
thread if that is a slice or more; otherwise it waits in a FIFO queue. A thread that has occupied a
CPU for a slice yields it to the first in the queue, and queues at the end. With a credit the order
is that of kernel/sched/fair.c before 6.6. Without one, a thread that a completion wakes preempts
the only CPU's thread in two cases: the disk's worker ran when that got the CPU, and runs again now;
or the same completion woke that, too, and the thread lags. Of the threads that wait for one
completion, threads that wait for its pages continue before threads that wait for its room in the
queue, in the kernel's order of waking (blk_mq_end_request); within both groups in the order in
which they began to wait.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from foreread.emulator.stepwise.disk import Request, Span

# sched_min_granularity_ns, since 6.6 sched_base_slice_ns, of one CPU (kernel/sched/fair.c)
SLICE_NS = 0.75e6
TICK_NS = 4e6  # CONFIG_HZ=250
NONE = -1.0
_MOST_FACTOR = 8  # CPUs: get_update_sysctl_factor


@dataclass(frozen=True)
class Compute:
    """Compute for ``for_ns`` of CPU time."""

    for_ns: float


@dataclass(frozen=True)
class Sleep:
    """Sleep until ``until_ns``: for a device, or for an unknown reason.

    The end of step ``woken_by`` ends the sleep earlier (-1: no step does). If the time is infinite,
    the sleep ends when the pages of ``request`` are usable. ``for_room_since_ns``: the beginning of
    a wait for room in the device's queue, for a ``write`` or a read; NONE: no such wait.
    """

    until_ns: float
    for_device: bool = False
    woken_by: int = -1
    request: Request | None = None
    for_room_since_ns: float = NONE
    write: bool = False


@dataclass(frozen=True)
class Over:
    """Sleep until the end of the step in ``row``."""

    row: int


Life = Iterator[Compute | Sleep | Over]


@dataclass(eq=False)
class Thread:
    """A thread; ``row`` is its step.

    Those of loads are in no time of ``Threads``, which ends without them. With a CPU, ``since_ns``
    is when it got the CPU, and ``end_ns`` when its computing ends; ``yields``: the disk's worker
    ran then; ``after_ns``: what the thread had computed that left the CPU to it. ``lags``: it
    computed less than that before it fell asleep, which its next turn makes up for (PLACE_LAG).
    """

    row: int
    begin_ns: float = 0.0
    of_load: bool = False
    life: Life = field(init=False)
    has_cpu: bool = False
    yields: bool = False
    after_ns: float = 0.0
    lags: bool = False
    left_ns: float = 0.0
    since_ns: float = 0.0
    end_ns: float = 0.0
    waits: bool = False  # for a device; never of a load
    by_device: bool = False  # it slept for a device last
    woken_by: int = -1  # the step that may end its sleep
    request: Request | None = None  # the request that it waits for
    vruntime_ns: float = 0.0
    room_since_ns: float = NONE
    over_ns: float = math.nan


@dataclass(eq=False)
class Threads:
    """All threads; ``spans``: no thread computed, and a thread waited for a device.

    With ``credit_ns`` they do not take turns: who has computed less comes first (before 6.6).
    ``worker_runs``: whether the disk's worker passes a request to the driver now. It has the
    highest priority, and so it holds the average of kernel/sched/fair.c (avg_vruntime) where that
    was: a thread that then computes is soon ahead of it, and of a thread that wakes.
    """

    cpus: int
    tell: Callable[[float], None]  # the current time
    worker_runs: Callable[[], bool]
    credit_ns: float = 0.0
    now_ns: float = 0.0
    compute_ns: float = 0.0
    waited_ns: float = 0.0
    spans: list[Span] = field(default_factory=list)
    _slice_ns: float = math.inf
    _least_ns: float = 0.0  # vruntime of threads that are not asleep
    _running: list[Thread] = field(default_factory=list)
    _waiting: int = 0
    _queue: deque[Thread] = field(default_factory=deque)
    _events: list[tuple[float, float, int, Thread]] = field(default_factory=list)
    _sleepers: dict[int, list[Thread]] = field(default_factory=dict)  # by row they wait for

    def run(self, threads: Sequence[Thread], last: Thread | None) -> None:
        """Run threads until ``last`` has ended, or all have but those of loads."""
        if len(threads) > self.cpus:
            self._slice_ns = SLICE_NS * min(self.cpus, _MOST_FACTOR).bit_length()
        for thread in threads:
            self._at(thread.begin_ns, thread)
        ending = [thread for thread in threads if not thread.of_load] if last is None else [last]
        while self._events and any(math.isnan(thread.over_ns) for thread in ending):
            time, _, _, thread = heappop(self._events)
            self._pass(time)
            if thread.has_cpu and thread.end_ns > time:
                self._take_turns(thread)
            else:
                self._go_on(thread)

    def wake(self, row: int) -> None:
        """Wake the threads that wait for the end of a step."""
        for thread in self._sleepers.pop(row, []):
            if thread.woken_by >= 0:
                thread.woken_by = -1
                self._forget_event(thread)
            self._at(self.now_ns, thread)

    def settle(self) -> None:
        """Update the events of threads with requests that the queue has now accepted."""
        if any(math.isinf(time) for time, *_ in self._events):
            self._events = [
                (thread.request.there_ns, since, row, thread)
                if math.isinf(time) and thread.request
                else (time, since, row, thread)
                for time, since, row, thread in self._events
            ]
            heapify(self._events)

    def _at(self, time: float, thread: Thread) -> None:
        heappush(self._events, (time, thread.room_since_ns, thread.row, thread))

    def _forget_event(self, thread: Thread) -> None:
        self._events = [event for event in self._events if event[-1] is not thread]
        heapify(self._events)

    def _pass(self, time: float) -> None:
        """Advance the time."""
        if time > self.now_ns:
            if not all(thread.of_load for thread in self._running):
                self.compute_ns += time - self.now_ns
            elif self._waiting:
                self.waited_ns += time - self.now_ns
                self.spans.append((self.now_ns, time))
            self._account(time - self.now_ns)
            self.now_ns = time
            self.tell(time)

    def _account(self, for_ns: float) -> None:
        """Account for the computing of all running threads (update_curr, update_min_vruntime)."""
        for thread in self._running:
            thread.vruntime_ns += for_ns
        awake = [thread.vruntime_ns for thread in (*self._running, *self._queue)]
        self._least_ns = max(self._least_ns, min(awake, default=self._least_ns))

    def _go_on(self, thread: Thread) -> None:
        """Execute a thread's current step, and begin to wait for the next one."""
        self._waiting -= thread.waits
        thread.waits = False
        thread.room_since_ns = NONE
        if thread.woken_by >= 0:
            self._sleepers[thread.woken_by].remove(thread)
            thread.woken_by = -1
        match next(thread.life, None):
            case Compute(for_ns):
                thread.left_ns = for_ns
                if thread.has_cpu:
                    self._compute(thread)
                else:
                    self._want_cpu(thread)
                return
            case Sleep(until_ns, for_device, woken_by, request, room_since_ns):
                thread.by_device = for_device
                thread.waits = for_device and not thread.of_load
                thread.request, thread.room_since_ns = request, room_since_ns
                self._waiting += thread.waits
                self._at(until_ns, thread)
                if woken_by >= 0:
                    thread.woken_by = woken_by
                    self._sleepers.setdefault(woken_by, []).append(thread)
            case Over(row):
                thread.by_device = False
                self._sleepers.setdefault(row, []).append(thread)
            case None:
                thread.over_ns = self.now_ns
        if thread.has_cpu:
            self._leave(thread)

    def _want_cpu(self, thread: Thread) -> None:
        """Give a thread a CPU, or a place in the queue."""
        thread.vruntime_ns = max(thread.vruntime_ns, self._least_ns - self.credit_ns)
        after_worker = thread.by_device and self.cpus == 1 and self.worker_runs()
        if len(self._running) < self.cpus:
            self._take(thread, after_worker)
            return
        other = self._preempted(thread, after_worker)
        if other is None:
            self._queue.append(thread)
            return
        self._forget_event(other)
        self._stop(other)
        self._take(thread, after_worker)

    def _preempted(self, thread: Thread, after_worker: bool) -> Thread | None:
        """Return the running thread that has to leave its CPU to a woken one.

        Of threads that woke at the same time the one that has computed less comes first
        (wakeup_preempt_entity).
        """
        if self.credit_ns == 0:
            longest = min(self._running, key=lambda running: (running.since_ns, running.row))
            since_ns = longest.since_ns
            ahead = after_worker and longest.yields and since_ns < self.now_ns
            first = self.cpus == 1 and thread.lags and since_ns == self.now_ns
            turn_ns = since_ns + self._slice_ns
            return longest if ahead or first or turn_ns <= self.now_ns else None
        most = min(self._running, key=lambda running: (-running.vruntime_ns, running.row))
        margin_ns = self.credit_ns / 3 if most.since_ns < self.now_ns else 0.0
        return most if most.vruntime_ns - thread.vruntime_ns > margin_ns else None

    def _take(self, thread: Thread, yields: bool = False, after_ns: float = 0.0) -> None:
        """Give a thread a CPU from now on."""
        thread.has_cpu = True
        thread.yields, thread.after_ns = yields, after_ns
        thread.since_ns = self.now_ns
        self._running.append(thread)
        self._compute(thread)

    def _compute(self, thread: Thread) -> None:
        """Let a thread with a CPU compute."""
        thread.end_ns = self.now_ns + thread.left_ns
        self._compute_on(thread)

    def _compute_on(self, thread: Thread) -> None:
        """Let a thread compute on: at first up to the end of its slice, or to the next tick."""
        turn = max(thread.since_ns + self._slice_ns, self.now_ns)
        if self.credit_ns:
            turn = (self.now_ns // TICK_NS + 1) * TICK_NS
        self._at(min(thread.end_ns, turn), thread)

    def _take_turns(self, thread: Thread) -> None:
        """Handle an expired slice, or a tick, of a thread with computing time left."""
        if self.credit_ns and self._goes_on(thread):
            self._compute_on(thread)
        elif self._queue:
            self._stop(thread)
            self._take(self._next())
        else:
            self._at(thread.end_ns, thread)

    def _goes_on(self, thread: Thread) -> bool:
        """Return whether a thread goes on at a tick (check_preempt_tick)."""
        if not self._queue:
            return True
        ran_ns, least_ns = self.now_ns - thread.since_ns, self.credit_ns / 4
        threads = len(self._running) + len(self._queue)
        due_ns = max(2 * self.credit_ns * self.cpus / threads, least_ns)
        ahead_ns = thread.vruntime_ns - min(each.vruntime_ns for each in self._queue)
        return ran_ns < least_ns or (ran_ns <= due_ns and ahead_ns <= due_ns)

    def _next(self) -> Thread:
        """Take the first thread out of the queue."""
        if not self.credit_ns:
            return self._queue.popleft()
        first = min(self._queue, key=lambda thread: thread.vruntime_ns)
        self._queue.remove(first)
        return first

    def _stop(self, thread: Thread) -> None:
        """Queue a thread with its remaining computing time."""
        thread.left_ns = thread.end_ns - self.now_ns
        self._queue.append(thread)
        self._lose(thread)

    def _leave(self, thread: Thread) -> None:
        """Give a thread's CPU to the first in the queue."""
        self._lose(thread)
        ran_ns = self.now_ns - thread.since_ns
        thread.lags = ran_ns < thread.after_ns
        if self._queue:
            self._take(self._next(), after_ns=ran_ns)

    def _lose(self, thread: Thread) -> None:
        thread.has_cpu = False
        self._running.remove(thread)
