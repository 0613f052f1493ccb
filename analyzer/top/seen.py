"""The pages that were read and touched so far."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from foreread.analyzer.ingest.inserts import find_inserts
from foreread.analyzer.ingest.tables import Kind, Table
from foreread.analyzer.top.machine import Watched
from foreread.emulator.linux.operations import Op

# Limits of stored operations and pages: some 50 MB. Beyond them the figures begin anew.
MOST_OPERATIONS = 200_000
MOST_PAGES = 1_000_000
_LAST_PAGE = (1 << 36) - 2  # larger pages of a damaged trace are ignored
_TOUCHES = frozenset({Kind.FAULT, Kind.GET_PAGES, Kind.MAP_PAGES})
Inode = tuple[int, int]  # dev_t, inode number
Page = tuple[int, int]  # row of the file, page index


@dataclass(frozen=True, slots=True)
class Touch:
    """An operation of a thread on a file: a read (``op`` READ) or a page fault (FAULT).

    ``page`` is its first page, ``pages`` their number; ``mapped`` are pages that fault-around
    mapped.
    """

    op: Op
    row: int
    thread: int
    page: int
    pages: int
    mapped: tuple[int, ...] = ()


@dataclass
class Seen:
    """The pages that were read and touched so far.

    Rows number the files. A file with pages that are read again has left the page cache, and gets
    another row.
    """

    watched: Watched
    inodes: list[Inode] = field(default_factory=list)
    touches: list[Touch] = field(default_factory=list)
    read_by: dict[Page, int] = field(default_factory=dict)  # the thread that inserted it
    last: list[int] = field(default_factory=list)  # last page seen, by row
    _row: dict[Inode, int] = field(default_factory=dict)
    _reads: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        """Whether the limits are reached and the figures must begin anew."""
        return len(self.touches) > MOST_OPERATIONS or len(self.read_by) > MOST_PAGES

    def add(self, events: Table) -> Counter[tuple[int, int]]:
        """Add the events of an interval; return the pages read, by (row, thread)."""
        pages = self._pages_of_inserts(events)
        read: Counter[tuple[int, int]] = Counter()
        names = ("kind", "dev", "ino", "index", "value", "pid")
        rows = zip(*(events[name].tolist() for name in names), strict=True)
        for at, (kind, dev, ino, index, value, thread) in enumerate(rows):
            if dev not in self.watched.file_systems or index >= _LAST_PAGE:
                continue
            if kind == Kind.INSERT:
                for page in range(index, index + pages.get(at, 0)):
                    read[self._insert((dev, ino), page, thread), thread] += 1
            elif kind in _TOUCHES:
                self._touch(kind, self._file((dev, ino)), index, value, thread)
        return read

    def _pages_of_inserts(self, events: Table) -> dict[int, int]:
        """Return the pages that each insert (row of the events) read from a disk."""
        fstypes = {
            dev: file_system.fstype for dev, file_system in self.watched.file_systems.items()
        }
        page_size = self.watched.machine.page_size
        disks = {disk: disk for disk in self.watched.disks}
        blocks = {
            dev: file_system.block_pages
            for dev, file_system in self.watched.file_systems.items()
            if file_system.block_pages
        }
        inserts = find_inserts(events, page_size, fstypes, disks=disks, block_pages=blocks)
        return dict(zip(inserts.row.tolist(), inserts.pages.tolist(), strict=True))

    def _file(self, inode: Inode) -> int:
        if inode not in self._row:
            self._row[inode] = len(self.inodes)
            self.inodes.append(inode)
            self.last.append(0)
        return self._row[inode]

    def _insert(self, inode: Inode, page: int, thread: int) -> int:
        row = self._file(inode)
        if (row, page) in self.read_by:
            del self._row[inode]
            row = self._file(inode)
        self.read_by[row, page] = thread
        self.last[row] = max(self.last[row], page)
        return row

    def _touch(self, kind: int, row: int, index: int, value: int, thread: int) -> None:
        if kind == Kind.MAP_PAGES:
            # The event names the pages around the fault, cached or not.
            around = range(index, min(value, index + 1024) + 1)
            mapped = tuple(page for page in around if (row, page) in self.read_by)
            if mapped:
                self.touches.append(Touch(Op.FAULT, row, thread, mapped[0], 1, mapped))
            return
        self.last[row] = max(self.last[row], index)
        if kind == Kind.FAULT:
            self.touches.append(Touch(Op.FAULT, row, thread, index, 1))
            return
        before = self._reads.get((row, thread))
        self._reads[row, thread] = (index, value)
        # One read(2) of many pages is several events with the same end (filemap_get_pages).
        if before is None or before[1] != value or before[0] >= index:
            pages = max(min(value, _LAST_PAGE) - index + 1, 1)
            self.touches.append(Touch(Op.READ, row, thread, index, pages))
