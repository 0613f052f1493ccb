"""Runs the recorded touches through the emulation of the machine's readahead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from foreread.analyzer.top.seen import Page, Seen, Touch
from foreread.emulator.linux.operations import FILE, MAPPING, OPERATION, Op, Program
from foreread.emulator.linux.requests import EXTENT
from foreread.emulator.linux.windows import Emulation

_MOST_PAGES = 1 << 19  # of one read(2): the kernel gives 2 GiB at most (MAX_RW_COUNT)


@dataclass(frozen=True)
class Fates:
    """The fate of pages under the emulation, each with the thread that caused it.

    ``hits``: touched, and read ahead before. ``missed``: touched, and read for this touch.
    ``unused``: read ahead, and not touched yet. The kernel has read all of them.
    """

    hits: dict[Page, int]
    missed: dict[Page, int]
    unused: dict[Page, int]

    @property
    def pages(self) -> int:
        """The number of pages that both the emulation and the kernel read."""
        return len(self.hits) + len(self.missed) + len(self.unused)


def fates(seen: Seen) -> Fates:
    """Return the fates of all pages of the touches so far."""
    if not seen.touches:
        return Fates({}, {}, {})
    # Readahead reads every absent page of its window: a page that it did not read was cached.
    cached: set[Page] = set()
    brought = _brought(seen, cached)
    cached = brought.keys() - seen.read_by.keys()
    if cached:
        brought = _brought(seen, cached)
    brought = {page: by for page, by in brought.items() if page in seen.read_by}
    hits: dict[Page, int] = {}
    missed: dict[Page, int] = {}
    for number, touch in enumerate(seen.touches):
        for page in _touched(seen, touch):
            by = brought.get(page)
            if by is None or page in hits or page in missed:
                continue  # it was cached before, or is touched again
            (hits if by < number else missed)[page] = touch.thread
    unused = {
        page: seen.touches[by].thread
        for page, by in brought.items()
        if page not in hits and page not in missed
    }
    return Fates(hits, missed, unused)


def _touched(seen: Seen, touch: Touch) -> Iterator[Page]:
    """Yield the pages that an operation accesses."""
    if touch.mapped:
        yield from ((touch.row, page) for page in touch.mapped)
        return
    end = min(touch.page + min(touch.pages, _MOST_PAGES), seen.last[touch.row] + 1)
    yield from ((touch.row, page) for page in range(touch.page, end))


def _operations(
    seen: Seen, cached: set[Page]
) -> tuple[list[tuple[int, int, int, int, int]], list[int]]:
    """Return the operations (OPERATION) and the touch of each; pages ``cached`` before come first.

    A touched page without an insert was cached, too.
    """
    page_size = seen.watched.machine.page_size
    handles = _handles(seen)
    rows = [(int(Op.PRESENT), row, 0, page, 1) for row, page in cached]
    touch_of = [0] * len(rows)
    known_pages = cached | seen.read_by.keys()
    for number, touch in enumerate(seen.touches):
        for page in _touched(seen, touch):
            if page not in known_pages:
                known_pages.add(page)
                rows.append((int(Op.PRESENT), page[0], 0, page[1], 1))
                touch_of.append(number)
        handle = handles[touch.row, touch.thread]
        if touch.op == Op.READ:
            at, length = touch.page * page_size, touch.pages * page_size
            rows.append((int(Op.READ), handle, 0, at, length))
        else:
            rows.append((int(Op.FAULT), 0, handle, touch.page, 0))
        touch_of.append(number)
    return rows, touch_of


def _handles(seen: Seen) -> dict[tuple[int, int], int]:
    """Return a number for each pair of file row and thread: its handle and mapping."""
    pairs = dict.fromkeys((touch.row, touch.thread) for touch in seen.touches)
    return {pair: number for number, pair in enumerate(pairs)}


def _brought(seen: Seen, cached: set[Page]) -> dict[Page, int]:
    """Return for each page the touch that makes the emulation read the page."""
    operations, touch_of = _operations(seen, cached)
    handles = _handles(seen)
    of_handle = np.array([row for row, _ in handles], np.uint32)
    mappings = np.zeros(len(handles), MAPPING)
    mappings["handle"] = np.arange(len(handles))
    mappings["pages"] = np.array(seen.last)[of_handle] + 1
    program = Program(np.array(operations, OPERATION), mappings, of_handle, _files(seen))
    watched = seen.watched
    emulation = Emulation(
        program,
        watched.rules,
        watched.machine,
        watched.limits,
        np.zeros(0, EXTENT),
        np.zeros(len(seen.inodes), np.uint32),
    )
    brought: dict[Page, int] = {}
    names = ("file", "index", "order", "operation")
    inserts = emulation.inserts(0)  # each file has its own window
    for row, index, order, operation in zip(*(inserts[n].tolist() for n in names), strict=True):
        for page in range(index, index + (1 << order)):
            brought[row, page] = touch_of[operation]
    return brought


def _files(seen: Seen) -> np.ndarray:
    """Return the FILE table.

    A file ends after its last page seen: further readahead would have shown more pages.
    """
    page_size = seen.watched.machine.page_size
    systems = [seen.watched.file_systems[dev] for dev, _ in seen.inodes]
    rows = [
        (
            (last + 1) * page_size,
            file_system.large_folios,
            file_system.block_pages,
            file_system.window,
        )
        for file_system, last in zip(systems, seen.last, strict=True)
    ]
    return np.array(rows, FILE)
