"""The fixed-window model, plain and slow, for core/fixed/fixed_window.c.

Source: Gorelkina et al., "Prediction of Optimal Readahead Parameter in Linux by Using Monitoring
Tool", Linux Symposium 2010, section 2.3: each request loads the requested page and a window of
pages after it. Additions: the end of the file, and no page is loaded twice.
"""

from __future__ import annotations

from collections.abc import Sequence

Access = tuple[int, int]


def fixed_window_at(
    accesses: Sequence[Access], file_pages: Sequence[int], window: int
) -> tuple[int, int]:
    """Return (requests, distinct pages loaded) of one window.

    ``accesses`` are (file row, page index) in time order; ``file_pages`` are lengths in pages,
    -1 where unknown. A page touched beyond its file's length proves a longer file.
    """
    ends = [_end(accesses, row, pages) for row, pages in enumerate(file_pages)]
    loaded: set[Access] = set()
    requests = 0
    for file, page in accesses:
        if (file, page) not in loaded:
            requests += 1
            end = ends[file]
            stop = page + window + 1 if end is None else min(page + window + 1, end)
            loaded.update((file, index) for index in range(page, stop))
    return requests, len(loaded)


def _end(accesses: Sequence[Access], row: int, pages: int) -> int | None:
    if pages < 0:
        return None
    return max([pages, *(page + 1 for file, page in accesses if file == row)])


def fixed_window(
    accesses: Sequence[Access], file_pages: Sequence[int], max_window: int
) -> tuple[list[int], list[int], int]:
    """Return requests and loaded pages for the windows 0..max_window, and Tap."""
    counts = [fixed_window_at(accesses, file_pages, w) for w in range(max_window + 1)]
    return [f for f, _ in counts], [pages for _, pages in counts], len(set(accesses))
