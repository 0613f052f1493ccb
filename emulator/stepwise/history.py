"""The timed replay with its history: each request, wait, page read and first touch, in time.

The C core only counts. This is the readable replay (timed.py) with a kernel and threads that store
their actions, for views of an emulated run next to the recorded one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite

import numpy as np
import numpy.typing as npt

from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.linux.steps import CpuCost, Run, Timed
from foreread.emulator.stepwise.disk import Request, TimedKernel
from foreread.emulator.stepwise.kernel import Needed
from foreread.emulator.stepwise.threads import Compute, Life, Over, Sleep, Thread, Threads
from foreread.emulator.stepwise.timed import TimedReplay

DISK, THREAD, SLEEP, PROCESSOR = 1, 2, 3, 4  # the reasons of a thread's waits

# A request: made by the kernel for ``thread``, and ended by the device.
SENT = np.dtype(
    [("sent_ns", "f8"), ("done_ns", "f8"), ("sector", "u8"), ("sectors", "u4"), ("thread", "u2")]
)
# A page that was read: its request (row of SENT), and the rule that read it (Cause).
LOADED = np.dtype([("file", "i8"), ("page", "i8"), ("request", "i8"), ("cause", "u1")])
# The first touch of a page, at the time when the page could be used.
TOUCHED = np.dtype([("time_ns", "f8"), ("thread", "u2"), ("file", "i8"), ("page", "i8")])
# A wait of a thread: ``why`` is DISK, THREAD, SLEEP or PROCESSOR.
WAIT = np.dtype([("begin_ns", "f8"), ("end_ns", "f8"), ("thread", "u2"), ("why", "u1")])


@dataclass(frozen=True, eq=False)
class History:
    """A replay, and the tables of its events: SENT, LOADED, TOUCHED and WAIT."""

    timed: Timed
    sent: npt.NDArray[np.void]
    loaded: npt.NDArray[np.void]
    touched: npt.NDArray[np.void]
    waits: npt.NDArray[np.void]


def history(
    run: Run,
    window: int,
    device: DeviceModel,
    cpu: CpuCost | None = None,
    recorded: Timed | None = None,
) -> History:
    """Replay a run as ``timed`` does, and return its history.

    Raises EmulationError for impossible steps.
    """
    run.check()
    replay = _Replay(run, window, device, cpu or CpuCost(), recorded)
    timed = replay.timed()
    kernel = replay.kernel
    return History(
        timed,
        np.array(list(kernel.requests()), SENT),
        np.array(list(kernel.loaded()), LOADED),
        np.array(list(kernel.touches()), TOUCHED),
        np.array(replay.waits(), WAIT),
    )


@dataclass
class _Kernel(TimedKernel):
    """A kernel that stores requests and first touches."""

    thread: int = 0  # the running thread
    _asked: list[tuple[float, Request, int, int, int]] = field(default_factory=list)
    _touches: list[tuple[float, Request | None, int, int, int]] = field(default_factory=list)
    _touched: set[tuple[int, int]] = field(default_factory=set)

    def send(self, sector: int, sectors: int, bios: int, meta: bool = False) -> Request:
        """Make a request."""
        request = super().send(sector, sectors, bios, meta)
        self._asked.append((self.clock_ns, request, sector, sectors, self.thread))
        return request

    def use(self, needed: Needed) -> Request | None:
        """Return the request of needed pages."""
        request = super().use(needed)
        inode, first, stop = needed
        for page in range(first, stop):
            if (inode.row, page) not in self._touched:
                self._touched.add((inode.row, page))
                self._touches.append((self.clock_ns, request, self.thread, inode.row, page))
        return request

    def requests(self) -> Iterator[tuple[float, float, int, int, int]]:
        """Yield the requests (SENT) that the device had accepted before the run ended."""
        for asked_ns, request, sector, sectors, thread in self._asked:
            if isfinite(request.done_ns):
                yield asked_ns, request.done_ns, sector, sectors, thread

    def touches(self) -> Iterator[tuple[float, int, int, int]]:
        """Yield the first touches (TOUCHED), in order of time."""
        touches = [
            (max(asked_ns, request.there_ns if request else 0.0), thread, file, page)
            for asked_ns, request, thread, file, page in self._touches
        ]
        yield from sorted(
            (touch for touch in touches if isfinite(touch[0])), key=lambda touch: touch[0]
        )

    def loaded(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield the pages that were read (LOADED), in order."""
        accepted = (request for _, request, *_ in self._asked if isfinite(request.done_ns))
        number = {id(request): row for row, request in enumerate(accepted)}
        inserts = zip(self.outcome.inserts, self.outcome.causes, strict=True)
        for (file, index, order, _), cause in inserts:
            for page in range(index, index + (1 << order)):
                row = number.get(id(self._by_page.get((file, page))))
                if row is not None:  # otherwise a hole
                    yield file, page, row, int(cause)


@dataclass(eq=False)
class _Threads(Threads):
    """Threads that store their stays on processors."""

    stays: list[tuple[Thread, float, float]] = field(default_factory=list)

    def _lose(self, thread: Thread) -> None:
        self.stays.append((thread, thread.since_ns, self.now_ns))
        super()._lose(thread)


class _Replay(TimedReplay):
    kernel: _Kernel
    kernel_type = _Kernel
    _threads: _Threads
    threads_type = _Threads

    def __init__(
        self, run: Run, window: int, device: DeviceModel, cpu: CpuCost, recorded: Timed | None
    ) -> None:
        super().__init__(run, window, device, cpu, recorded)
        self._numbers: dict[Thread, int] = {}
        self._slept: list[tuple[float, float, int, int]] = []

    def waits(self) -> list[tuple[float, float, int, int]]:
        """Return all waits (WAIT) in order of their beginning."""
        sleeps = [wait for wait in self._slept if wait[1] > wait[0]]
        return sorted([*sleeps, *self._queued()])

    def _live(self, thread: Thread, rows: list[int], tail_ns: float) -> Life:
        number = int(self._run.steps["thread"][rows[0]]) if rows else 0
        self._numbers[thread] = number
        life = super()._live(thread, rows, tail_ns)
        while True:
            self.kernel.thread = number
            wait = next(life, None)
            if wait is None:
                return
            begin = self.kernel.clock_ns
            yield wait
            if not isinstance(wait, Compute):
                end = self.kernel.clock_ns
                self._slept.append((begin, end, number, _why(wait, end)))

    def _queued(self) -> Iterator[tuple[float, float, int, int]]:
        """Yield the times between a sleep or stay and the next stay: waits for the CPU."""
        woken: dict[int, list[float]] = {}
        for _, end, number, _ in self._slept:
            woken.setdefault(number, []).append(end)
        gone: dict[int, float] = {}
        for thread, since, until in self._threads.stays:
            number = self._numbers[thread]
            ends = woken.get(number, [])
            slept = bisect_right(ends, since)
            ready = max(gone.get(number, 0.0), ends[slept - 1] if slept else 0.0)
            if since > ready:
                yield ready, since, number, PROCESSOR
            gone[number] = until


def _why(wait: Sleep | Over, end_ns: float) -> int:
    if isinstance(wait, Over):
        return THREAD
    if wait.for_device:
        return DISK
    return THREAD if wait.woken_by >= 0 and end_ns < wait.until_ns else SLEEP
