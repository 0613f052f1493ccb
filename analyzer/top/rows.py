"""The figures by file and by process."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import TypeVar

from foreread.analyzer.top.emulated import Fates
from foreread.analyzer.top.seen import Page, Seen

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Figures:
    """Pages of a file, or of a process: read in the last interval, and since the beginning.

    ``hits`` were in the page cache at their first touch because readahead had read them; the
    process waited for ``missed``; ``unused`` were read and are not touched yet. None if the kernel
    does not record touches.
    """

    now: int
    read: int
    hits: int | None
    missed: int | None
    unused: int | None

    def __add__(self, other: Figures) -> Figures:
        """Return the figures of two threads together."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        now, read, *rest = (None if a is None else a + b for a, b in pairs)
        return Figures(now or 0, read or 0, *rest)


def by_key(
    seen: Seen,
    now: Mapping[tuple[int, int], int],
    fates: Fates | None,
    key: Callable[[int, int], Key],
) -> dict[Key, Figures]:
    """Return the figures grouped by ``key(row of the file, thread)``.

    ``now`` has the pages of the last interval by (row, thread).
    """
    counts: defaultdict[Key, Counter[str]] = defaultdict(Counter)
    for (row, thread), pages in now.items():
        counts[key(row, thread)]["now"] += pages
    _count(counts, "read", seen.read_by.items(), key)
    if fates is not None:
        _count(counts, "hits", fates.hits.items(), key)
        _count(counts, "missed", fates.missed.items(), key)
        _count(counts, "unused", fates.unused.items(), key)
    return {group: _figures(counter, fates is not None) for group, counter in counts.items()}


def _count(
    counts: defaultdict[Key, Counter[str]],
    name: str,
    pages: Iterable[tuple[Page, int]],
    key: Callable[[int, int], Key],
) -> None:
    for (row, _), thread in pages:
        counts[key(row, thread)][name] += 1


def _figures(counter: Counter[str], touches: bool) -> Figures:
    hits, missed, unused = (
        counter[name] if touches else None for name in ("hits", "missed", "unused")
    )
    return Figures(counter["now"], counter["read"], hits, missed, unused)
