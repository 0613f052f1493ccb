"""The operations of a recording as they are collected."""

from __future__ import annotations

from collections import Counter

import numpy as np

from foreread.analyzer.program.build import Assumed, Followed
from foreread.analyzer.program.evidence import MOST_PAGES, Evidence, FileFlag
from foreread.analyzer.reference.images import UNKNOWN, Area, Handle
from foreread.emulator.linux.operations import MAPPING, OPERATION, Op

Row = tuple[int, int, int, int, int]
Timed = tuple[int, Row]  # when (ns), OPERATION


class Draft:
    """The operations that follow from evidence, and the pages that they touch."""

    def __init__(self, evidence: Evidence) -> None:
        self.page_size = evidence.page_size
        self.assumed: Counter[Assumed] = Counter()
        self.holes: list[tuple[int, int]] = []
        self.now_ns = 0  # time of the operations added now
        self._rows: list[Timed] = []
        self._handles: list[int] = []
        self._mappings: list[Row] = []  # MAPPING
        self._touched: set[tuple[int, int]] = set()
        self._advised: set[tuple[int, int]] = set()
        self._inserted: set[tuple[int, int]] = set()
        self._sizes: list[int] = evidence.sizes.tolist()
        self._flags: list[int] = evidence.flags.tolist()
        self._resident: set[tuple[int, int]] = set()  # before the run, by the recording
        self._cached: set[tuple[int, int]] = set()  # before the run, inferred from mapped pages
        self._loose: list[tuple[int, int, int, int]] = []  # inserts: row, time, file, page

    def open(self, file: int) -> Handle:
        """Return a new struct file."""
        handle = Handle(UNKNOWN)
        self.know(handle, file)
        return handle

    def know(self, handle: Handle, file: int) -> None:
        """Give a struct file its row once its file is known."""
        handle.row, handle.file = len(self._handles), file
        self._handles.append(file)
        if handle.advice is not None:
            self.advise(Op(handle.advice), handle)

    def read(self, handle: Handle, file: int, position: int, count: int) -> int:
        """Add a read(2); return the position of its end."""
        self._add(Op.READ, handle.row, 0, position, count)
        size = self._sizes[file]
        end = position + count if size < 0 else min(position + count, size)
        self._touch(file, position // self.page_size, -(-end // self.page_size))
        return end

    def fault(self, area: Area, file: int, page: int) -> int:
        """Add a read fault on a mapped page; return its row."""
        if area.handle.row < 0:
            self.know(area.handle, file)
        if area.row is None:
            area.row = len(self._mappings)
            pages = area.end - area.first
            row = (area.handle.row, area.start, pages, area.first, int(area.flags))
            self._mappings.append(row)
        self._add(Op.FAULT, 0, area.row, page, 0)
        self._touch(file, page, page + 1)
        return len(self._rows) - 1

    def writes(self, row: int) -> None:
        """Change a fault to a write fault."""
        time, (op, handle, mapping, page, _) = self._rows[row]
        self._rows[row] = time, (op, handle, mapping, page, 1)

    def advise(self, op: Op, handle: Handle) -> None:
        """Add lasting advice."""
        self._add(op, handle.row, 0, 0, 0)

    def willneed(self, handle: Handle, file: int, page: int, pages: int) -> None:
        """Add advice that reads; the kernel may read only a part of it.

        So a page of it that did not come in was not necessarily cached before.
        """
        self._add(Op.WILLNEED, handle.row, 0, page, pages)
        end = min(page + pages, self.pages_of(file), page + MOST_PAGES)
        self._advised.update((file, index) for index in range(page, end))

    def present(self, file: int, page: int) -> None:
        """Add a page that is cached from now on, without a read."""
        self._add(Op.PRESENT, file, 0, page, 1)
        self._touch(file, page, page + 1)

    def inserted(self, file: int, page: int, pages: int) -> None:
        """Record that pages entered the page cache."""
        self._inserted.update((file, index) for index in range(page, page + pages))

    def cached(self, file: int, first: int, end: int) -> None:
        """Record pages of a file that were cached when the run began."""
        self._resident.update((file, index) for index in range(first, end))

    def mapped(self, file: int, first: int, end: int) -> None:
        """Record that fault-around mapped pages: if none of them was read, they were cached.

        The kernel does not report which ones. An earlier mapping mapped the same blocks, so all
        pages are assumed to be cached except for pages that are read later.
        """
        if self._flags[file] & FileFlag.CACHED_KNOWN:
            return
        pages = self.pages_of(file)
        around = {(file, index) for index in range(first, min(end, pages) if pages > 0 else end)}
        if not around & self._inserted:
            self._cached |= around

    def single(self, file: int, page: int) -> None:
        """Add a page that is read alone, such as the page of a symbolic link."""
        self._add(Op.SINGLE, file, 0, page, 1)
        self._touch(file, page, page + 1)

    def unexplained(self, file: int, page: int) -> None:
        """Record a page that was read here; an operation before or after may touch it."""
        self._loose.append((len(self._rows), self.now_ns, file, page))

    def has(self, file: int, page: int) -> bool:
        """Return whether a page has entered the page cache."""
        return (file, page) in self._inserted

    def pages_of(self, file: int) -> int:
        """Return the pages of a file; below 1 if its size is unknown."""
        return -(-self._sizes[file] // self.page_size)

    def followed(self) -> Followed:
        """Return the operations and the assumptions."""
        rows = [*self._before(), *self._with_loose()]
        return Followed(
            np.array([row for _, row in rows], OPERATION),
            np.array([time for time, _ in rows], np.uint64),
            np.array(self._mappings, MAPPING),
            np.array(self._handles, np.uint32),
            self.holes,
            dict(self.assumed),
        )

    def _add(self, op: Op, handle: int, mapping: int, at: int, length: int) -> None:
        self._rows.append((self.now_ns, (op, handle, mapping, at, length)))

    def _touch(self, file: int, page: int, end: int) -> None:
        end = min(end, page + MOST_PAGES)
        self._touched.update((file, index) for index in range(page, end))

    def _before(self) -> list[Timed]:
        """Return the pages cached before the run: recorded so, or used and never inserted."""
        pages = (self._touched | self._cached | self._resident) - self._inserted
        inferred = len(self._cached - self._touched - self._inserted)
        if inferred:
            self.assumed[Assumed.NEIGHBOURS] = inferred
        runs: list[list[int]] = []
        for file, page in sorted(pages):
            if runs and runs[-1][0] == file and runs[-1][2] == page:
                runs[-1][2] += 1
            else:
                runs.append([file, page, page + 1])
        return [(0, (Op.PRESENT, file, 0, first, end - first)) for file, first, end in runs]

    def _with_loose(self) -> list[Timed]:
        """Return the operations, with single reads of the pages that no operation touches."""
        operations: list[Timed] = []
        done = 0
        for at, time, file, page in self._loose:
            if (file, page) not in self._touched and (file, page) not in self._advised:
                operations += self._rows[done:at]
                done = at
                operations.append((time, (Op.SINGLE, file, 0, page, 1)))
                self._touched.add((file, page))
                self.assumed[Assumed.SINGLY] += 1
        return operations + self._rows[done:]
