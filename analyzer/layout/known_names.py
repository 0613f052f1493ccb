"""The directories that are in memory before a recorded start: other processes use files below them.

Dropping the caches leaves the names that processes use. A capture does not list them, but it shows
which metadata the start read, and which it did not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from foreread.analyzer.ingest.tables import Array
from foreread.emulator.images.reads import Touched
from foreread.emulator.images.squashfs import SquashfsImage

_MOST = 64  # directories that are tried: each costs a run of the model


def known_names(
    image: SquashfsImage,
    touches: Array,
    recorded: Sequence[int],
    modelled: Callable[[Sequence[int]], Sequence[int]],
) -> tuple[int, ...]:
    """Return the rows of directories without whose lookups the model reads fewer wrong blocks.

    A directory is in memory with all above it. It is taken to be so only if the model then reads no
    recorded block less.

    Args:
        image: the image that was recorded.
        touches: those (TOUCH) of the start as it was recorded.
        recorded: rows of the metadata that it read.
        modelled: returns those that the model reads if it knows some names.
    """
    wanted = Counter(recorded)
    known: tuple[int, ...] = ()
    extra, missing = _differences(wanted, modelled(known))
    for path in _directories(touches, image.names["parent"].tolist())[:_MOST]:
        tried = tuple(dict.fromkeys((*known, *path)))
        now_extra, now_missing = _differences(wanted, modelled(tried))
        if now_extra < extra and now_missing <= missing:
            known, extra, missing = tried, now_extra, now_missing
    return known


def _differences(wanted: Counter[int], rows: Sequence[int]) -> tuple[int, int]:
    """Return how many reads are too many, and how many are missing."""
    read_rows = Counter(rows)
    return (read_rows - wanted).total(), (wanted - read_rows).total()


def _directories(touches: Array, parents: Sequence[int]) -> list[tuple[int, ...]]:
    """Return each directory above the touched names, after those above it; short paths first."""
    paths: set[tuple[int, ...]] = set()
    for name in set(touches["row"][touches["kind"] == Touched.NAME].tolist()):
        path: list[int] = []
        above = parents[name]
        while above > 0:
            path.insert(0, above)
            above = parents[above]
        paths |= {tuple(path[:length]) for length in range(1, len(path) + 1)}
    return sorted(paths, key=lambda path: (len(path), path))
