"""On-demand readahead, 2.6.23 and later: what a miss or a marker triggers (mm/readahead.c)."""

from __future__ import annotations

from foreread.emulator.linux.operations import Cause
from foreread.emulator.linux.rules import Algorithm, Context, Forced, Merge, NoHole, Orders
from foreread.emulator.stepwise.cache import Folio
from foreread.emulator.stepwise.kernel import Kernel, OpenFile
from foreread.emulator.stepwise.window import initial_size, next_size

_TWO_MIB = 2 << 20
_RAMP_STEP = 2
PLENTY = 1 << 20  # pages: up to 3.14 memory is the limit, which is assumed to be this large


def miss(kernel: Kernel, file: OpenFile, page: int, request: int) -> None:
    """page_cache_sync_readahead: ``page`` is absent, and ``request`` pages are read from it on."""
    state, rules = file.state, kernel.rules
    kernel.cause = Cause.SEQUENTIAL if state.pages and not state.random else Cause.ASKED
    if not state.pages:
        if rules.zero_is_forced:
            kernel.read_forced(file, page, 1)
    elif state.random:
        kernel.read_forced(file, page, min(request, _forced_limit(kernel, file)))
    elif rules.algorithm == Algorithm.SPLIT:
        _split_miss(kernel, file, page, request)
    elif rules.algorithm == Algorithm.ONDEMAND:
        _decide(kernel, file, page, request, None)
    else:
        _decide_early(kernel, file, page, request, None)


def marker(kernel: Kernel, file: OpenFile, folio: Folio, page: int, request: int) -> None:
    """page_cache_async_readahead: the marked ``folio`` is used at ``page``."""
    if not file.state.pages:
        return
    folio.marked = False
    kernel.cause = Cause.MARKER
    algorithm = kernel.rules.algorithm
    if algorithm == Algorithm.SPLIT:
        _split_marker(kernel, file, folio, page, request)
    elif algorithm == Algorithm.ONDEMAND:
        _decide(kernel, file, page, request, folio)
    else:
        _decide_early(kernel, file, page, request, folio)


def willneed(kernel: Kernel, file: OpenFile, start: int, pages: int) -> None:
    """POSIX_FADV_WILLNEED, MADV_WILLNEED, readahead(2): force_page_cache_readahead."""
    kernel.cause = Cause.ADVICE
    kernel.read_forced(file, start, min(pages, _forced_limit(kernel, file)))


def _forced_limit(kernel: Kernel, file: OpenFile) -> int:
    """Return the pages that one force_page_cache_readahead reads at most."""
    if kernel.rules.forced == Forced.UNLIMITED:
        return PLENTY
    return {
        Forced.TWO_MIB: _TWO_MIB // kernel.machine.page_size,
        Forced.WINDOW: kernel.window,
        Forced.IO: max(kernel.machine.io_pages, file.state.pages),
    }[kernel.rules.forced]


