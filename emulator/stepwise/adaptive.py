"""Readahead with a current and an ahead window, 2.6.11 to 2.6.22 (mm/readahead.c)."""

from __future__ import annotations

from foreread.emulator.linux.operations import Cause
from foreread.emulator.stepwise.kernel import Kernel, OpenFile
from foreread.emulator.stepwise.window import State, initial_size, next_size, power_of_two

MIN_READAHEAD = 16 << 10  # VM_MIN_READAHEAD, bytes
MAX_CACHE_HIT = 256  # VM_MAX_CACHE_HIT, pages


def page_cache_readahead(kernel: Kernel, file: OpenFile, page: int, request: int) -> int:
    """Report a needed page to readahead; return the page of the next report."""
    state = file.state
    if page == state.prev_page:
        request -= 1
        page += request > 0
    sequential = page == state.prev_page + 1
    state.prev_page = page
    accessed = min(request, state.pages)
    if accessed == 0 or state.in_cache:
        return page + 1
    kernel.cause = Cause.SEQUENTIAL
    state.prev_page += accessed - 1
    if _first(kernel, state, page, sequential):
        _start(kernel, file, page, request)
    elif not sequential or state.size <= 0:
        _off(kernel, state)
        kernel.cause = Cause.ASKED
        _read(kernel, file, page, accessed)
    else:
        _go_on(kernel, file)
    return state.prev_page + 1


def handle_ra_miss(kernel: Kernel, file: OpenFile) -> None:
    """handle_ra_miss: a page was absent although readahead had read it."""
    state = file.state
    state.missed, state.in_cache = True, False
    if not kernel.rules.off_is_negative:
        state.cache_hit = 0


def _first(kernel: Kernel, state: State, page: int, sequential: bool) -> bool:
    """Return whether a stream begins here."""
    if kernel.rules.off_is_negative:
        return (state.size == 0 and page == 0) or (state.size == -1 and sequential)
    return sequential and state.size == 0


def _start(kernel: Kernel, file: OpenFile, page: int, request: int) -> None:
    state = file.state
    first = _initial_2_6_11 if kernel.rules.off_is_negative else initial_size
    state.start = page
    state.size = first(min(request, state.pages), state.pages)
    if _read(kernel, file, page, state.size) and request >= state.pages:
        _make_ahead(kernel, file, forced=True)


def _initial_2_6_11(request: int, limit: int) -> int:
    size = power_of_two(request)
    if size <= limit // 64:
        return size * size
    return limit // 4 if size <= limit // 4 else limit


def _go_on(kernel: Kernel, file: OpenFile) -> None:
    """A sequential read inside a stream: keep an ahead window before it."""
    state = file.state
    if state.ahead_start == 0 and not _make_ahead(kernel, file, forced=False):
        _stay_in_ahead(kernel, state)
    elif state.prev_page >= state.ahead_start:
        state.start, state.size = state.ahead_start, state.ahead_size
        _make_ahead(kernel, file, forced=False)
        _stay_in_ahead(kernel, state)


def _stay_in_ahead(kernel: Kernel, state: State) -> None:
    if state.ahead_size and not kernel.rules.off_is_negative:
        state.prev_page = min(state.prev_page, state.ahead_start + state.ahead_size - 1)


def _make_ahead(kernel: Kernel, file: OpenFile, *, forced: bool) -> bool:
    """make_ahead_window: read the next window; return False if it was all cached."""
    state = file.state
    state.ahead_size = _next(kernel, state)
    state.ahead_start = state.start + state.size
    kernel.cause = Cause.MARKER
    done = _read(kernel, file, state.ahead_start, state.ahead_size)
    if not done and not forced:
        state.ahead_start = state.ahead_size = 0
    return done


def _next(kernel: Kernel, state: State) -> int:
    if not state.missed:
        return next_size(state.size, state.pages)
    state.missed = False
    least = MIN_READAHEAD // kernel.machine.page_size
    return min(max(state.size - 2, least), state.pages)


def _off(kernel: Kernel, state: State) -> None:
    """ra_off."""
    state.start = state.ahead_start = state.ahead_size = 0
    state.size = -1 if kernel.rules.off_is_negative else 0
    state.missed = state.in_cache = False


def _read(kernel: Kernel, file: OpenFile, start: int, pages: int) -> bool:
    """blockable_page_cache_readahead; return False once so much was cached that readahead stops."""
    state = file.state
    if kernel.read_range(file, start, pages, 0):
        state.cache_hit = 0
        return True
    state.cache_hit += pages
    if state.cache_hit < MAX_CACHE_HIT:
        return True
    _off(kernel, state)
    state.in_cache = True
    return False
