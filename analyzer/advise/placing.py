"""Where a linker places the functions of a section that it orders by a list.

The listed functions come first, in the order of the list, then the rest in its present order. That
is what lld does (--symbol-ordering-file), and GNU ld by a linker script. gold has the rest first,
which brings no two functions nearer to each other or farther apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from foreread.analyzer.advise.symbols import Function, Section

_PADDING = 64  # bytes between functions that align the next one; more is code without a symbol
_REST = 1 << 62  # the rank of functions that the list lacks
Shares = Mapping[int, int]  # bytes of a page by the page that they go to


@dataclass
class _Block:
    """Bytes [begin, end) of a file that move together, and their place in the list."""

    begin: int
    end: int
    rank: int = _REST


def placed(
    section: Section,
    functions: Iterable[Function],
    listed: Iterable[Function],
    fixed: Collection[int],
    page_size: int,
) -> dict[int, Shares]:
    """Return how many bytes of each page of a section go to which page.

    ``functions`` are the file's, ``listed`` the list's, in its order. Pages in
    ``fixed`` stay as they are, with the functions on them.
    """
    ranks: dict[int, int] = {}
    for rank, function in enumerate(listed):
        ranks.setdefault(function.at, rank)
    pages = range(section.at // page_size, -(-section.end // page_size))
    free = [page for page in pages if page not in fixed]
    to = section.at % page_size if free and free[0] == pages[0] else 0
    shares_of: defaultdict[int, Counter[int]] = defaultdict(Counter)
    moving = [
        block
        for block in _blocks(section, functions, ranks)
        if not _touches(block, fixed, page_size)
    ]
    for block in sorted(moving, key=lambda candidate: candidate.rank):
        for page, number, octets in _pieces(block, to, page_size):
            shares_of[page][free[number]] += octets
        to += block.end - block.begin
    for page, shares in shares_of.items():
        shares[page] += page_size - shares.total()
    return {
        page: {new: shares[new] for new in sorted(+shares)} for page, shares in shares_of.items()
    }


class Places:
    """Where the pages of code go, as far as it is known: to the pages that have their bytes."""

    def __init__(self, shares: Mapping[int, Shares]) -> None:
        self._pages = [*shares]
        self._expected = {page: max(own, key=own.__getitem__) for page, own in shares.items()}
        self._new = [new for own in shares.values() for new in own]
        octets = [number for own in shares.values() for number in own.values()]
        self._ends = np.cumsum(np.array(octets, np.int64))
        self._begins = np.cumsum([0, *(sum(own.values()) for own in shares.values())])

    def chosen(self, rng: np.random.Generator | None) -> Mapping[int, int]:
        """Return a new page for each: of most of its bytes, or with ``rng`` of a random byte.

        A capture has the pages that a start uses, and not which function on them.
        """
        if rng is None:
            return self._expected
        at = rng.integers(self._begins[:-1], self._begins[1:])
        rows = np.searchsorted(self._ends, at, side="right").tolist()
        return dict(zip(self._pages, [self._new[row] for row in rows], strict=True))


def _blocks(
    section: Section, functions: Iterable[Function], ranks: dict[int, int]
) -> Iterator[_Block]:
    """Yield the bytes of a section in order: functions with their padding, and code between them.

    Overlapping functions, as several names of a function, are one block. A function without a size
    ends with the next one.
    """
    ends: dict[int, int] = {}
    for function in functions:
        if section.at <= function.at < section.end:
            ends[function.at] = max(ends.get(function.at, 0), function.at + function.size)
    block = _Block(section.at, section.at)
    for at, following in pairwise([*sorted(ends), section.end]):
        end = min(ends[at], section.end)
        if end == at or 0 <= following - end <= _PADDING:
            end = following
        rank = ranks.get(at, _REST)
        if at < block.end:
            block.end, block.rank = max(block.end, end), min(block.rank, rank)
            continue
        yield block
        if block.end < at:
            yield _Block(block.end, at)
        block = _Block(at, end, rank)
    yield block
    yield _Block(block.end, section.end)


def _touches(block: _Block, pages: Collection[int], page_size: int) -> bool:
    """Return whether a block has a byte on one of ``pages``."""
    own = range(block.begin // page_size, -(-block.end // page_size))
    return any(page in pages for page in own)


def _pieces(block: _Block, to: int, page_size: int) -> Iterator[tuple[int, int, int]]:
    """Yield the page, the page after the move to ``to``, and the bytes, of each part of a block."""
    at, end = block.begin, block.end
    while at < end:
        octets = min(page_size - at % page_size, page_size - to % page_size, end - at)
        yield at // page_size, to // page_size, octets
        at, to = at + octets, to + octets
