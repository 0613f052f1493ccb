"""The kernel's readahead in time: a run on one device, step by step, under one window.

What is emulated is what reference.py emulates; here each request is served by a device, one after
another, and whoever needs a page that is under way waits for it. Asynchronous readahead is waited
for only by those who need its pages.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from emulator.device import DeviceModel, DeviceQueue
from emulator.linux.kernel import Inode, Kernel
from emulator.linux.operations import Machine, Outcome, Program
from emulator.linux.reference import Replay
from emulator.linux.requests import SECTOR, Layout, Limits, requests
from emulator.linux.rules import Rules

# gap_ns: computed since the step before. operation: row of the program; -1: a read of ``sectors``
# from ``sector`` on, in ``bios``, of metadata (``meta``) or not, that is as it was, whatever the
# window (metadata, other processes), and is waited for.
STEP = np.dtype(
    [
        ("gap_ns", "f8"),
        ("operation", "i8"),
        ("sector", "u8"),
        ("sectors", "u4"),
        ("bios", "u4"),
        ("meta", "u1"),
    ],
    align=True,
)


@dataclass(frozen=True)
class CpuCost:
    """What the processor spends on reading: for each request, and for each page of it."""

    request_ns: float = 0.0
    page_ns: float = 0.0


@dataclass(frozen=True, eq=False)
class Run:
    """What is replayed: ``steps`` (STEP) in order, and ``tail_ns`` of computing behind them."""

    program: Program
    steps: npt.NDArray[np.void]
    tail_ns: float
    rules: Rules
    machine: Machine
    limits: Limits
    layout: Layout


@dataclass(frozen=True, eq=False)
class Timed:
    """How long a run takes; ``waited_ns`` of it for the device.

    ``work`` (steps × 2) are the requests and the pages that each step read.
    """

    total_ns: float
    waited_ns: float
    work: npt.NDArray[np.int64]


def timed(
    run: Run,
    window: int,
    device: DeviceModel,
    cpu: CpuCost | None = None,
    recorded: Timed | None = None,
) -> Timed:
    """Replay a run under ``window`` (pages).

    The steps' gaps hold the processor's work of reading as it was when ``recorded``: the ``cpu``
    cost of requests and pages that a step does not need now is taken off the gap behind it, and
    added for those that it needs more. Without ``recorded`` gaps are as they are.
    """
    replay = _TimedReplay(run, window, device)
    saved = 0.0
    behind = 0.0  # change of the next gap
    work = np.zeros((len(run.steps), 2), np.int64)
    for row, (gap, operation, *read) in enumerate(run.steps.tolist()):
        # What a gap is too short to save is saved later.
        due = gap + behind + saved
        saved = min(due, 0.0)
        replay.kernel.clock_ns += max(due, 0.0)
        work[row] = replay.step(operation, *read)
        behind = 0.0
        if recorded is not None and cpu is not None and operation >= 0:
            more = work[row] - recorded.work[row]
            behind = float(more[0] * cpu.request_ns + more[1] * cpu.page_ns)
    total = replay.kernel.clock_ns + max(run.tail_ns + behind + saved, 0.0)
    return Timed(total, replay.kernel.waited_ns, work)


@dataclass
class _TimedKernel(Kernel):
    """A kernel that knows what time it is."""

    layout: Layout = field(kw_only=True)
    limits: Limits = field(kw_only=True)
    queue: DeviceQueue = field(kw_only=True)
    clock_ns: float = 0.0
    waited_ns: float = 0.0
    requests: int = 0
    due: dict[tuple[int, int], float] = field(default_factory=dict)  # by file, page
    _first: int = 0  # insert that the run in progress began with

    def _end_run(self) -> None:
        super()._end_run()
        inserts = self.outcome.inserts[self._first :]
        self._first = len(self.outcome.inserts)
        sent = [
            (sector, sector + sectors, self.queue.submit(self.clock_ns, sector, sectors, bios))
            for _, sector, sectors, bios in requests(
                Outcome(inserts), self.layout, self.limits, self.machine.page_size
            )
        ]
        self.requests += len(sent)
        unit = self.machine.page_size // SECTOR
        at = 0
        for file, index, order, _ in inserts:
            done = 0.0
            for _, sector, sectors in self.layout.pieces(
                file, index * unit, (index + (1 << order)) * unit
            ):
                while not sent[at][0] < sector + sectors <= sent[at][1]:
                    at += 1  # requests come in the order of the pages
                done = sent[at][2]
            for page in range(index, index + (1 << order)):
                self.due[file, page] = done

    def use(self, inode: Inode, page: int) -> None:
        self.wait(self.due.get((inode.row, page), 0.0))

    def wait(self, until_ns: float) -> None:
        """Let the time pass until then, if it has not."""
        if until_ns > self.clock_ns:
            self.waited_ns += until_ns - self.clock_ns
            self.clock_ns = until_ns


class _TimedReplay(Replay):
    kernel: _TimedKernel

    def __init__(self, run: Run, window: int, device: DeviceModel) -> None:
        super().__init__(run.program, run.rules, window, run.machine)
        self.kernel = _TimedKernel(
            run.rules,
            run.machine,
            window,
            layout=run.layout,
            limits=run.limits,
            queue=device.queue(),
        )
        self._operations = run.program.operations.tolist()

    def step(
        self, operation: int, sector: int, sectors: int, bios: int, meta: int
    ) -> tuple[int, int]:
        """Do one step; return the requests and the pages that it read."""
        kernel = self.kernel
        if operation < 0:
            kernel.wait(kernel.queue.submit(kernel.clock_ns, sector, sectors, bios, bool(meta)))
            return 1, 0
        requests_before, inserts_before = kernel.requests, len(kernel.outcome.inserts)
        self.do(*self._operations[operation])
        new = kernel.outcome.inserts[inserts_before:]
        return kernel.requests - requests_before, sum(1 << order for _, _, order, _ in new)
