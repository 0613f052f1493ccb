"""The input of the emulation: an application's operations, its files, and the device."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from functools import cached_property

import numpy as np
import numpy.typing as npt


class Op(IntEnum):
    """The kind of an operation; the comment lists the columns it uses."""

    OPEN = 0  # handle: a new struct file
    READ = 1  # handle, at: byte position, length: bytes
    FAULT = 2  # mapping, at: page index in the file; length: 1 if it writes
    NORMAL = 3  # handle: POSIX_FADV_NORMAL, and so on
    SEQUENTIAL = 4
    RANDOM = 5
    WILLNEED = 6  # handle, at: first page, length: pages
    SINGLE = 7  # handle: row of the file, at: a page that is read singly, if it is absent
    PRESENT = 8  # handle: row of the file, at, length: pages that are there from now on, unread


ADVICE = (Op.NORMAL, Op.SEQUENTIAL, Op.RANDOM)  # to a struct file, again and again the same


class MapFlag(IntFlag):
    """Properties of a mapping that matter to readahead (vm_flags)."""

    EXEC = 1
    SEQUENTIAL = 2  # MADV_SEQUENTIAL
    RANDOM = 4  # MADV_RANDOM
    HUGE = 8  # MADV_HUGEPAGE
    SHARED = 16  # MAP_SHARED


class Cause(IntEnum):
    """The kernel's rule that read a page."""

    ALONE = 0  # by itself: nothing was read ahead
    ASKED = 1  # exactly the pages of a read(2), which is not sequential
    SEQUENTIAL = 2  # a sequential read begins, or leaves its window
    HISTORY = 3  # cached pages before a miss: taken for a sequential read
    MARKER = 4  # the next window, at a marked page (up to 2.6.22: the ahead window)
    AROUND = 5  # around a page fault
    EXEC = 6  # from a fault in executable code on (6.17)
    HUGE = 7  # a fault where huge pages were asked for
    ADVICE = 8  # fadvise, madvise, readahead
    BLOCK = 9  # the other pages of a compressed block


OPERATION = np.dtype(
    [("op", "u1"), ("handle", "u4"), ("mapping", "u4"), ("at", "u8"), ("length", "u8")],
    align=True,
)
# start and pages: the mapped part of the file; address: first virtual page number.
MAPPING = np.dtype(
    [("handle", "u4"), ("start", "u8"), ("pages", "u8"), ("address", "u8"), ("flags", "u1")],
    align=True,
)
# size in bytes, -1 if unknown; block_pages: pages that a squashfs block fills, else 0.
# window: pages, if the file system has its own one (UBIFS: 0); -1: the device's.
FILE = np.dtype(
    [("size", "i8"), ("large_folios", "u1"), ("block_pages", "u4"), ("window", "i4")], align=True
)


@dataclass(frozen=True, eq=False)
class Program:
    """Operations in time order, with the rows they refer to.

    ``operations`` (OPERATION), ``mappings`` (MAPPING) and ``files`` (FILE) are structured
    arrays; ``handles`` (u4) is the file row of each struct file.
    """

    operations: npt.NDArray[np.void]
    mappings: npt.NDArray[np.void]
    handles: npt.NDArray[np.uint32]
    files: npt.NDArray[np.void]

    def file_of_operations(self) -> npt.NDArray[np.int64]:
        """Return the file row of each operation; -1 where it refers to no row.

        The array is computed once, and is not to be changed.
        """
        return self._file_of_operations

    @cached_property
    def _file_of_operations(self) -> npt.NDArray[np.int64]:
        op, row = self.operations["op"], self.operations["handle"]
        of_mapping = _at(self.mappings["handle"], self.operations["mapping"])
        handle = np.where(op == Op.FAULT, of_mapping, row.astype(np.int64))
        direct = (op == Op.SINGLE) | (op == Op.PRESENT)
        return np.where(direct, row, _at(self.handles, handle))


def _at(values: npt.NDArray[np.uint32], rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return values by row, -1 where there is no such row."""
    exists = (rows >= 0) & (rows < len(values))
    by_row = np.full(len(rows), -1, np.int64)
    by_row[exists] = values[rows[exists]]
    return by_row


@dataclass(frozen=True)
class Machine:
    """Kernel settings by the application: sizes are in pages unless noted.

    ``io_pages`` is the device's largest request (max_sectors_kb); ``fault_around`` the pages of
    fault_around_bytes; ``exec_order`` that of executable folios (arm64: 64 KiB).
    ``table_pages`` are the pages of one last-level page table, as large as a PMD. ``credit_ns`` is
    the credit of a thread that wakes, in computing (0: threads take turns). ``cache_pages`` are
    the pages of files that memory holds before the kernel reclaims (0: all); with ``generations``
    it reclaims by the multi-generational lists, where it has them. ``code_stays``: code that was
    touched is taken to be used again and again; else the operations have all uses.
    """

    page_size: int = 4096
    io_pages: int = 320
    fault_around: int = 16
    table_pages: int = 512
    exec_order: int = 0
    credit_ns: int = 0
    cache_pages: int = 0
    generations: bool = False
    code_stays: bool = True


@dataclass
class Outcome:
    """The kernel's actions at one window.

    ``inserts`` are the folios (file, index, order, run) in order of insertion. Those of one ``run``
    (numbered from 0) were read by one ->readahead or ->read_folio call with its own plug.
    ``windows`` are the readahead decisions (file, start, size, async size) before end of file and
    cached pages cut them: the arguments of ra_submit and page_cache_ra_order. ``causes`` are the
    rules (Cause) that the inserts follow. ``empty`` are the runs of pages after the end of a file,
    for which nothing was read.
    """

    inserts: list[tuple[int, int, int, int]] = field(default_factory=list)
    runs: int = 0
    windows: list[tuple[int, int, int, int]] = field(default_factory=list)
    causes: list[Cause] = field(default_factory=list)
    empty: set[int] = field(default_factory=set)
