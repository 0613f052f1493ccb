"""The kernel's readahead in time: a run on one device, step by step, under one window.

It emulates the same as replay.py; in addition a device serves each request, and a thread that
needs a page in flight waits for it. Only threads that need its pages wait for asynchronous
readahead. Threads run at the same time (threads.py) and share the kernel's state.
core/linux/timed.c does the same for production.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.fixed import EmulationError
from foreread.emulator.linux.operations import Op
from foreread.emulator.linux.steps import (
    AHEAD,
    META,
    MOST_ROUNDS,
    ONCE,
    UNLIMITED,
    WRITE,
    CpuCost,
    Run,
    Timed,
)
from foreread.emulator.stepwise.disk import Read, Request, TimedKernel, wasted
from foreread.emulator.stepwise.replay import Replay
from foreread.emulator.stepwise.threads import NONE, Compute, Life, Over, Sleep, Thread, Threads

_64_BITS = (1 << 64) - 1


def timed(
    run: Run,
    window: int,
    device: DeviceModel,
    cpu: CpuCost | None = None,
    recorded: Timed | None = None,
    kernel: Callable[..., TimedKernel] | None = None,
) -> Timed:
    """Replay a run under ``window`` (pages); ``kernel`` makes the kernel of its file system.

    The computing time of steps includes the processor's cost of reading as ``recorded``: for
    requests and pages that a step no longer needs, their ``cpu`` cost is subtracted from its
    thread's next computing; for additional ones it is added. Without ``recorded`` computing is
    unchanged. With it computing is slow after the waits of this replay in place of those recorded
    (``CpuCost.cold_ns``). Raises EmulationError for impossible steps.
    """
    run.check()
    return TimedReplay(run, window, device, cpu or CpuCost(), recorded, kernel).timed()


class TimedReplay(Replay):
    """One replay; history.py replaces the kernel and the threads by variants that store more."""

    kernel: TimedKernel
    kernel_type: type[TimedKernel] = TimedKernel
    threads_type: type[Threads] = Threads

    def __init__(
        self,
        run: Run,
        window: int,
        device: DeviceModel,
        cpu: CpuCost,
        recorded: Timed | None,
        kernel: Callable[..., TimedKernel] | None = None,
    ) -> None:
        super().__init__(run.program, run.rules, window, run.machine)
        self.kernel = (kernel or self.kernel_type)(
            run.rules,
            run.machine,
            window,
            layout=run.layout,
            limits=run.limits,
            queue=device.queue(),
            files=run.program.files,
        )
        self.kernel.limit_memory()
        self._run, self._cpu, self._recorded = run, cpu, recorded
        self._steps = run.steps.tolist()
        self._operations = run.program.operations.tolist()
        self._work = np.zeros((len(run.steps), 4), np.int64)
        self._over = [False] * len(run.steps)
        self._sent = False  # the running thread has just sent what it waits for
        self._over_ns = np.full(len(run.steps), np.nan)
        self._once: list[tuple[int, int, Request]] = []  # sector, sectors, request
        self._rounds = 0  # of all loads
        self._threads = self.threads_type(
            run.cpus, self._tell, self.kernel.worker_runs, run.machine.credit_ns
        )

    def timed(self) -> Timed:
        """Run all threads and return the times and counts."""
        number = self._run.steps["thread"].tolist() or [0]
        rows: dict[int, list[int]] = {each: [] for each in sorted(set(number))}
        for row in range(len(self._steps)):
            rows[number[row]].append(row)
        last = self._run.ends if self._run.ends >= 0 else number[self._run.own_steps - 1]
        lead = self._run.lead_ns
        all_threads = {each: Thread(min(rows[each], default=0), lead) for each in rows}
        for each, thread in all_threads.items():
            thread.life = self._live(thread, rows[each], self._run.tail_ns if each == last else 0.0)
        for from_ns, until_ns, stride, span, each in self._run.repeats.tolist():
            load = Thread(rows[each][0], lead + from_ns, of_load=True)
            all_threads[each] = load
            places = _Places(each, stride, span)
            load.life = self._repeat(load, rows[each], lead + until_ns, places)
        threads = self._threads
        threads.run(list(all_threads.values()), all_threads.get(self._run.ends))
        ends = np.full(max(rows) + 1, np.nan)
        for each, thread in all_threads.items():
            ends[each] = thread.over_ns - lead
        unused_ns = wasted(self.kernel.sent, threads.spans)
        return Timed(
            threads.now_ns - lead,
            threads.compute_ns,
            threads.waited_ns,
            unused_ns,
            ends,
            self._work,
            self._over_ns - lead,
        )

    def _tell(self, now_ns: float) -> None:
        self.kernel.clock_ns = now_ns

    def _live(self, thread: Thread, rows: list[int], tail_ns: float) -> Life:
        """Execute a thread's steps; savings that exceed computing are carried over."""
        kernel = self.kernel
        saved = 0.0
        change_ns = 0.0  # of the next computing time
        cold = _Cold(CpuCost() if self._recorded is None else self._cpu)
        for row in rows:
            thread.row = row
            cpu_ns, sleep_ns, operation, waits_for, woken_by, *read = self._steps[row]
            if sleep_ns and not (woken_by >= 0 and self._over[woken_by]):
                yield Sleep(kernel.clock_ns + sleep_ns, woken_by=woken_by)
            if waits_for >= 0 and not self._over[waits_for]:
                yield Over(waits_for)
            due = cold.computing_ns(cpu_ns) + change_ns + saved
            saved = min(due, 0.0)
            yield Compute(max(due, 0.0))
            yield from self._execute(row, operation, read)
            if self._work[row, 3]:
                cold.waits()
            if self._recorded is not None and self._recorded.work[row, 3]:
                cold.waited()
            self._over[row] = True
            self._threads.wake(row)
            change_ns = self._change(row) if operation >= 0 else 0.0
            self._over_ns[row] = kernel.clock_ns + max(change_ns + saved, 0.0)
        yield Compute(max(cold.computing_ns(tail_ns) + change_ns + saved, 0.0))

    def _repeat(self, thread: Thread, rows: list[int], until_ns: float, places: _Places) -> Life:
        """Execute the steps of a load, round by round."""
        while True:
            for row in rows:
                thread.row = row
                cpu_ns, sleep_ns, operation, _, _, *read = self._steps[row]
                if sleep_ns:
                    yield Sleep(self.kernel.clock_ns + sleep_ns)
                yield Compute(cpu_ns)
                yield from self._execute(row, operation, read, places)
                self._over_ns[row] = self.kernel.clock_ns
            if self.kernel.clock_ns >= until_ns:
                break
            self._rounds += 1
            if self._rounds > MOST_ROUNDS:
                raise EmulationError(
                    "a load repeats its steps too often while the run lasts",
                    "predict without this load",
                )
            places.round += 1
            self._work[rows] = 0
        yield Compute(0.0)

    def _execute(
        self, row: int, operation: int, read: Sequence[int], places: _Places | None = None
    ) -> Life:
        """Execute a step, a load's at its place, and count its waits."""
        for wait in self._do(row, operation, read, places):
            if isinstance(wait, Compute):
                yield wait
                continue
            sleeps = wait.until_ns > self.kernel.clock_ns
            if sleeps or (self._sent and wait.until_ns == self.kernel.clock_ns):
                self._work[row, 3] += 1
            if sleeps:
                yield from self._sleep(wait)

    def _do(
        self, row: int, operation: int, read: Sequence[int], places: _Places | None = None
    ) -> Iterator[Compute | Sleep]:
        """Yield the waits of a step, which may be over already.

        A thread also waits for a request that it has just sent and that takes no time. A load
        computes what its readahead costs before it submits the requests; a start's computing
        includes it.
        """
        kernel, work = self.kernel, self._work[row]
        self._sent = False
        sector, sectors, bios, _, flags, own_pages = read
        self._make_requests_of(flags)
        kernel.own_memory(own_pages)
        if operation < 0:
            sector += places.further(sectors) if places else 0
            if sectors:
                request = self._read_before(sector, sectors) if flags & ONCE else None
                if request is None:
                    work[0] = 1
                    request = kernel.send(sector, sectors, bios, bool(flags & META))
                    if flags & ONCE:
                        self._once.append((sector, sectors, request))
                    yield from self._accepted(kernel.drain()[0])
                    self._sent = True
                if not flags & AHEAD:
                    yield Sleep(request.done_ns, for_device=True, request=request)
            return
        op, handle, mapping, at, length = self._operations[operation]
        at += places.further(length) if places and op == Op.READ else 0
        needs = self.do(op, handle, mapping, at, length)
        while True:
            self._make_requests_of(flags)
            requests, pages, sectors = kernel.made, kernel.pages, kernel.block_sectors
            kernel.deferred = places is not None
            needed = next(needs, None)
            kernel.deferred = False
            more = np.array(
                (kernel.made - requests, kernel.pages - pages, kernel.block_sectors - sectors)
            )
            work[:3] += more
            outside, held = kernel.drain()
            ahead = [each for each, *_ in outside] if places else []
            self._sent, has_sent = False, kernel.made > requests
            if ahead:
                yield Compute(self._cost_ns(more))
            yield from self._accepted(outside)
            self._sent = has_sent
            copies_ns = max((each.done_ns for each in ahead if each.copied), default=0.0)
            held_ns = max((request.done_ns for request in held), default=0.0)
            if needed is None:
                yield Sleep(held_ns, for_device=True)
                return
            request = kernel.use(needed)
            there_ns = request.there_ns if request else 0.0
            until_ns = max(there_ns, held_ns, copies_ns)
            yield Sleep(until_ns, for_device=True, request=request)

    def _read_before(self, sector: int, sectors: int) -> Request | None:
        """Return the first request ONCE that contains a read."""
        for begin, length, request in self._once:
            if begin <= sector and sector + sectors <= begin + length:
                return request
        return None

    def _make_requests_of(self, flags: int) -> None:
        """Prepare to make requests of a step."""
        self.kernel.unlimited = bool(flags & UNLIMITED)
        self.kernel.writes = bool(flags & WRITE)

    def _accepted(self, outside: deque[Read]) -> Iterator[Sleep]:
        """Yield the waits of a thread until the queue has accepted its requests.

        A thread that was woken and found no room, since another one was faster, waits as the last.
        """
        kernel = self.kernel
        while outside:
            until_ns = kernel.accept(outside)
            self._threads.settle()
            if not outside:
                return
            write = outside[0][0].write
            yield Sleep(until_ns, for_device=True, for_room_since_ns=kernel.clock_ns, write=write)
            kernel.promised -= 1

    def _sleep(self, wait: Sleep) -> Life:
        """Sleep, and want a CPU.

        A completed request wakes the first thread that waits for room (sbitmap_queue_wake_up); the
        others sleep until the next one is completed.
        """
        kernel = self.kernel
        yield wait
        if wait.for_room_since_ns != NONE:
            while (until_ns := kernel.room_ns(wait.write, kernel.promised)) > kernel.clock_ns:
                yield replace(wait, until_ns=until_ns)
            kernel.promised += 1
        yield Compute(0.0)

    def _change(self, row: int) -> float:
        """Return the processor's work (ns) that a step needed more than when it was recorded."""
        if self._recorded is None:
            return 0.0
        return self._cost_ns((self._work[row] - self._recorded.work[row])[:3])

    def _cost_ns(self, work: npt.NDArray[np.int64]) -> float:
        """Return the processor's work (ns) for requests, pages and sectors."""
        return float(work @ (self._cpu.request_ns, self._cpu.page_ns, self._cpu.sector_ns))


