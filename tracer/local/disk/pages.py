"""The cost of adding a page to the page cache: reads through it compared with reads that bypass it.

A read with O_DIRECT reuses its buffer. One through the page cache allocates each page, inserts it
and unlocks it, whether the application uses it or not; at a large window this is most of the cost
of a wasted page on a fast disk.
"""

from __future__ import annotations

import mmap
import os
import time
from contextlib import ExitStack

from foreread.tracer.formats.disk_probe import PageReads
from foreread.tracer.local.disk.spans import Places

SIZES = (4096, 131072)  # bytes: both contain the cost of the request itself
_ROUNDS = 60
_LONGEST_NS = 150_000_000  # of all rounds; a slower disk hides the cost of a page
_FEWEST_ROUNDS = 20


def read_pages(places: Places) -> list[PageReads]:
    """Read pages of each size both ways, alternating; nothing where the disk is slow.

    Raises OSError if the disk refuses a read.
    """
    if not places.fits(max(SIZES)):
        return []
    end = time.monotonic_ns() + _LONGEST_NS
    direct: dict[int, list[int]] = {size: [] for size in SIZES}
    cached: dict[int, list[int]] = {size: [] for size in SIZES}
    with mmap.mmap(-1, max(SIZES)) as buffer, ExitStack() as stack:
        opened = Opened(stack)
        for _ in range(_ROUNDS):
            for size in SIZES:
                with memoryview(buffer)[:size] as part:
                    direct[size].append(_direct(places, part))
                cached[size].append(_cached(places, size, opened))
            if time.monotonic_ns() > end:
                break
    if len(direct[SIZES[0]]) < _FEWEST_ROUNDS:
        return []
    return [
        PageReads(request_bytes=size, direct_ns=direct[size], cached_ns=cached[size])
        for size in SIZES
    ]


def _direct(places: Places, buffer: memoryview) -> int:
    descriptor, offset = places.random(len(buffer))
    began = time.monotonic_ns()
    os.preadv(descriptor, [buffer], offset)
    return time.monotonic_ns() - began


class Opened:
    """The files of direct descriptors, opened once more for reads through the page cache.

    The pages read stay cached until the stack ends: reusing pages just freed would cost less.
    """

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._files: dict[int, int] = {}

    def file(self, direct: int) -> int:
        """Return the descriptor without O_DIRECT, and without readahead of its own."""
        if direct not in self._files:
            file = os.open(f"/proc/self/fd/{direct}", os.O_RDONLY | os.O_CLOEXEC)
            self._stack.callback(os.close, file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
            self._files[direct] = file
        return self._files[direct]

    def drop_at_end(self, file: int, offset: int, size: int) -> None:
        """Evict the pages when the stack ends."""
        self._stack.callback(os.posix_fadvise, file, offset, size, os.POSIX_FADV_DONTNEED)


def _cached(places: Places, size: int, opened: Opened) -> int:
    """Return the duration (ns) of one request that brought ``size`` bytes into the page cache."""
    descriptor, offset = places.random(size)
    file = opened.file(descriptor)
    os.posix_fadvise(file, offset, size, os.POSIX_FADV_DONTNEED)
    opened.drop_at_end(file, offset, size)
    began = time.monotonic_ns()
    os.posix_fadvise(file, offset, size, os.POSIX_FADV_WILLNEED)
    os.pread(file, 1, offset + size - 1)
    return time.monotonic_ns() - began
