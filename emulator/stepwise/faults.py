"""Page faults on mapped files: filemap_nopage, filemap_fault and fault-around (mm/filemap.c)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from foreread.emulator.linux.operations import Cause, MapFlag
from foreread.emulator.linux.rules import Algorithm, Around, Fault, WithinMapping
from foreread.emulator.stepwise import adaptive, ondemand
from foreread.emulator.stepwise.cache import Folio
from foreread.emulator.stepwise.kernel import Kernel, Needed, OpenFile
from foreread.emulator.stepwise.memory import Memory

LOTS_OF_MISSES = 100  # MMAP_LOTSAMISS
MISSES_KEPT = 10 * LOTS_OF_MISSES
KIB = 1024


@dataclass(slots=True)
class Mapping:
    """A VMA: ``pages`` of ``file`` from ``start`` on, at virtual page ``address``.

    ``filled`` are the pages of the file with a page table entry. An entry goes with its page; if
    the page comes back, each mapping that had an entry is taken to have one.
    """

    file: OpenFile
    start: int
    pages: int
    address: int
    flags: MapFlag
    filled: set[int] = field(default_factory=set)
    row: int = 0

    def has(self, page: int) -> bool:
        """Return whether a page has an entry."""
        return page in self.filled and self.file.inode.cache.get(page) is not None

    def fill(self, kernel: Kernel, pages: Iterable[int]) -> None:
        """Put entries for pages, which are young."""
        self.filled.update(pages)
        if kernel.memory is not None:
            for page in pages:
                self._use(kernel.memory, page)

    def touch(self, kernel: Kernel, page: int) -> None:
        """Use a page by its entry; code may be used again and again."""
        if kernel.memory is not None:
            self._use(kernel.memory, page)
            if self.flags & MapFlag.EXEC and kernel.machine.code_stays:
                kernel.memory.execute(self.file.inode, page)

    def _use(self, memory: Memory, page: int) -> None:
        executes = bool(self.flags & MapFlag.EXEC)
        memory.map(self.file.inode, page, self.row, executes=executes)

    @property
    def end(self) -> int:
        """The page of the file after the last mapped one."""
        return self.start + self.pages


def fault(kernel: Kernel, mapping: Mapping, page: int, *, write: bool) -> Iterator[Needed]:
    """Touch a page of a mapping (do_fault); yield the page when it is needed.

    The page is needed even if it has an entry already: fault-around maps pages here when they are
    requested, and the kernel only after they have been read (next_uptodate_folio).
    """
    inode = mapping.file.inode
    if page > inode.last:
        return
    if mapping.has(page):
        mapping.touch(kernel, page)
        yield inode, page, page + 1
        return
    around = not write and kernel.rules.around and kernel.machine.fault_around > 1
    if around and _map_around(kernel, mapping, page):
        mapping.touch(kernel, page)
        yield inode, page, page + 1
        return
    absent = inode.cache.get(page) is None
    kernel.stop = mapping.end if _limits(kernel, mapping) else None
    kernel.faulting = not mapping.flags & (MapFlag.SEQUENTIAL | MapFlag.RANDOM)
    if kernel.rules.fault < Fault.SEQUENTIAL:
        _early_fault(kernel, mapping, page)
    else:
        _fault(kernel, mapping, page)
    kernel.stop, kernel.faulting = None, False
    yield inode, page, page + 1
    # The kernel waits for a page's read without the lock: the fault is then repeated.
    if absent and around and _map_around(kernel, mapping, page, retry=True):
        mapping.touch(kernel, page)
        return
    _finish(kernel, mapping, page, write=write)


def _limits(kernel: Kernel, mapping: Mapping) -> bool:
    """Return whether a mapping limits the readahead of its faults."""
    within = kernel.rules.within_mapping
    executes = bool(mapping.flags & MapFlag.EXEC)
    return within == WithinMapping.ALL or (within == WithinMapping.CODE and executes)


def _around_start(kernel: Kernel, mapping: Mapping, page: int) -> int:
    """Return the first page that is read around a page."""
    first = mapping.start if _limits(kernel, mapping) else 0
    return max(first, page - mapping.file.state.pages // 2)


def _early_fault(kernel: Kernel, mapping: Mapping, page: int) -> None:
    """filemap_nopage to 2.6.22, filemap_fault to 2.6.30."""
    file, flags, state = mapping.file, mapping.flags, mapping.file.state
    cache, rules = file.inode.cache, kernel.rules
    adaptive_rules = rules.algorithm == Algorithm.ADAPTIVE
    read_around = False
    if flags & MapFlag.SEQUENTIAL and not flags & MapFlag.RANDOM:
        if adaptive_rules:
            adaptive.page_cache_readahead(kernel, file, page, 1)
        else:
            _sequential_fault(kernel, file, page)
    if cache.get(page) is None:
        if flags & MapFlag.SEQUENTIAL and adaptive_rules and not flags & MapFlag.RANDOM:
            adaptive.handle_ra_miss(kernel, file)
        elif not flags & (MapFlag.RANDOM | MapFlag.SEQUENTIAL):
            read_around = _read_around_by_counts(kernel, mapping, page)
        kernel.read_single(file, page)
    if not read_around:
        if rules.fault == Fault.MISS_COUNT:
            state.miss -= 1
        else:
            state.hit += 1
    if rules.fault != Fault.HIT_COUNT:
        state.prev_page = page


def _sequential_fault(kernel: Kernel, file: OpenFile, page: int) -> None:
    """MADV_SEQUENTIAL, 2.6.23 to 2.6.30: as a read(2) of the page."""
    if file.inode.cache.get(page) is None:
        ondemand.miss(kernel, file, page, 1)
    folio = file.inode.cache.get(page)
    if folio is not None and folio.marked:
        ondemand.marker(kernel, file, folio, page, 1)


def _read_around_by_counts(kernel: Kernel, mapping: Mapping, page: int) -> bool:
    """Read around the page unless misses outweigh hits; return whether the kernel tried."""
    file = mapping.file
    state = file.state
    state.miss += 1
    if state.miss > state.hit + LOTS_OF_MISSES:  # hit stays 0 where there is one counter
        return False
    if state.pages:
        kernel.cause = Cause.AROUND
        kernel.read_range(file, _around_start(kernel, mapping, page), state.pages, 0)
    return file.inode.cache.get(page) is not None


def _fault(kernel: Kernel, mapping: Mapping, page: int) -> None:
    """filemap_fault, 2.6.31 and later."""
    file, rules = mapping.file, kernel.rules
    folio = file.inode.cache.get(page)
    if folio is not None:
        _async_readahead(kernel, mapping, folio, page)
    else:
        least = rules.mapped_folio_kb * KIB // kernel.machine.page_size
        kernel.least_order = max(least, 1).bit_length() - 1
        _sync_readahead(kernel, mapping, page)
        kernel.least_order = 0
        if file.inode.cache.get(page) is None:
            kernel.read_single(file, page)
        folio = file.inode.cache.get(page)
        if rules.fault_again and folio is not None:
            _async_readahead(kernel, mapping, folio, page)
    if rules.fault == Fault.SEQUENTIAL:
        file.state.prev_page = page


def _async_readahead(kernel: Kernel, mapping: Mapping, folio: Folio, page: int) -> None:
    """do_async_mmap_readahead: the page is there."""
    state = mapping.file.state
    if mapping.flags & MapFlag.RANDOM or (kernel.rules.xarray and not state.pages):
        return
    if _counts(kernel, mapping):
        hits = 2 if folio.marked and kernel.rules.marker_retries else 1
        state.miss = max(state.miss - hits, 0)
    if folio.marked:
        ondemand.marker(kernel, mapping.file, folio, page, state.pages)


def _sync_readahead(kernel: Kernel, mapping: Mapping, page: int) -> None:
    """do_sync_mmap_readahead: the page is absent."""
    file, flags, rules = mapping.file, mapping.flags, kernel.rules
    state = file.state
    huge = rules.huge_window and bool(flags & MapFlag.HUGE)
    if rules.huge_folio:
        huge = huge and file.inode.large_folios
    if huge and not rules.huge_counts:
        _read_huge(kernel, mapping, page)
        return
    if not huge:
        executes = rules.exec_window and flags & MapFlag.EXEC
        if (flags & MapFlag.RANDOM and not executes) or not state.pages:
            return
        if flags & MapFlag.SEQUENTIAL or _continues(kernel, file, page):
            ondemand.miss(kernel, file, page, state.pages)
            return
    if not flags & MapFlag.SEQUENTIAL and _counts(kernel, mapping):
        if state.miss < MISSES_KEPT or rules.fault == Fault.SEQUENTIAL:
            state.miss += 1
        if state.miss > LOTS_OF_MISSES:
            return
    if huge:
        _read_huge(kernel, mapping, page)
    elif rules.exec_window and flags & MapFlag.EXEC:
        _read_exec(kernel, mapping, page)
    else:
        _read_around(kernel, mapping, page)


def _counts(kernel: Kernel, mapping: Mapping) -> bool:
    """Return whether faults of the mapping change mmap_miss."""
    return kernel.rules.exec_counts or not mapping.flags & (MapFlag.EXEC | MapFlag.SEQUENTIAL)


def _continues(kernel: Kernel, file: OpenFile, page: int) -> bool:
    """2.6.31 to 2.6.39: a fault after the last page touched is a sequential read."""
    return kernel.rules.fault == Fault.SEQUENTIAL and page - 1 == file.state.prev_page


def _read_around(kernel: Kernel, mapping: Mapping, page: int) -> None:
    file = mapping.file
    state = file.state
    state.start = _around_start(kernel, mapping, page)
    state.size = state.pages
    state.async_size = 0 if kernel.rules.fault == Fault.SEQUENTIAL else state.pages // 4
    state.order = 0
    kernel.cause = Cause.AROUND
    kernel.submit(file)


def _read_exec(kernel: Kernel, mapping: Mapping, page: int) -> None:
    """VM_EXEC: forward, in folios that the processor prefers, within the mapping (6.17)."""
    state, order = mapping.file.state, kernel.machine.exec_order
    align = 1 << order
    state.order = order
    state.start = max(page // align * align, mapping.start)
    end = -(-(state.start + state.pages) // align) * align
    state.size = min(end, mapping.end) - state.start
    state.async_size = 0
    kernel.cause = Cause.EXEC
    kernel.submit(mapping.file)


def _read_huge(kernel: Kernel, mapping: Mapping, page: int) -> None:
    """VM_HUGEPAGE: the folio of the page and the next one; ``start`` stays unchanged."""
    state, order = mapping.file.state, kernel.huge_order
    pages = 1 << order
    state.size = pages if mapping.flags & MapFlag.RANDOM else 2 * pages
    state.async_size = pages
    state.order = order
    kernel.cause = Cause.HUGE
    kernel.submit_at(mapping.file, page // pages * pages, order)


def _map_around(kernel: Kernel, mapping: Mapping, page: int, *, retry: bool = False) -> bool:
    """do_fault_around, filemap_map_pages; return whether ``page`` was mapped.

    ``retry``: the fault has read the page, and is repeated (FAULT_FLAG_TRIED).
    """
    start, end = around_window(kernel, mapping, page)
    state, cache, inode = mapping.file.state, mapping.file.inode.cache, mapping.file.inode
    counted, at = 0, start
    end = min(end, inode.last + 1)
    while at < end:
        folio = cache.get(at)
        if folio is None or folio.marked:
            at += 1 if folio is None else folio.index + folio.pages - at
            continue
        pages = _mapped_of(kernel, mapping, folio, at, end)
        new = [index for index in pages if not mapping.has(index)]
        counted += len(new) if kernel.rules.around == Around.FILLED else len(pages)
        mapping.fill(kernel, new)
        at = folio.index + folio.pages
    if kernel.rules.around == Around.TOUCHED:
        counted = int(mapping.has(page))
    if _counts(kernel, mapping) and (kernel.rules.retry_counts or not retry):
        state.miss = max(state.miss - counted, 0)
    return mapping.has(page)


def around_window(kernel: Kernel, mapping: Mapping, page: int) -> tuple[int, int]:
    """Return the pages of the file [start, end) that fault-around tries (do_fault_around)."""
    vpn = mapping.address + page - mapping.start
    around, table = kernel.machine.fault_around, kernel.machine.table_pages
    first = max(vpn // around * around, mapping.address, vpn // table * table)
    stop = min(first + around, mapping.address + mapping.pages, (vpn // table + 1) * table)
    return first - vpn + page, stop - vpn + page


def _mapped_of(kernel: Kernel, mapping: Mapping, folio: Folio, at: int, end: int) -> range:
    """Return the pages of a folio that are mapped together (filemap_map_folio_range)."""
    if kernel.rules.around >= Around.FOLIO and folio.order and _fits(kernel, mapping, folio):
        return range(folio.index, folio.index + folio.pages)
    return range(at, min(folio.index + folio.pages, end))


def _fits(kernel: Kernel, mapping: Mapping, folio: Folio) -> bool:
    """Return whether a whole folio can be mapped: in the VMA, one page table and the file."""
    first = mapping.address + folio.index - mapping.start
    table = kernel.machine.table_pages
    stop = folio.index + folio.pages
    return (
        mapping.start <= folio.index
        and stop <= mapping.end
        and first // table == (first + folio.pages - 1) // table
        and stop <= mapping.file.inode.last  # the kernel's test excludes the last page
    )


def _finish(kernel: Kernel, mapping: Mapping, page: int, *, write: bool) -> None:
    """finish_fault: one page, or from 6.18 on its folio where it is not copied."""
    folio = mapping.file.inode.cache.get(page)
    copied = write and not mapping.flags & MapFlag.SHARED
    mapping.filled.add(page)
    if not copied:
        mapping.touch(kernel, page)
    whole = kernel.rules.around >= Around.FOLIO and not copied
    if folio and whole and _fits(kernel, mapping, folio):
        mapping.fill(kernel, range(folio.index, folio.index + folio.pages))
