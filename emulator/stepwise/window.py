"""The readahead state of a struct file, and how windows start and grow (mm/readahead.c)."""

from __future__ import annotations

from dataclasses import dataclass

NO_PAGE = -1  # prev_pos >> PAGE_SHIFT after open


@dataclass(slots=True)
class State:
    """struct file_ra_state; sizes in pages.

    ``start``, ``size`` and ``async_size`` are the last window, ``pages`` its limit (ra_pages).
    ``prev_page`` is the page of prev_pos, ``marked`` the last page that a read(2) marked accessed;
    ``miss`` and ``hit`` count mmap faults. The fields after ``random`` belong to
    page_cache_readahead (2.6.11 to 2.6.22), where ``prev_page`` is the last requested page.
    """

    pages: int
    start: int = 0
    size: int = 0
    async_size: int = 0
    order: int = 0
    prev_page: int = NO_PAGE
    marked: int = NO_PAGE
    miss: int = 0
    hit: int = 0
    random: bool = False  # FMODE_RANDOM
    ahead_start: int = 0
    ahead_size: int = 0
    cache_hit: int = 0
    missed: bool = False  # RA_FLAG_MISS
    in_cache: bool = False  # RA_FLAG_INCACHE


def initial_size(request: int, limit: int) -> int:
    """get_init_ra_size: the size of a first window, 2.6.18 and later."""
    size = power_of_two(request)
    if size <= limit // 32:
        return size * 4
    if size <= limit // 4:
        return size * 2
    return limit


def next_size(size: int, limit: int) -> int:
    """get_next_ra_size: the size of the window that follows a window of ``size``."""
    return min(4 * size if size < limit // 16 else 2 * size, limit)


def power_of_two(number: int) -> int:
    """roundup_pow_of_two."""
    return 1 << max(number - 1, 0).bit_length()
