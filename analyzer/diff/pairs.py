"""Pairs each file of one build with the same file of another build.

Files pair by path, then by path without versions, and libraries then by name: merging /lib into
/usr/lib, or another architecture, moves libraries to another folder.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

_NUMBERS = re.compile(r"\d+(?:[._]\d+)*")
_HASH = re.compile(r"\b[0-9a-f]{16,}\b")

Pair = tuple[int | None, int | None]


def paired(old: Sequence[str | None], new: Sequence[str | None]) -> Iterator[Pair]:
    """Yield the rows of each file in both builds, None where a build lacks the file.

    A path that is unknown, or that occurs more than once, is not paired.
    """
    rows_old, rows_new = _unique(old), _unique(new)
    same = rows_old.keys() & rows_new.keys()
    yield from ((rows_old[path], rows_new[path]) for path in sorted(same, key=rows_new.__getitem__))
    old_only = {path: row for path, row in rows_old.items() if path not in same}
    new_only = {path: row for path, row in rows_new.items() if path not in same}
    renamed = _by_name(old_only, new_only, without_versions)
    for path_old, path_new in renamed:
        del old_only[path_old], new_only[path_new]
    renamed += _by_name(old_only, new_only, _library)
    yield from ((rows_old[before], rows_new[after]) for before, after in renamed)
    gone = {rows_old[before] for before, _ in renamed} | {rows_old[path] for path in same}
    come = {rows_new[after] for _, after in renamed} | {rows_new[path] for path in same}
    yield from ((row, None) for row in range(len(old)) if row not in gone)
    yield from ((None, row) for row in range(len(new)) if row not in come)


def without_versions(path: str) -> str:
    """Return a path with a mark for versions and hashes: libssl.so.1.1 equals libssl.so.3."""
    return _NUMBERS.sub("#", _HASH.sub("#", path))


def is_library(path: str) -> bool:
    """Return whether a path names a shared library."""
    return re.search(r"\.so(\.\d[\w.]*)?$", path) is not None


def _unique(paths: Sequence[str | None]) -> dict[str, int]:
    rows = defaultdict(list)
    for row, path in enumerate(paths):
        if path is not None:
            rows[path].append(row)
    return {path: places[0] for path, places in rows.items() if len(places) == 1}


def _library(path: str) -> str | None:
    """Return the name of a library without its folder and versions; None for other files."""
    return without_versions(path.rpartition("/")[2]) if is_library(path) else None


def _by_name(
    old: dict[str, int], new: dict[str, int], name_of: Callable[[str], str | None]
) -> list[tuple[str, str]]:
    """Return the pairs of paths with the same unique name in both builds."""
    groups: list[dict[str, list[str]]] = []
    for paths in (old, new):
        by_name = defaultdict(list)
        for path in paths:
            if (name := name_of(path)) is not None:
                by_name[name].append(path)
        groups.append(by_name)
    old_by_name, new_by_name = groups
    return [
        (old_by_name[key][0], new_by_name[key][0])
        for key in old_by_name
        if len(old_by_name[key]) == len(new_by_name.get(key, [])) == 1
    ]
