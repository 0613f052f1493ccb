"""The requests and unused pages of a fixed window, by file.

The 2010 paper's model (section 2.3) for one window, keeping the page sets that the emulator's
all-windows pass does not keep: a miss on page p reads pages p to p + window inclusive, clipped
at the end of the file; a page already read is not a miss and is not read again.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from foreread.analyzer.ingest.recording import Recording

Ints = npt.NDArray[np.int64]

NEVER = np.iinfo(np.int64).max
MAX_PAGE = 1 << 52  # MAX_LFS_FILESIZE in pages: keeps sums of damaged indices within int64


@dataclass(frozen=True)
class Waste:
    """Requests and unused pages by file, and each run of unused pages.

    ``requests`` and ``wasted`` have one entry a row of the files table. The ``run_*`` arrays
    describe runs of consecutive pages of one file read and never accessed: row of the files
    table, first page, number of pages (at least 1), time of the request that read them.
    """

    window: int  # pages
    requests: Ints
    wasted: Ints
    run_file: Ints
    run_page: Ints
    run_pages: Ints
    run_ns: Ints


def waste(recording: Recording, window: int) -> Waste:
    """Emulate a fixed ``window`` (pages) over ``recording``'s accesses, in their order.

    A file whose size is unknown is not clipped. Source: 2010 paper, section 2.3 and figure 1.
    """
    accesses = recording.accesses
    file = accesses["file"].astype(np.int64)
    page = np.minimum(accesses["page"], MAX_PAGE).astype(np.int64)
    missed = _misses(file, page, window)
    requests = np.bincount(file[missed], minlength=recording.files.rows).astype(np.int64)

    order = np.lexsort((page, file))
    source = _last_miss(missed[order])
    time_ns = accesses["time_ns"].astype(np.int64)[order][source]
    file, page = file[order], page[order]
    last_read = np.minimum(page[source] + window, _last_page(recording, file, page)[file])
    run = np.minimum(last_read, _next_accessed(file, page) - 1) - page
    some = run > 0
    wasted = np.zeros(recording.files.rows, np.int64)
    np.add.at(wasted, file[some], run[some])
    return Waste(
        window=window,
        requests=requests,
        wasted=wasted,
        run_file=file[some],
        run_page=page[some] + 1,
        run_pages=run[some],
        run_ns=time_ns[some],
    )


def _misses(file: Ints, page: Ints, window: int) -> npt.NDArray[np.bool_]:
    """Return which accesses miss: no earlier miss in the same file within ``window`` below."""
    started: dict[int, list[int]] = {}
    missed = np.zeros(len(file), bool)
    for row, (f, p) in enumerate(zip(file.tolist(), page.tolist(), strict=True)):
        starts = started.setdefault(f, [])
        below = bisect_right(starts, p)
        if below and p - starts[below - 1] <= window:
            continue
        insort(starts, p)
        missed[row] = True
    return missed


def _last_miss(missed: npt.NDArray[np.bool_]) -> Ints:
    """Return, in file and page order, the row of the nearest miss at or below each row."""
    # The lowest page accessed in a file is always a miss, so no row refers to another file.
    return np.maximum.accumulate(np.where(missed, np.arange(len(missed)), 0))


def _next_accessed(file: Ints, page: Ints) -> Ints:
    """Return, in file and page order, the next page accessed in the same file."""
    following = np.full(len(page), NEVER)
    following[:-1] = np.where(file[1:] == file[:-1], page[1:], NEVER)
    return following


def _last_page(recording: Recording, file: Ints, page: Ints) -> Ints:
    """Return the last page index of each file; for an unknown size, an unreachable one.

    A page accessed beyond the known size proves a longer file (emulator.fixed_window's rule).
    """
    size = recording.files["size_bytes"]
    last = np.where(size < 0, NEVER, (size - 1) // recording.page_size)
    np.maximum.at(last, file, page)
    return last
