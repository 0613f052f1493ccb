"""Windows in KiB, as people and the kernel's setting have them, as whole pages of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Collection

from foreread.analyzer.error import ArgumentError
from foreread.boards.base.units import KIB, kib_to_pages, pages_to_kib
from foreread.emulator import MAX_WINDOW

Kibs = Collection[int]
KibsOf = Callable[[int], Kibs]  # windows in KiB, by page size in bytes


class WindowSizeError(ArgumentError):
    """A window that no kernel with this page size has; ``remedy`` names those nearest to it."""


def pages_of(kib: int, page_size: int) -> int:
    """Return a window in KiB, to be emulated, as pages of ``page_size`` bytes.

    Raises WindowSizeError for a window of part of a page, a negative or a too large one.
    """
    most = pages_to_kib(MAX_WINDOW, page_size)
    if not 0 <= kib <= most:
        raise WindowSizeError(
            f"a window of {kib} KiB is out of range",
            f"give KiB from 0 to {most}, in multiples of {page_size // KIB}",
        )
    return whole_pages(kib, page_size)


def whole_pages(kib: int, page_size: int) -> int:
    """Return a window in KiB as pages; raises WindowSizeError for part of a page."""
    pages, rest = divmod(int(kib) * KIB, page_size)
    if rest:
        below, above = (pages_to_kib(count, page_size) for count in (pages, pages + 1))
        raise WindowSizeError(
            f"a window of {kib} KiB is not a multiple of the page size, {page_size // KIB} KiB: "
            "the kernel would round it down",
            f"give {below} or {above} KiB",
        )
    return pages


def emulated_pages(kib: int, page_size: int) -> int:
    """Return a window in KiB as pages: rounded down, and at most the largest that is emulated."""
    return min(kib_to_pages(kib, page_size), MAX_WINDOW)


def all_pages_of(kibs: Kibs, page_size: int) -> list[int]:
    """Return windows in KiB as pages; raises WindowSizeError as ``pages_of``, and for no window."""
    if len(kibs) == 0:  # an array has no truth value
        raise WindowSizeError("the list of windows is empty", "give at least one window in KiB")
    return [pages_of(kib, page_size) for kib in kibs]
