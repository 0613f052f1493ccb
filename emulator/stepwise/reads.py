"""read(2) on the page cache: do_generic_mapping_read to filemap_read (mm/filemap.c)."""

from __future__ import annotations

from collections.abc import Iterator

from foreread.emulator.linux.rules import Algorithm, PastEnd, PrevPos
from foreread.emulator.stepwise import adaptive, ondemand
from foreread.emulator.stepwise.inode import Inode
from foreread.emulator.stepwise.kernel import Kernel, Needed, OpenFile

MAX_COUNT = 0x7FFFF000  # MAX_RW_COUNT, bytes


def read(kernel: Kernel, file: OpenFile, position: int, count: int) -> Iterator[Needed]:
    """Read ``count`` bytes at ``position``; yield the pages that the read waits for."""
    inode, rules = file.inode, kernel.rules
    count = min(count, MAX_COUNT)
    end = min(position + count, inode.size)
    page_size = kernel.machine.page_size
    page = first = position // page_size
    stop = -(-(position + count) // page_size)  # last_index: not cut at the end of the file
    if rules.algorithm == Algorithm.ADAPTIVE:
        if position < end:
            readahead_end = _asked(kernel, position, count)
            yield from _read_adaptive(kernel, file, first, -(-end // page_size), readahead_end)
        return
    while position < end and page * page_size < end:
        following = _next_page(kernel, file, page, stop)
        _mark_accessed(kernel, file, page, first=page == first)
        yield inode, page, min(following, -(-end // page_size))
        page = following
        if rules.prev_pos == PrevPos.EVERY_PAGE:
            file.state.prev_page = min(page * page_size, end) // page_size
    past = _page_past_end(kernel, inode, position, count)
    if past is not None:
        _next_page(kernel, file, past, stop)
        _mark_accessed(kernel, file, past, first=past == first)
        yield inode, past, past + 1
    if position < end:
        last = (end - 1) // page_size
        file.state.prev_page = last if rules.prev_pos == PrevPos.LAST_PAGE else end // page_size


def _page_past_end(kernel: Kernel, inode: Inode, position: int, count: int) -> int | None:
    """Return the page that a read(2) gets before it sees the end of the file, None without one.

    A read that begins after the end may get the last page of the file there.
    """
    rule, page_size = kernel.rules.reads_past_end, kernel.machine.page_size
    if rule == PastEnd.NOTHING or count <= 0 or position + count <= inode.size:
        return None
    if position >= inode.size:
        return position // page_size
    whole = inode.size % page_size == 0
    return inode.last + 1 if rule == PastEnd.BEYOND and whole else None


def _next_page(kernel: Kernel, file: OpenFile, page: int, stop: int) -> int:
    """filemap_get_pages: bring in ``page``; return the first page after its folio."""
    cache = file.inode.cache
    if cache.get(page) is None:
        ondemand.miss(kernel, file, page, stop - page)
    folio = cache.get(page)
    if folio is None:
        kernel.read_single(file, page)
        return page + 1
    at = folio.index if kernel.rules.folio_index else page
    if folio.marked:
        ondemand.marker(kernel, file, folio, at, stop - at)
    return folio.index + folio.pages


def _mark_accessed(kernel: Kernel, file: OpenFile, page: int, *, first: bool) -> None:
    """Reads that follow each other in one folio mark it once."""
    folio = file.inode.cache.get(page)
    if kernel.memory is None or folio is None:
        return
    again = first and folio.index <= file.state.marked < folio.index + folio.pages
    if not again:
        kernel.memory.read(file.inode, page)
    file.state.marked = page


def _asked(kernel: Kernel, position: int, count: int) -> int:
    """Return the page after the pages for readahead: 2.6.11 leaves out a part of a page."""
    page_size = kernel.machine.page_size
    if kernel.rules.off_is_negative:
        return position // page_size - (-count // page_size)
    return -(-(position + count) // page_size)


def _read_adaptive(
    kernel: Kernel, file: OpenFile, first: int, end: int, readahead_end: int
) -> Iterator[Needed]:
    """do_generic_mapping_read, 2.6.11 to 2.6.22: the pages from ``first`` up to ``end``."""
    due = first
    for page in range(first, end):
        if page == due and page < readahead_end:
            due = adaptive.page_cache_readahead(kernel, file, page, readahead_end - page)
        if file.inode.cache.get(page) is None:
            adaptive.handle_ra_miss(kernel, file)
            kernel.read_single(file, page)
        _mark_accessed(kernel, file, page, first=page == first)
        yield file.inode, page, page + 1