@dataclass
class _Places:
    """The places of a load's reads, round by round."""

    thread: int
    stride: int
    span: int
    round: int = 0

    def further(self, unit: int) -> int:
        """Return by how much a read of ``unit`` is further than in the first round."""
        places = self.span // unit if unit else 0
        if not places:
            return self.round * self.stride
        number = (self.thread << 32) + self.round + 1
        return _mixed(number * 0x9E3779B97F4A7C15 & _64_BITS) % places * unit


def _mixed(number: int) -> int:
    """Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014: mix64."""
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & _64_BITS
    number = (number ^ number >> 27) * 0x94D049BB133111EB & _64_BITS
    return number ^ number >> 31


@dataclass
class _Cold:
    """Computing of a thread after its waits, when the caches are cold: those recorded and now.

    ``_recorded_ns`` of the computing recorded, and ``_now_ns`` of computing with warm caches, are
    left until the caches are warm.
    """

    cpu: CpuCost
    _recorded_ns: float = 0.0
    _now_ns: float = 0.0

    def waited(self) -> None:
        """The thread waited when it was recorded."""
        self._recorded_ns = self.cpu.cold_ns * (1 + self.cpu.cold_share)

    def waits(self) -> None:
        """The thread waits."""
        self._now_ns = self.cpu.cold_ns

    def computing_ns(self, recorded_ns: float) -> float:
        """Return how long computing takes that took ``recorded_ns`` when it was recorded."""
        share = self.cpu.cold_share
        slow_ns = min(max(recorded_ns, 0.0), self._recorded_ns)
        self._recorded_ns -= slow_ns
        warm_ns = recorded_ns - slow_ns * (share / (1 + share))
        cold_ns = min(max(warm_ns, 0.0), self._now_ns)
        self._now_ns -= cold_ns
        return warm_ns + cold_ns * share
