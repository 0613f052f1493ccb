"""Where the probe reads: the parts of the disk that the recorded run read from, or its files."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

_SECTOR = 512
_BLOCK = 1 << 20  # bytes around each recorded request that the probe may read
_ALIGNED = 4096  # O_DIRECT wants multiples of the disk's logical block


@dataclass(frozen=True)
class Span:
    """A readable part of an open descriptor's file, in bytes; ``end`` is the first one past it."""

    descriptor: int
    start: int
    end: int


def spans_of_disk(descriptor: int, reads: Iterable[tuple[int, int]], size_bytes: int) -> list[Span]:
    """Return the MiB-sized blocks of a disk that hold recorded ``reads``, neighbours merged.

    ``reads`` are (first sector, sectors). Other blocks may never have been written, and many disks
    return such blocks without reading.
    """
    blocks = {
        block
        for sector, sectors in reads
        for block in (sector * _SECTOR // _BLOCK, (sector + sectors - 1) * _SECTOR // _BLOCK)
    }
    spans: list[Span] = []
    for block in sorted(blocks):
        start, end = block * _BLOCK, min((block + 1) * _BLOCK, size_bytes) // _ALIGNED * _ALIGNED
        if start >= end:
            continue
        if spans and spans[-1].end == start:
            start = spans.pop().start
        spans.append(Span(descriptor, start, end))
    return spans


class Places:
    """Random places for requests of any length within ``spans``; each page is equally likely."""

    def __init__(self, spans: list[Span], rng: random.Random) -> None:
        self._spans = spans
        self._rng = rng
        self._fitting: dict[int, tuple[list[Span], list[int]]] = {}

    def fits(self, length: int) -> bool:
        """Return whether a request of so many bytes fits anywhere."""
        return bool(self._table(length)[0])

    def random(self, length: int) -> tuple[int, int]:
        """Return descriptor and offset of a random request."""
        return self._at(self._rng.randrange(self._table(length)[1][-1]), length)

    def first(self, length: int) -> int:
        """Return where a sequential stream begins, for ``following``."""
        return self._rng.randrange(self._table(length)[1][-1]) // length

    def following(self, number: int, length: int) -> tuple[int, int]:
        """Return descriptor and offset of request ``number`` of a sequential stream."""
        return self._at(number * length % self._table(length)[1][-1], length)

    def _table(self, length: int) -> tuple[list[Span], list[int]]:
        """Return the spans that hold ``length`` bytes, and the sums of their lengths."""
        if length not in self._fitting:
            spans = [span for span in self._spans if span.end - span.start >= length]
            self._fitting[length] = spans, list(accumulate(s.end - s.start for s in spans))
        return self._fitting[length]

    def _at(self, at: int, length: int) -> tuple[int, int]:
        spans, sums = self._table(length)
        row = bisect_right(sums, at)
        span = spans[row]
        start = min(span.end - (sums[row] - at), span.end - length)
        return span.descriptor, max(start // _ALIGNED * _ALIGNED, span.start)
