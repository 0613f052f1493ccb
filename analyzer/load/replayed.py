"""A start beside a load: its run with the load's clients as threads that repeat their steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.load.client import Client, Load
from foreread.analyzer.load.error import LoadError
from foreread.analyzer.predict.memory import with_memory
from foreread.analyzer.predict.start import Start
from foreread.boards.base.units import KIB, MIB
from foreread.emulator.linux.operations import FILE, OPERATION, Op, Program
from foreread.emulator.linux.requests import EXTENT, SECTOR, Layout
from foreread.emulator.linux.steps import (
    AHEAD,
    LEAST_ROUND_NS,
    MOST_AT,
    MOST_STRIDE,
    REPEAT,
    STEP,
    UNLIMITED,
    WRITE,
    Run,
)

LEAD_S = 1.0  # from the beginning of a load to that of the start, unless it is known when it does
MOST_THREADS = 1 << 10
_UNORDERED = ("bfq", "kyber")  # schedulers with an order of their own
_SPAN = 1 << 30  # bytes that are read at random, where the size of the file or disk is unknown
_PLACE = 2 * MIB // SECTOR  # files of loads begin at a multiple of it (sectors)
_FILE_SECTORS = 1 << 40  # a file has no end
# What ext4 writes to its journal after the data of an fsync: the descriptor with the changed
# blocks; and the commit record, which waits for them (jbd2_journal_commit_transaction).
_JOURNAL = (16 * KIB // SECTOR, 4 * KIB // SECTOR)
# Of one processor, before 6.6 (kernel/sched/fair.c); then a thread that wakes waits for a turn.
_LAG, _CREDIT_NS, _MOST_FACTOR = (6, 6), 3_000_000, 8
_LONGEST = 4 * MIB  # of a call
_SLOW_WRITES = 2  # in the queue
_DELAYED = (6, 12)  # the first with DELAY_DEQUEUE (kernel/sched/features.h)


def unpredicted(start: Start, load: Load) -> str:
    """Return why nothing is predicted of a start beside a load; empty if it is."""
    if load.unpredicted or not load.has_effect:
        return load.unpredicted
    device = start.inputs.device(start.inputs.disks.index(start.disk))
    text = device.queue.get("scheduler", "") if device is not None else ""
    scheduler = text.partition("[")[2].partition("]")[0]
    if scheduler in _UNORDERED:
        return f"the disk's scheduler {scheduler} orders the requests of programs by its own rules"
    if sum(client.outstanding for client in load.clients) > MOST_THREADS:
        return f"the load has more than {MOST_THREADS:,} requests at a time"
    return ""


def with_load(start: Start, load: Load) -> Start:
    """Return a start beside a load, which is timed as any other.

    The load begins LEAD_S before the start and lasts longer, unless its clients say otherwise; all
    seconds are the start's alone. The computing of the recorded run stays that of the replay
    without the load. Raises LoadError if nothing is predicted beside it (``unpredicted``).
    """
    why = unpredicted(start, load)
    if why:
        raise LoadError(f"no start beside {load.name} is predicted: {why}", "predict other loads")
    if load.memory_kib is not None:
        start = with_memory(start, load.memory_kib)
    if not load.clients:
        return start
    alone = start.alone or start.run
    threads = _Threads(start, alone)
    for client in load.clients:
        threads.add(client, unlimited=load.limited is False or client.write)
    return replace(start, run=threads.run(), alone=alone)


@dataclass
class _Threads:
    """The threads of a load, which follow those of a run, with their steps, calls and files."""

    start: Start
    alone: Run
    _steps: list[Array] = field(default_factory=list)
    _repeats: list[tuple[float, float, int, int, int]] = field(default_factory=list)
    _calls: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    _files: int = 0

    def __post_init__(self) -> None:
        self._first = int(self.alone.steps["thread"].max(initial=0)) + 1
        self._begin = _after(self.alone.layout.extents)

    def add(self, client: Client, unlimited: bool) -> None:
        """Add a thread for each request that a client has outstanding."""
        if client.burst_bytes:
            self._add(client, unlimited, self._burst(client), 0, 0)
            return
        if client.cached and not client.write:
            client = replace(client, think_ns=self._passed_on_ns(client))
        size = min(max(client.size // SECTOR, 1) * SECTOR, _LONGEST)
        several = min(max(client.outstanding, 1), MOST_STRIDE // size)
        span = 0 if client.in_order else self._span()
        if client.cached and not client.write:
            for steps in self._read_calls(client, size, several):
                self._add(client, unlimited, steps, size * several, span)
            return
        for number in range(several):
            steps = self._parts(size // SECTOR, number * size // SECTOR)
            self._add(client, unlimited, steps, several * size // SECTOR, span // SECTOR)

    def run(self) -> Run:
        """Return the run with all of them."""
        run, program = self.alone, self.alone.program
        files, handles = len(program.files), len(program.handles)
        rows = np.arange(files, files + self._files)
        more = np.zeros(self._files, FILE)
        more["size"], more["window"] = -1, -1
        more["large_folios"] = _usual(program.files["large_folios"])
        calls = np.array(self._calls, OPERATION)
        calls["handle"] += handles
        extents = np.zeros(self._files, EXTENT)
        extents["file"], extents["sectors"], extents["read"] = rows, _FILE_SECTORS, 1
        extents["sector"] = self._begin + np.arange(self._files) * _FILE_SECTORS
        layout = run.layout
        if len(layout.extents):  # otherwise no place is known
            layout = Layout(np.concatenate((layout.extents, extents)))
        return replace(
            run,
            program=Program(
                np.concatenate((program.operations, calls)),
                program.mappings,
                np.concatenate((program.handles, rows.astype(np.uint32))),
                np.concatenate((program.files, more)),
            ),
            steps=np.concatenate((run.steps, *self._steps)),
            layout=layout,
            cpus=self._cpus(),
            limits=replace(
                run.limits, nr_writes=self._writes(), nr_driver_tags=self._driver_tags()
            ),
            machine=replace(run.machine, credit_ns=self._credit_ns()),
            repeats=np.array(self._repeats, REPEAT),
        )

    def _add(self, client: Client, unlimited: bool, steps: Array, stride: int, span: int) -> None:
        """Add a thread with its steps; the client's computing comes before the first."""
        thread = self._first + len(self._repeats)
        steps["cpu_ns"][0] = max(client.think_ns, LEAST_ROUND_NS)
        steps["waits_for"] = steps["woken_by"] = -1
        steps["bios"] = 1
        steps["thread"] = thread
        steps["meta"] |= UNLIMITED if unlimited else 0
        steps["meta"] |= WRITE if client.write and client.cached else 0
        self._steps.append(steps)
        begin = -LEAD_S if client.start_s is None else client.start_s
        end = np.inf if client.stop_s is None else client.stop_s
        self._repeats.append((begin * 1e9, end * 1e9, stride, span, thread))

    def _parts(self, sectors: int, place: int) -> Array:
        """Return the requests of a call past the page cache, of which it waits for the last."""
        most = self.alone.limits.max_sectors
        lengths = _cut(sectors, most)
        steps = np.zeros(len(lengths), STEP)
        steps["operation"] = -1
        steps["sectors"] = lengths
        steps["sector"] = place + np.arange(len(lengths)) * most
        steps["meta"][:-1] = AHEAD
        return steps

    def _burst(self, client: Client) -> Array:
        """Return the requests of an fsync: the data at once, then the journal (ext4)."""
        data = self._parts(min(client.burst_bytes, 1 << 30) // SECTOR or 1, self._begin)
        journal = np.zeros(len(_JOURNAL), STEP)
        journal["operation"] = -1
        journal["sectors"] = _JOURNAL
        journal["sector"] = np.cumsum((0, *_JOURNAL))[:-1]
        return np.concatenate((data, journal))

    def _read_calls(self, client: Client, size: int, several: int) -> Iterator[Array]:
        """Yield the steps of a reader of a file of its own, by its outstanding calls."""
        file, advice = self._files, len(self.alone.program.operations) + len(self._calls)
        self._files += 1
        if client.sequential:
            self._calls.append((Op.SEQUENTIAL, file, 0, 0, 0))
        for number in range(several):
            self._calls.append((Op.READ, file, 0, number * size, size))
            steps = np.zeros(1 + client.sequential, STEP)
            steps["operation"][0] = advice
            steps["operation"][-1] = advice + client.sequential + number
            yield steps

    def _span(self) -> int:
        """Return the bytes that are read at random: those of the disk, if its size is known."""
        start = self.start
        device = start.inputs.device(start.inputs.disks.index(start.disk))
        size = device.size_bytes if device is not None else 0
        return min(size or _SPAN, MOST_AT)

    def _writes(self) -> int:
        """Return how many cached writes the queue holds at a time (block/blk-wbt.c).

        With two or more, each read waits for a write at least. If that takes longer than the kernel
        tolerates (latency_exceeded), the depth alternates between 1 and 2: at 1, a window has reads
        that are quick enough, or too few writes to judge. Otherwise it rises to three quarters of
        the queue (rq_depth_calc_max_depth).
        """
        limits = self.alone.limits
        device = self.start.inputs.device(self.start.inputs.disks.index(self.start.disk))
        tolerated = device.queue.get("wbt_lat_usec", "0") if device is not None else "0"
        if not tolerated.isdecimal() or not int(tolerated):
            return limits.nr_writes
        queue = self.start.device.queue()
        queue.submit(0.0, self._begin, limits.max_sectors, unlimited=True)
        read_ns = queue.submit(0.0, 0, 8, unlimited=True)
        if read_ns > 1000 * int(tolerated):
            return min(_SLOW_WRITES, limits.nr_requests)
        return max(3 * limits.nr_requests // 4, 1)

    def _driver_tags(self) -> int:
        """Return how many requests the driver takes at a time, if a worker passes on the others.

        With a scheduler the queue holds twice as many (blk_mq_init_sched). Before 6.12 the worker
        leaves no trace in the order of the threads.
        """
        limits = self.alone.limits
        device = self.start.inputs.device(self.start.inputs.disks.index(self.start.disk))
        scheduler = device.queue.get("scheduler", "") if device is not None else ""
        if self.start.version < _DELAYED or "[none]" in scheduler or "[" not in scheduler:
            return limits.nr_driver_tags
        return max(limits.nr_requests // 2, 1)

    def _passed_on_ns(self, client: Client) -> float:
        """Return the computing of a call without its pages', which the replay adds (readahead)."""
        pages = client.size / self.alone.machine.page_size
        return max(client.think_ns - self.start.cpu.page_ns * pages, 0.0)

    def _credit_ns(self) -> int:
        """Return the credit of a sleeper, in computing: half of sysctl_sched_latency."""
        if self.start.version >= _LAG:
            return 0
        return _CREDIT_NS * min(self._cpus(), _MOST_FACTOR).bit_length()

    def _cpus(self) -> int:
        """Return the machine's processors; a run as one sequence has one for itself."""
        host = self.start.recording.capture.host
        if self.start.threads or host is None:
            return self.alone.cpus
        return max(self.alone.cpus, host.cpu_count)


def _cut(sectors: int, most: int) -> list[int]:
    """Return the sectors of each request of a call."""
    whole, rest = divmod(sectors, most)
    return [most] * whole + [rest] * bool(rest)


def _after(extents: Array) -> int:
    """Return the first place after all files, for those of loads."""
    ends = extents["sector"] + extents["sectors"]
    end = int(ends[extents["read"] > 0].max(initial=0))
    return -(-min(end, MOST_AT >> 1) // _PLACE) * _PLACE


def _usual(values: Array) -> int:
    """Return what most of a start's files have."""
    return int(values.sum() * 2 > len(values))
