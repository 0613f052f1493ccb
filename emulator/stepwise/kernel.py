"""The common part of the emulation: rules, files, and reading ranges into the cache."""

from __future__ import annotations

from dataclasses import dataclass, field

from foreread.emulator.linux.operations import Cause, Machine, Outcome
from foreread.emulator.linux.rules import Orders, Rules
from foreread.emulator.stepwise.cache import Folio
from foreread.emulator.stepwise.generations import GenerationLists
from foreread.emulator.stepwise.inode import Inode
from foreread.emulator.stepwise.memory import Held, Lists, Memory
from foreread.emulator.stepwise.two_lists import TwoLists
from foreread.emulator.stepwise.window import State

FORCED_CHUNK = 2 << 20  # bytes: step of force_page_cache_readahead
_HUGE_FOLIO = 2 << 20  # bytes


# Pages [first, stop) of one folio that must have been read before an operation continues.
Needed = tuple[Inode, int, int]


@dataclass(slots=True)
class OpenFile:
    """A struct file."""

    inode: Inode
    state: State


@dataclass
class Kernel:
    """One kernel with one window (pages) for all its devices."""

    rules: Rules
    machine: Machine
    window: int
    outcome: Outcome = field(default_factory=Outcome)
    cause: Cause = Cause.ALONE  # of the current read
    memory: Memory | None = None  # None: it holds all files
    stop: int | None = None  # where the mapping of the fault in progress ends readahead
    least_order: int = 0  # of the folios of the fault's own window
    faulting: bool = False  # a fault is in progress, of a mapping that was given no advice

    def limit_memory(self) -> None:
        """Let memory hold ``machine.cache_pages`` pages of files, if that is not 0."""
        if self.machine.cache_pages:
            self.memory = Memory(self.machine.cache_pages, self._lists())

    def _lists(self) -> Lists:
        if self.machine.generations and self.rules.generations:
            return GenerationLists(self.rules.generations, self.is_locked, self.forget)
        return TwoLists(self.is_locked, self.forget, self.machine.page_size)

    def own_memory(self, pages: int) -> None:
        """The program itself has so many pages of memory from now on (0: as many as before)."""
        if self.memory is not None and pages:
            self.memory.own(pages, self.machine.cache_pages)

    def is_locked(self, held: Held) -> bool:
        """Return whether a folio is being read: by the ->readahead call in progress."""
        return held.run == self.outcome.runs

    def forget(self, held: Held) -> None:
        """Take a folio out of the page cache."""
        held.inode.cache.remove(held.folio)

    def enter(self, inode: Inode, folio: Folio) -> bool:
        """Insert a folio unless a page of it is cached; return whether it is new."""
        if not inode.cache.add(folio):
            return False
        if self.memory is not None:
            self.memory.enter(inode, folio, self.outcome.runs, faulting=self.faulting)
        return True

    @property
    def max_order(self) -> int:
        """MAX_PAGECACHE_ORDER: folios are at most as large as a PMD."""
        return self.machine.table_pages.bit_length() - 1

    @property
    def huge_order(self) -> int:
        """The order of the folios of a VM_HUGEPAGE mapping (do_sync_mmap_readahead)."""
        if not self.rules.huge_folio:
            return self.max_order
        return min(self.max_order, max(_HUGE_FOLIO // self.machine.page_size, 1).bit_length() - 1)

    def last_of(self, inode: Inode) -> int:
        """Return the last page that is read ahead: of the file, or of a mapping that limits it."""
        return inode.last if self.stop is None else min(inode.last, self.stop - 1)

    def read_single(self, file: OpenFile, page: int) -> None:
        """filemap_create_folio, page_cache_read: one page through ->read_folio.

        After the end of the file the page is empty, and not read.
        """
        inode = file.inode
        self.cause = Cause.ALONE
        if self._insert(inode, Folio(page, 0)):
            if page > inode.last:
                self.outcome.empty.add(self.outcome.runs)
            elif inode.block_pages:
                self._fill(inode, page, page + 1)
            self._end_run()

    def _fill(self, inode: Inode, start: int, end: int) -> None:
        """squashfs_readpage_block, squashfs_copy_cache: the other pages of blocks up to ``end``.

        With ``fills_past_end`` only an exact 0 stops its count of bytes at the end of the file.
        """
        block, cause = inode.block_pages, self.cause
        self.cause = Cause.BLOCK
        stop = -(-end // block) * block
        if not self.rules.fills_past_end or inode.size % self.machine.page_size == 0:
            stop = min(stop, inode.last + 1)
        for page in range(start // block * block, stop):
            self._insert(inode, Folio(page, 0))
        self.cause = cause

    def read_range(self, file: OpenFile, start: int, pages: int, ahead: int) -> int:
        """do_page_cache_ra, __do_page_cache_readahead: insert absent pages, one by one.

        The page ``ahead`` pages before the end is marked, if it was absent. Returns the number of
        absent pages.
        """
        inode, rules, last = file.inode, self.rules, self.last_of(file.inode)
        if rules.clamps_first:
            rest = last - start + 1
            if pages >= rest and not rules.marks_end:
                ahead = 0
            pages = min(pages, rest)
        mark = start + pages - ahead if 0 < ahead <= pages else None
        absent = run = 0
        for page in range(start, min(start + pages, last + 1)):
            if self._insert(inode, Folio(page, 0, page == mark)):
                absent, run = absent + 1, run + 1
            elif run and rules.runs_apart:
                self._readahead(file, page - run, page)
                run = 0
        if run:
            self._readahead(file, start + pages - run, start + pages)
        return absent

    def _readahead(self, file: OpenFile, start: int, end: int) -> None:
        """Give a run of new pages to the file system (->readahead, before 5.8 ->readpages)."""
        if file.inode.block_pages:
            if self.rules.expands:
                self._expand(file, start, end)
            else:
                self._fill(file.inode, start, end)
        self._end_run()

    def _expand(self, file: OpenFile, start: int, end: int) -> None:
        """readahead_expand to whole blocks (squashfs_readahead): downwards, then upwards.

        Upwards it goes beyond the end of the file, and a whole block further where the run ends on
        the border of a block. A cached page ends the expansion: below the run, it also ends the
        expansion upwards.
        """
        cause, self.cause = self.cause, Cause.BLOCK
        block = file.inode.block_pages
        below = range(start - 1, start // block * block - 1, -1)
        if all(self._insert(file.inode, Folio(page, 0)) for page in below):
            for page in range(end, (end // block + 1) * block):
                if not self._insert(file.inode, Folio(page, 0)):
                    break
                file.state.size += 1
                file.state.async_size += 1
        self.cause = cause

    def read_forced(self, file: OpenFile, start: int, pages: int) -> None:
        """force_page_cache_readahead: in chunks of 2 MiB, without a marker."""
        chunk = FORCED_CHUNK // self.machine.page_size
        pages = min(pages, self.last_of(file.inode) + 1 - start)
        for at in range(start, start + pages, chunk):
            self.read_range(file, at, min(chunk, start + pages - at), 0)

    def submit(self, file: OpenFile, order: int = 0) -> None:
        """Read the window of the state from its ``start`` (ra_submit, page_cache_ra_order)."""
        self.submit_at(file, file.state.start, order)

    def submit_at(self, file: OpenFile, start: int, order: int = 0) -> None:
        """Read the state's window, but from ``start`` on (page_cache_ra_order)."""
        inode, state = file.inode, file.state
        self.outcome.windows.append((inode.row, start, state.size, state.async_size))
        chosen = self._folio_order(inode, state, order)
        if chosen is None:
            self.read_range(file, start, state.size, state.async_size)
            return
        stopped = self._read_folios(file, start, chosen)
        if stopped is None:
            return
        done = 0 if self.rules.overshoots else stopped - start
        if state.size > done:
            self.read_range(file, stopped, state.size - done, state.async_size)

    def _folio_order(self, inode: Inode, state: State, order: int) -> int | None:
        """Return the order of the folios of a window; None for single pages."""
        least = self._at_most(self.least_order, state.size)
        if self.rules.orders == Orders.RAMP:
            state.order = self._at_most(state.order, state.size) if inode.large_folios else 0
            return max(state.order, least) if inode.large_folios else None
        if self.rules.orders == Orders.SINGLE or not inode.large_folios or state.size < 4:
            return None
        if order < self.max_order:
            order = self._at_most(order + 2, state.size)
        return max(order, least)

    def _at_most(self, order: int, pages: int) -> int:
        return min(order, self.max_order, max(pages, 1).bit_length() - 1)

    def _read_folios(self, file: OpenFile, start: int, chosen: int) -> int | None:
        """The loop of page_cache_ra_order; return where a cached page stopped it, or None."""
        inode, state = file.inode, file.state
        last = self.last_of(inode)
        limit = min(last, start + state.size - 1)
        mark = start + state.size - state.async_size
        if limit == last and not self.rules.marks_end:
            mark = -1
        index, stopped = start, None
        while index <= limit:
            order = self._fitting(chosen, index, limit)
            pages = 1 << order
            rounded = mark + pages - 1 if self.rules.marks_upwards else mark
            if not self._insert(inode, Folio(index, order, index == rounded // pages * pages)):
                stopped = index
                break
            index += pages
        if index > start:
            self._readahead(file, start, index)
        return stopped

    def _fitting(self, order: int, index: int, limit: int) -> int:
        """Return the order of the folio at ``index``: aligned, and not beyond ``limit``."""
        if index % (1 << order):
            order = (index & -index).bit_length() - 1
        while index + (1 << order) - 1 > limit:
            order -= 1
        return 0 if order == 1 and not self.rules.order_one else order

    def _insert(self, inode: Inode, folio: Folio) -> bool:
        if not self.enter(inode, folio):
            return False
        outcome = self.outcome
        outcome.inserts.append((inode.row, folio.index, folio.order, outcome.runs))
        outcome.causes.append(self.cause)
        return True

    def _end_run(self) -> None:
        self.outcome.runs += 1
