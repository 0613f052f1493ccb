"""Reads a disk with O_DIRECT, several requests in flight by as many threads, and times each."""

from __future__ import annotations

import errno
import mmap
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from foreread.boards.base.units import KIB
from foreread.tracer.formats.disk_probe import ProbeTrial
from foreread.tracer.local.disk.spans import Places

MOST_REQUESTS = 2000  # of a trial: more add no information, and the capture stores each


@dataclass(frozen=True)
class Pattern:
    """Requests of ``kib``, sequential or random, ``depth`` in flight."""

    kib: int
    sequential: bool
    depth: int


_ONE_AT_A_TIME = threading.Lock()
Row = tuple[int, int, int]  # offset (bytes), issue and completion (ns)


class DirectReader:
    """Reads at ``places``; ``began_ns`` is the monotonic clock that all times count from."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self.began_ns = time.monotonic_ns()

    def run(self, pattern: Pattern, seconds: float) -> ProbeTrial | None:
        """Read for ``seconds`` and return the requests; None if no request of that size fits.

        Raises OSError if the disk refuses a read.
        """
        if not self._places.fits(pattern.kib * KIB):
            return None
        places = self._places_of(pattern)
        readers = [_Worker(pattern, places, seconds) for _ in range(pattern.depth)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        for reader in readers:
            if reader.error is not None:
                raise reader.error
        rows = sorted((row for reader in readers for row in reader.rows), key=lambda row: row[2])
        return ProbeTrial(
            request_bytes=pattern.kib * KIB,
            sequential=pattern.sequential,
            depth=pattern.depth,
            offset=[row[0] for row in rows],
            issue_ns=[row[1] - self.began_ns for row in rows],
            complete_ns=[row[2] - self.began_ns for row in rows],
        )

    def _places_of(self, pattern: Pattern) -> Iterator[tuple[int, int]]:
        length = pattern.kib * KIB
        if not pattern.sequential:
            return (self._places.random(length) for _ in count())
        return (self._places.following(n, length) for n in count(self._places.first(length)))


class _Worker(threading.Thread):
    """One request in flight after another."""

    def __init__(self, pattern: Pattern, places: Iterator[tuple[int, int]], seconds: float) -> None:
        super().__init__(name="foreread-probe", daemon=True)
        self.rows: list[Row] = []
        self.error: OSError | None = None
        self._places = places
        self._seconds = seconds
        self._most = MOST_REQUESTS // pattern.depth
        self._length = pattern.kib * KIB

    def run(self) -> None:
        clock = time.monotonic_ns
        with mmap.mmap(-1, self._length) as buffer:
            end = clock() + int(self._seconds * 1e9)
            try:
                while len(self.rows) < self._most:
                    with _ONE_AT_A_TIME:  # as a generator must be
                        descriptor, offset = next(self._places)
                    begin = clock()
                    if begin >= end and self.rows:
                        return
                    if os.preadv(descriptor, [buffer], offset) < self._length:
                        raise OSError(errno.EIO, "a read beyond the end")
                    self.rows.append((offset, begin, clock()))
            except OSError as error:
                self.error = error


def open_direct(path: str) -> int:
    """Open a block device or file for reads past the page cache; OSError if that is refused."""
    return os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
