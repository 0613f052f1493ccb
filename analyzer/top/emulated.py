"""The touches, run through the emulation of the machine's readahead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analyzer.top.seen import Page, Seen, Touch
from emulator.linux.operations import FILE, MAPPING, OPERATION, Op, Program
from emulator.linux.requests import EXTENT
from emulator.linux.windows import Emulation

_MOST_PAGES = 1 << 19  # of one read(2): the kernel gives 2 GiB at most (MAX_RW_COUNT)


@dataclass(frozen=True)
class Fates:
    """What becomes of pages under the emulation, each by the thread that caused it.

    ``hits``: touched, and read ahead before. ``missed``: touched, and read for this touch.
    ``unused``: read ahead, and not touched yet. The kernel has read all of them.
    """

    hits: dict[Page, int]
    missed: dict[Page, int]
    unused: dict[Page, int]

    @property
    def pages(self) -> int:
        """Return the number of pages that the emulation and the kernel both read."""
        return len(self.hits) + len(self.missed) + len(self.unused)


def fates(seen: Seen) -> Fates:
    """Return what the emulation of the machine's readahead makes of all touches so far."""
    if not seen.touches:
        return Fates({}, {}, {})
    # Readahead reads every absent page of its window: one that the kernel did not read was cached.
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
    """Yield the pages that an operation gets."""
    if touch.mapped:
        yield from ((touch.row, page) for page in touch.mapped)
        return
    end = min(touch.page + min(touch.pages, _MOST_PAGES), seen.last[touch.row] + 1)
    yield from ((touch.row, page) for page in range(touch.page, end))


def _operations(
    seen: Seen, cached: set[Page]
) -> tuple[list[tuple[int, int, int, int, int]], list[int]]:
    """Return the operations (OPERATION) and the touch of each; pages ``cached`` before come first.

    A page that is touched, and that no insert was seen of, was cached, too.
    """
    page_size = seen.watched.machine.page_size
    handles = _handles(seen)
    rows = [(int(Op.PRESENT), row, 0, page, 1) for row, page in cached]
    touch_of = [0] * len(rows)
    known = cached | seen.read_by.keys()
    for number, touch in enumerate(seen.touches):
        for page in _touched(seen, touch):
            if page not in known:
                known.add(page)
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
    """Number the files as opened, and mapped, by each thread."""
    pairs = dict.fromkeys((touch.row, touch.thread) for touch in seen.touches)
    return {pair: number for number, pair in enumerate(pairs)}


def _brought(seen: Seen, cached: set[Page]) -> dict[Page, int]:
    """Return the touch for which the emulation reads each page."""
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
    """Return the FILE table. A file ends after the last page that was seen of it: readahead that
    had gone on would have been seen."""
    page_size = seen.watched.machine.page_size
    systems = [seen.watched.file_systems[dev] for dev, _ in seen.inodes]
    rows = [
        ((last + 1) * page_size, one.large_folios, one.block_pages, one.window)
        for one, last in zip(systems, seen.last, strict=True)
    ]
    return np.array(rows, FILE)
