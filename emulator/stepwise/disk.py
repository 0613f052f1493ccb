"""The kernel with a device and a clock: pages in flight, and the use of the device's time."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import inf

import numpy as np
import numpy.typing as npt

from foreread.emulator.devices.device import DeviceQueue
from foreread.emulator.devices.paced import LimiterQueue
from foreread.emulator.fixed import EmulationError
from foreread.emulator.linux.operations import Outcome
from foreread.emulator.linux.requests import SECTOR, Layout, Limits, block_parts, requests
from foreread.emulator.stepwise.kernel import Kernel, Needed
from foreread.emulator.stepwise.memory import Held

LONGEST_NS = 1e16  # a third of a year
Span = tuple[float, float]  # from, until: nanoseconds


@dataclass(slots=True)
class Request:
    """Pages that the device reads from ``begin_ns`` to ``done_ns``.

    They are usable at ``there_ns``: parts of one bio complete together (bio_chain), and ``goes_on``
    is the next part. Both times are infinite until the queue has accepted the request.
    """

    begin_ns: float = inf
    done_ns: float = inf
    goes_on: Request | None = None
    copied: bool = False  # by the processor of its thread: the disk is memory
    write: bool = False
    pages: int = 0
    used: int = 0

    @property
    def there_ns(self) -> float:
        """The time when its pages can be used."""
        last, there_ns = self, self.done_ns
        while last.goes_on is not None:
            last = last.goes_on
            there_ns = max(there_ns, last.done_ns)
        return there_ns


# With sector, sectors, bios, whether it is of metadata, and whether no limiter holds it.
Read = tuple[Request, int, int, int, bool, bool]


@dataclass
class TimedKernel(Kernel):
    """A kernel with a clock.

    The queue holds ``limits.nr_requests``, of which ``limits.nr_writes`` are writes. A request
    beyond that has no place in it: its thread
    sleeps until there is room, and a thread that comes earlier gets the room first
    (blk_mq_get_tag). A completed request wakes one thread that waits for room: ``promised`` are
    those that are awake and have not tried yet. ``sent`` are the requests in the order in which the
    queue accepted them.
    """

    layout: Layout = field(kw_only=True)
    limits: Limits = field(kw_only=True)
    queue: DeviceQueue = field(kw_only=True)
    files: npt.NDArray[np.void] = field(kw_only=True)
    clock_ns: float = 0.0
    made: int = 0  # requests so far
    unlimited: bool = False  # no limiter holds the requests that are made now
    writes: bool = False  # the requests that are made now are writes
    deferred: bool = False  # their thread computes before it submits them
    promised: int = 0
    sent: list[Request] = field(default_factory=list)
    _writes: list[Request] = field(default_factory=list)  # of ``sent``
    _held: list[Request] = field(default_factory=list)  # ->readahead itself waits for these
    _outside: deque[Read] = field(default_factory=deque)  # of the present operation
    pages: int = 0  # read so far; nothing after the end of a compressed file is
    block_sectors: int = 0  # of compressed blocks that were read so far
    _by_page: dict[tuple[int, int], Request] = field(default_factory=dict)  # by file, page
    _used: set[tuple[int, int]] = field(default_factory=set)
    _first: int = 0  # insert that the run in progress began with
    _busy_ns: float = 0.0  # when the device will have done all

    def __post_init__(self) -> None:
        self._block_pages: list[int] = self.files["block_pages"].tolist()
        self._sizes: list[float] = [
            size if size >= 0 else inf for size in self.files["size"].tolist()
        ]

    def is_locked(self, held: Held) -> bool:
        """Return whether a folio is being read: its request is not done, or not yet made."""
        request = self._by_page.get((held.inode.row, held.folio.index))
        return super().is_locked(held) or (request is not None and request.there_ns > self.clock_ns)

    def forget(self, held: Held) -> None:
        """Take a folio out of the page cache: its pages may be read again."""
        super().forget(held)
        for page in range(held.folio.index, held.folio.index + held.folio.pages):
            self._by_page.pop((held.inode.row, page), None)
            self._used.discard((held.inode.row, page))

    def send(self, sector: int, sectors: int, bios: int, meta: bool = False) -> Request:
        """Make a request, and pass it to the queue if the queue has room."""
        request = Request(write=self.writes)
        self.made += 1
        self._outside.append((request, sector, sectors, bios, meta, self.unlimited))
        if len(self._outside) == 1 and not self.deferred:
            self.accept(self._outside)
        return request

    def drain(self) -> tuple[deque[Read], list[Request]]:
        """Return the reads without room in the queue, and the requests that ->readahead waits for.

        Both are of the time since the last call.
        """
        requests = self._outside, self._held
        self._outside, self._held = deque(), []
        return requests

    def accept(self, reads: deque[Read]) -> float:
        """Submit requests while the queue has room; return when it has room again."""
        while reads:
            room_ns = self.room_ns(reads[0][0].write)
            if room_ns > self.clock_ns:
                return room_ns
            self._submit(*reads.popleft())
        return 0.0

    def room_ns(self, write: bool, promised: int = 0) -> float:
        """Return when there is room for one more request, beside those of ``promised`` threads."""
        room_ns = _room_from(self.sent, max(self.limits.nr_requests - promised, 1))
        if room_ns <= self.clock_ns and write:
            room_ns = _room_from(self._writes, self.limits.nr_writes)
        return room_ns

    def worker_runs(self) -> bool:
        """Return whether a request waits for the driver, which has just completed one."""
        return _room_from(self.sent, self.limits.nr_driver_tags) > self.clock_ns

    def _submit(
        self,
        request: Request,
        sector: int,
        sectors: int,
        bios: int,
        meta: bool,
        unlimited: bool,
    ) -> None:
        due_ns = self._due_ns()
        done = self.queue.submit(due_ns, sector, sectors, bios, meta, unlimited)
        if not done <= LONGEST_NS:
            raise EmulationError(
                "a request of this device would take too long",
                "give other numbers, or calibrate again",
            )
        request.begin_ns, request.done_ns = max(due_ns, self._busy_ns), done
        request.copied = isinstance(self.queue, LimiterQueue) and self.queue.at_once
        self._busy_ns = max(self._busy_ns, done)
        self.sent.append(request)
        if request.write:
            self._writes.append(request)

    def _due_ns(self) -> float:
        """Return when a request is given to the device, if the device is idle."""
        return self.clock_ns

    def use(self, needed: Needed) -> Request | None:
        """Return the request of needed pages; None if they were never read."""
        inode, first, stop = needed
        request = self._by_page.get((inode.row, first))
        if request is None:
            return None
        pages = {(inode.row, page) for page in range(first, stop)}
        pages = {page for page in pages if self._by_page.get(page) is request}
        request.used += len(pages - self._used)
        self._used |= pages
        return request

    def _end_run(self) -> None:
        empty = self.outcome.runs in self.outcome.empty
        super()._end_run()
        inserts = self.outcome.inserts[self._first :]
        self._first = len(self.outcome.inserts)
        if empty:
            return
        if inserts and self._block_pages[inserts[0][0]]:
            self._read_blocks(inserts[0][0], [index for _, index, _, _ in inserts])
            return
        self.pages += sum(1 << order for _, _, order, _ in inserts)
        cut = requests(Outcome(inserts), self.layout, self.limits, self.machine.page_size)
        sent = [self.send(sector, sectors, bios) for _, sector, sectors, bios in cut]
        _chain(sent, cut)
        ends = list(accumulate(sectors for _, _, sectors, _ in cut))
        unit = self.machine.page_size // SECTOR
        read = 0  # sectors so far: requests come in the order of the pages
        for file, index, order, _ in inserts:
            pages = range(index, index + (1 << order))
            pieces = list(self.layout.pieces(file, index * unit, (index + len(pages)) * unit))
            read += sum(sectors for _, _, sectors in pieces)
            if pieces:  # otherwise a hole: usable at once
                last = sent[bisect_left(ends, read)]
                last.pages += len(pages)
                self._by_page.update({(file, page): last for page in pages})

    def _read_blocks(self, file: int, pages: list[int]) -> None:
        """squashfs_readahead, squashfs_readpage_block: each block is read synchronously.

        A block without an extent is in the file system's cache (a fragment).
        """
        size, page_size = self._block_pages[file], self.machine.page_size
        self.pages += sum(page * page_size < self._sizes[file] for page in pages)
        for block in range(min(pages) // size, max(pages) // size + 1):
            place = self.layout.block(file, block * size * (page_size // SECTOR))
            if place is None:
                continue
            sector, sectors = place
            self.block_sectors += sectors
            unpacked = size * (page_size // SECTOR)
            for part in block_parts(sectors, unpacked, self.limits, page_size):
                request = self.send(sector, part, 1)
                sector += part
            pages_of_block = {(file, page): request for page in pages if page // size == block}
            request.pages = len(pages_of_block)
            self._by_page.update(pages_of_block)
            self._held.append(request)


def _room_from(sent: Sequence[Request], most: int) -> float:
    """Return when there is room for one more request: ``most`` fit in."""
    return sent[-most].done_ns if len(sent) >= most else 0.0


def _chain(sent: Sequence[Request], cut: Sequence[tuple[int, int, int, int]]) -> None:
    """Join the requests that were split from one bio, which complete together.

    A request that continues the previous one was split from the same bio; if two bios meet in a
    request, the second is assumed to begin after it.
    """
    for row in range(len(sent) - 1):
        _, sector, sectors, bios = cut[row]
        if bios == 1 and cut[row + 1][1] == sector + sectors:
            sent[row].goes_on = sent[row + 1]


def wasted(sent: Sequence[Request], spans: Sequence[Span]) -> float:
    """Return the part of ``spans`` that the device spent on unused pages.

    A request counts by its share of unused pages. Both are in order of time.
    """
    total, first = 0.0, 0
    for request in sent:
        while first < len(spans) and spans[first][1] <= request.begin_ns:
            first += 1
        overlap, row = 0.0, first
        while row < len(spans) and spans[row][0] < request.done_ns:
            begin, end = spans[row]
            overlap += min(end, request.done_ns) - max(begin, request.begin_ns)
            row += 1
        if request.pages:
            total += overlap * (request.pages - request.used) / request.pages
    return total
