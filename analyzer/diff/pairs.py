"""Which file of one build is which file of another.

By path, else by path without versions, and a library else by its name: merging /lib into /usr/lib,
or another architecture, moves libraries to another folder.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

_NUMBERS = re.compile(r"\d+(?:[._]\d+)*")
_HASH = re.compile(r"\b[0-9a-f]{16,}\b")

Pair = tuple[int | None, int | None]


def paired(old: Sequence[str | None], new: Sequence[str | None]) -> Iterator[Pair]:
    """Yield the rows of each file in both builds, None where a build lacks it.

    A path that occurs more than once, or that is unknown, is paired with no other.
    """
    rows_old, rows_new = _unique(old), _unique(new)
    same = rows_old.keys() & rows_new.keys()
    yield from ((rows_old[path], rows_new[path]) for path in sorted(same, key=rows_new.__getitem__))
    left = {path: row for path, row in rows_old.items() if path not in same}
    right = {path: row for path, row in rows_new.items() if path not in same}
    renamed = _by_name(left, right, without_versions)
    for path_old, path_new in renamed:
        del left[path_old], right[path_new]
    renamed += _by_name(left, right, _library)
    yield from ((rows_old[one], rows_new[two]) for one, two in renamed)
    gone = {rows_old[one] for one, _ in renamed} | {rows_old[path] for path in same}
    come = {rows_new[two] for _, two in renamed} | {rows_new[path] for path in same}
    yield from ((row, None) for row in range(len(old)) if row not in gone)
    yield from ((None, row) for row in range(len(new)) if row not in come)


def without_versions(path: str) -> str:
    """Return a path with versions and hashes as a mark: libssl.so.1.1 and libssl.so.3 are one."""
    return _NUMBERS.sub("#", _HASH.sub("#", path))


def is_library(path: str) -> bool:
    """Return whether a path is that of a shared library."""
    return re.search(r"\.so(\.\d[\w.]*)?$", path) is not None


def _unique(paths: Sequence[str | None]) -> dict[str, int]:
    rows = defaultdict(list)
    for row, path in enumerate(paths):
        if path is not None:
            rows[path].append(row)
    return {path: found[0] for path, found in rows.items() if len(found) == 1}


def _library(path: str) -> str | None:
    """Return the name of a library without its folder and versions; None for other files."""
    return without_versions(path.rpartition("/")[2]) if is_library(path) else None


def _by_name(
    left: dict[str, int], right: dict[str, int], name_of: Callable[[str], str | None]
) -> list[tuple[str, str]]:
    """Return the paths of one name, if they are unmistakable."""
    groups: list[dict[str, list[str]]] = []
    for paths in (left, right):
        found = defaultdict(list)
        for path in paths:
            if (name := name_of(path)) is not None:
                found[name].append(path)
        groups.append(found)
    one, two = groups
    return [
        (one[key][0], two[key][0]) for key in one if len(one[key]) == len(two.get(key, [])) == 1
    ]
