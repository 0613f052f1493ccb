"""The operations of a recording while they are written down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from analyzer.ingest.tables import Array
from analyzer.replay.images import UNKNOWN, Area, Handle
from emulator.linux.operations import MAPPING, OPERATION, Op, Program

Row = tuple[int, int, int, int, int]
Timed = tuple[int, Row]  # when (ns), OPERATION
MOST_PAGES = 1 << 20  # of one operation: no read(2) and no advice brings in more


class Draft:
    """Rows of a Program on ``files`` (FILE), and which pages its operations touch.

    ``holes`` are (file row, page) that were read without I/O; ``assumed`` counts what was not
    in the recording.
    """

    def __init__(self, files: Array, page_size: int) -> None:
        self.files = files
        self.page_size = page_size
        self.assumed: Counter[str] = Counter()
        self.holes: list[tuple[int, int]] = []
        self.now_ns = 0  # when what is added now was done
        self._rows: list[Timed] = []
        self._handles: list[int] = []
        self._mappings: list[Row] = []  # MAPPING
        self._touched: set[tuple[int, int]] = set()
        self._advised: set[tuple[int, int]] = set()
        self._inserted: set[tuple[int, int]] = set()
        self._told: set[int] = set()  # files of which the recording says what was cached
        self._resident: set[tuple[int, int]] = set()  # before the run, as it says
        self._cached: set[tuple[int, int]] = set()  # before the run, by what was mapped
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
        """Add a read(2); return where it ended."""
        self._add(Op.READ, handle.row, 0, position, count)
        size = int(self.files["size"][file])
        end = position + count if size < 0 else min(position + count, size)
        self._touch(file, position // self.page_size, -(-end // self.page_size))
        return end

    def fault(self, area: Area, file: int, page: int) -> int:
        """Add a fault on a mapped page, which reads; return its row."""
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
        """Say of a fault that it writes."""
        time, (op, handle, mapping, page, _) = self._rows[row]
        self._rows[row] = time, (op, handle, mapping, page, 1)

    def advise(self, op: Op, handle: Handle) -> None:
        """Add lasting advice."""
        self._add(op, handle.row, 0, 0, 0)

    def willneed(self, handle: Handle, file: int, page: int, pages: int) -> None:
        """Add advice that reads; the kernel may take only a part of it.

        So a page of it that did not come in need not have been there before.
        """
        self._add(Op.WILLNEED, handle.row, 0, page, pages)
        end = min(page + pages, self.pages_of(file), page + MOST_PAGES)
        self._advised.update((file, one) for one in range(page, end))

    def present(self, file: int, page: int) -> None:
        """Add a page that is there from now on, without a read."""
        self._add(Op.PRESENT, file, 0, page, 1)
        self._touch(file, page, page + 1)

    def inserted(self, file: int, page: int, pages: int) -> None:
        """Note that pages entered the page cache."""
        self._inserted.update((file, one) for one in range(page, page + pages))

    def cached(self, file: int, runs: Iterable[tuple[int, int]]) -> None:
        """Note which pages of a file were cached when the run began: (first, pages), no others."""
        self._told.add(file)
        end = min(max(self.pages_of(file), 0) or MOST_PAGES, MOST_PAGES)
        for first, pages in runs:
            self._resident.update((file, one) for one in range(first, min(first + pages, end)))

    def mapped(self, file: int, first: int, end: int) -> None:
        """Note that fault-around mapped pages: if none of them was read, others were cached.

        Which ones the kernel does not tell. Whoever mapped them before had them mapped in the same
        blocks, so that all are taken to be there, but for those that are read later.
        """
        if file in self._told:
            return
        pages = self.pages_of(file)
        around = {(file, one) for one in range(first, min(end, pages) if pages > 0 else end)}
        if not around & self._inserted:
            self._cached |= around

    def single(self, file: int, page: int) -> None:
        """Add a page that is read by itself, such as that of a symbolic link."""
        self._add(Op.SINGLE, file, 0, page, 1)
        self._touch(file, page, page + 1)

    def unexplained(self, file: int, page: int) -> None:
        """Note a page that was read here; perhaps an operation before or behind touches it."""
        self._loose.append((len(self._rows), self.now_ns, file, page))

    def has(self, file: int, page: int) -> bool:
        """Return whether a page has entered the page cache."""
        return (file, page) in self._inserted

    def pages_of(self, file: int) -> int:
        """Return the pages of a file; below 1 if its size is unknown."""
        return -(-int(self.files["size"][file]) // self.page_size)

    def program(self) -> tuple[Program, Array]:
        """Return what was written down, and when each operation was done (u8, ns).

        The time is 0 for pages that were there before the run.
        """
        rows = [*self._before(), *self._with_loose()]
        program = Program(
            np.array([row for _, row in rows], OPERATION),
            np.array(self._mappings, MAPPING),
            np.array(self._handles, np.uint32),
            self.files,
        )
        return program, np.array([time for time, _ in rows], np.uint64)

    def _add(self, op: Op, handle: int, mapping: int, at: int, length: int) -> None:
        self._rows.append((self.now_ns, (op, handle, mapping, at, length)))

    def _touch(self, file: int, page: int, end: int) -> None:
        end = min(end, page + MOST_PAGES)
        self._touched.update((file, one) for one in range(page, end))

    def _before(self) -> list[Timed]:
        """Return the pages that were there before the run: told, or used and never inserted."""
        pages = (self._touched | self._cached | self._resident) - self._inserted
        found = len(self._cached - self._touched - self._inserted)
        if found:
            self.assumed["pages cached before, next to one that was"] = found
        return [(0, (Op.PRESENT, file, 0, page, 1)) for file, page in sorted(pages)]

    def _with_loose(self) -> list[Timed]:
        """Return the operations, with single reads of the pages that none of them touches."""
        found: list[Timed] = []
        done = 0
        for at, time, file, page in self._loose:
            if (file, page) not in self._touched and (file, page) not in self._advised:
                found += self._rows[done:at]
                done = at
                found.append((time, (Op.SINGLE, file, 0, page, 1)))
                self._touched.add((file, page))
                self.assumed["read singly, how is not known"] += 1
        return found + self._rows[done:]