def _limit(kernel: Kernel, file: OpenFile, request: int) -> int:
    """Return M, the largest window (ractl_max_pages), in pages."""
    pages, rules, io = file.state.pages, kernel.rules, kernel.machine.io_pages
    if rules.two_mib_window:
        return min(pages, _TWO_MIB // kernel.machine.page_size)
    if rules.grows_to_io and request > pages and io > pages:
        return min(request, io)
    return pages


def _sequential(file: OpenFile, page: int) -> bool:
    return 0 <= page - file.state.prev_page <= 1


def _decide_early(
    kernel: Kernel, file: OpenFile, page: int, request: int, folio: Folio | None
) -> None:
    """ondemand_readahead, 2.6.23 to 2.6.30."""
    state = file.state
    limit = _limit(kernel, file, request)
    end = state.start + state.size
    if page and page in (end - state.async_size, end):
        state.start = end
        state.size = state.async_size = next_size(state.size, limit)
    elif folio is None and not _sequential(file, page) and request <= limit:
        kernel.cause = Cause.ASKED
        kernel.read_range(file, page, request, 0)
        return
    elif folio is not None and kernel.rules.algorithm == Algorithm.STRAY:
        hole = file.inode.cache.next_hole(page, limit + 1)
        if hole - page > limit:
            return
        state.start = hole
        state.size = state.async_size = next_size(hole - page, limit)
    else:
        _start(file, page, request, limit)
        if folio is not None:
            state.start += 1
            state.size = next_size(state.size, limit)
    kernel.submit(file)


def _decide(kernel: Kernel, file: OpenFile, page: int, request: int, folio: Folio | None) -> None:
    """ondemand_readahead, 2.6.31 to 6.10."""
    state, rules = file.state, kernel.rules
    limit = _limit(kernel, file, request)
    end = state.start + state.size
    if page == 0:
        _start(file, page, request, limit)
    elif page in (_expected(kernel, file, folio), end):
        _follow(kernel, file, limit)
    elif folio is not None:
        if not _stray(kernel, file, page, request, limit):
            return
    elif request > limit or _sequential(file, page):
        _start(file, page, request, limit)
    elif not _context(kernel, file, page, request, limit):
        kernel.read_range(file, page, request, 0)
        return
    if rules.merge and page == state.start and state.size == state.async_size:
        _merge(kernel, file, limit)
    kernel.submit(file, folio.order if folio else 0)


def _expected(kernel: Kernel, file: OpenFile, folio: Folio | None) -> int:
    """Return the page of the state's marker, as far as the marked folio shows it."""
    state = file.state
    mark = state.start + state.size - state.async_size
    pages = folio.pages if folio else 1
    if kernel.rules.marks_upwards:
        mark += pages - 1
    return mark // pages * pages


def _start(file: OpenFile, page: int, request: int, limit: int) -> None:
    """Begin a stream at ``page`` (initial_readahead)."""
    state = file.state
    state.start = page
    state.size = initial_size(request, limit)
    state.async_size = state.size - request if state.size > request else state.size


def _follow(kernel: Kernel, file: OpenFile, limit: int) -> None:
    """Continue after the last window."""
    state = file.state
    state.start += state.size
    grown = next_size(state.size, limit)
    state.size = max(state.size, grown) if kernel.rules.keeps_larger else grown
    state.async_size = state.size


def _stray(kernel: Kernel, file: OpenFile, page: int, request: int, limit: int) -> bool:
    """Set the window after a marker that is not the state's; return False to read nothing."""
    state, cache = file.state, file.inode.cache
    if kernel.rules.xarray:
        hole = cache.next_miss(page + 1, limit)
        if hole is None:
            at = {NoHole.BEHIND: page + limit, NoHole.STUCK: page}
            if kernel.rules.no_hole not in at:
                return False
            hole = at[kernel.rules.no_hole]
    else:
        hole = cache.next_hole(page + 1, limit)
    if hole - page > limit:
        return False
    state.start = hole
    state.size = state.async_size = next_size(hole - page + request, limit)
    return True


def _context(kernel: Kernel, file: OpenFile, page: int, request: int, limit: int) -> bool:
    """try_context_readahead: set the window by the cached pages before ``page``, if enough."""
    state, cache = file.state, file.inode.cache
    if kernel.rules.xarray:
        scans_all = kernel.rules.scans_all
        history = page - 1 - cache.prev_miss(page - 1, limit, scans_all=scans_all)
    else:
        history = cache.history(page, limit)
    any_history = kernel.rules.context == Context.ANY
    if history <= (0 if any_history else request):
        kernel.cause = Cause.ASKED
        return False
    kernel.cause = Cause.HISTORY
    if history >= page:
        history *= 2
    state.start = page
    if any_history:
        state.size = state.async_size = initial_size(history + request, limit)
    else:
        state.size = min(history + request, limit)
        state.async_size = 1
    return True


def _merge(kernel: Kernel, file: OpenFile, limit: int) -> None:
    """Add the next window, since this window's marker would be hit at once."""
    state = file.state
    more = next_size(state.size, limit)
    if kernel.rules.merge == Merge.WHOLE or state.size + more <= limit:
        state.async_size = more
        state.size += more
    else:
        state.size, state.async_size = limit, limit // 2


def _split_miss(kernel: Kernel, file: OpenFile, page: int, request: int) -> None:
    """page_cache_sync_ra, 6.11 and later."""
    state = file.state
    limit = _limit(kernel, file, request)
    if page == 0 or request > limit or _sequential(file, page):
        _start(file, page, request, limit)
        if state.size <= request:
            state.async_size = state.size // 2
    elif not _context(kernel, file, page, request, limit):
        kernel.read_range(file, page, request, 0)
        return
    state.order = 0
    kernel.submit(file)


def _split_marker(kernel: Kernel, file: OpenFile, folio: Folio, page: int, request: int) -> None:
    """page_cache_async_ra, 6.11 and later."""
    limit = _limit(kernel, file, request)
    if page == _expected(kernel, file, folio):
        _follow(kernel, file, limit)
    elif not _stray(kernel, file, page, request, limit):
        return
    if kernel.rules.orders == Orders.RAMP:
        _align(file, limit)
    kernel.submit(file, folio.order)


def _align(file: OpenFile, limit: int) -> None:
    """End the window on a border of its next folios, 6.17 and later."""
    state = file.state
    state.order += _RAMP_STEP
    align = min(1 << state.order, limit & -limit)
    end = (state.start + state.size) // align * align
    if end > state.start:
        state.size = end - state.start
    state.async_size = state.size
