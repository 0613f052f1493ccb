"""The kernel's page size, learnt from a trace that does not name it.

Offsets of pages are multiples of the page size, and a read fills as many bytes as the pages have
that were inserted before it by the same thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.tables import Array, Kind, Rwbs, Table, of_kinds, order_by

SMALLEST, LARGEST = 1 << 12, 1 << 16  # bytes: those of Linux's architectures with 4 KiB or more
RANGE_KINDS = (Kind.GET_PAGES, Kind.MAP_PAGES)
_SECTOR = 512
_LARGEST_ORDER = 20  # far above any real folio
# Pages by chance at multiples of the next larger size only: fewer than one in 4 ** 8.
_ENOUGH = 8


@dataclass(frozen=True)
class PageSize:
    """``known``: the trace leaves no other size; else it is the likely one."""

    size: int
    known: bool


def is_page_size(size: int) -> bool:
    """Return whether a kernel may have pages of this size."""
    return SMALLEST <= size <= LARGEST and size & (size - 1) == 0


def learn(events: Table, in_bytes: Array) -> PageSize:
    """Return the page size of a trace with positions in bytes in the rows ``in_bytes``.

    Their column ``index`` is where a page begins, ``value`` of a GET_PAGES or MAP_PAGES any byte of
    the last page.
    """
    largest = _largest_divisor(_offsets(events, in_bytes))
    by_reads = of_reads(events)
    if largest == SMALLEST:
        return PageSize(SMALLEST, known=True)
    if by_reads is not None and by_reads <= largest:
        return PageSize(by_reads, known=True)
    # A folio of several pages begins at a multiple of its own size.
    inserted = (events["kind"] == Kind.INSERT) | (events["kind"] == Kind.DELETE)
    single = in_bytes & ~(inserted & (events["value"] > 0))
    if len(np.unique(events["index"][single])) >= _ENOUGH:
        return PageSize(largest, known=False)
    return PageSize(SMALLEST, known=False)


def check(size: int, events: Table, in_bytes: Array) -> None:
    """Raise TraceError if the pages of ``learn``'s events cannot have ``size`` bytes."""
    largest = _largest_divisor(_offsets(events, in_bytes))
    if size > largest:
        raise TraceError(
            f"the trace has no pages of {size} bytes: its offsets are multiples of {largest}",
            f"give the page size of the traced kernel, at most --page-size {largest}",
        )


def _offsets(events: Table, in_bytes: Array) -> Array:
    """Return where pages begin or end."""
    ranges = in_bytes & of_kinds(events, RANGE_KINDS)
    ends = events["value"][ranges]
    return np.concatenate((events["index"][in_bytes], ends + (ends & np.uint64(1))))


def of_reads(events: Table) -> int | None:
    """Return the page size at which most reads fill the inserts before them; None without one.

    A read counts if the thread that inserted queued or else issued it right after the insert.
    """
    kind, flags = events["kind"], events["flags"]
    reads = (flags & Rwbs.READ > 0) & (flags & Rwbs.META == 0)
    queued = reads & (kind == Kind.BIO_QUEUE)
    chosen = queued if queued.any() else reads & (kind == Kind.RQ_ISSUE)
    rows = np.flatnonzero(chosen | (kind == Kind.INSERT))
    rows = rows[order_by(events["pid"][rows])]
    if not len(rows):
        return None
    pid, is_read = events["pid"][rows], chosen[rows]
    starts = np.flatnonzero(np.append(True, (np.diff(pid) != 0) | (np.diff(is_read) != 0)))
    value = events["value"][rows]
    order = np.minimum(value, _LARGEST_ORDER).astype(np.int64)
    pages = np.add.reduceat(np.where(is_read, 0, np.int64(1) << order), starts)
    octets = np.add.reduceat(np.where(is_read, value * _SECTOR, 0).astype(np.int64), starts)
    follows = (pages[:-1] > 0) & (octets[1:] > 0) & (pid[starts[:-1]] == pid[starts[1:]])
    sizes, counts = np.unique(octets[1:][follows] / pages[:-1][follows], return_counts=True)
    if not len(sizes):
        return None
    most = int(np.argmax(counts))
    usual = sizes[most].is_integer() and is_page_size(int(sizes[most]))
    return int(sizes[most]) if usual and 2 * counts[most] > counts.sum() else None


def _largest_divisor(offsets: Array) -> int:
    """Return the largest page size of which all offsets are multiples; at least the smallest."""
    common = int(np.gcd.reduce(offsets)) if len(offsets) else 0
    return max(min(common & -common or LARGEST, LARGEST), SMALLEST)
