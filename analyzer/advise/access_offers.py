"""Offers of advice about how single files are accessed: RANDOM, SEQUENTIAL or NORMAL."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from foreread.analyzer.advise.access import (
    Call,
    Pattern,
    advises_descriptors,
    advises_mappings,
    is_executed,
    is_mapped,
    is_read,
    with_descriptors,
    with_mappings,
)
from foreread.analyzer.advise.access_lines import constant_of, lines_of, name_of
from foreread.analyzer.advise.access_patch import PatchError, patch_of
from foreread.analyzer.advise.document import RowTrial, TrialAdvice
from foreread.analyzer.advise.offer import Offer
from foreread.analyzer.advise.shim_list import SHIM, can_be_advised
from foreread.analyzer.advise.situation import Situation, files_of
from foreread.analyzer.advise.variant import Variant

MOST_FILES = 12
LOADER_CACHE = "/etc/ld.so.cache"
_APPLIED = {"fadvise": with_descriptors, "madvise": with_mappings}


def accesses(situation: Situation) -> Iterator[Offer]:
    """Yield, for the files with most requests, each advice that the program does not give now.

    Programs and libraries are left out: the loader maps them, which no library can advise before
    their pages are touched. NORMAL is for files that the program itself advises.
    """
    variant, requests = situation.present[0], situation.requests
    for row in np.argsort(-requests, kind="stable")[:MOST_FILES].tolist():
        path = situation.recording.paths[row]
        if path in (None, LOADER_CACHE) or requests[row] < 2 or _is_program(situation, row):
            continue
        if is_read(variant, row):
            yield from _of_call(situation, path, row, "fadvise", advises_descriptors(variant, row))
        if is_mapped(variant, row):
            yield from _of_call(situation, path, row, "madvise", advises_mappings(variant, row))


def _is_program(situation: Situation, row: int) -> bool:
    """Return whether a file (row) has code, which may have been cached already."""
    entries = situation.recording.entries
    entry = entries[row] if row < len(entries) else None
    has_code = entry is not None and any(segment.executable for segment in entry.segments)
    return has_code or is_executed(situation.present[0], row)


def _of_call(
    situation: Situation, path: str, row: int, call: Call, is_advised: bool
) -> Iterator[Offer]:
    patterns: tuple[Pattern, ...] = ("random", "sequential")
    for pattern in ("normal", *patterns) if is_advised else patterns:
        yield _offer(situation, path, row, call, pattern, is_advised)


def _offer(
    situation: Situation, path: str, row: int, call: Call, pattern: Pattern, is_advised: bool
) -> Offer:
    source = name_of(call, pattern, path)
    can_be_tried = can_be_advised(path) and not is_advised
    instead = " instead of the program's own advice" if is_advised else ""
    where = "descriptors" if call == "fadvise" else "mappings"
    lists, how = _patched(situation, call, pattern, source)
    return Offer(
        "access",
        f"{call} {path}",
        f"{constant_of(call, pattern)} for {where} of {path}{instead}",
        partial(_advised, path=path, call=call, pattern=pattern),
        (f"the lines for C, C++, Rust, Python and Java: {source}", *how),
        "a preloaded library" if can_be_tried else "a change in the application",
        "; ".join(_doubts(situation.present[0], row, call, pattern, path, is_advised)),
        trial=RowTrial(advice=[TrialAdvice(call, pattern, path)]) if can_be_tried else None,
        lists={source: lines_of(path, call, pattern, SHIM), **lists},
    )


def _patched(
    situation: Situation, call: Call, pattern: Pattern, lines: str
) -> tuple[dict[str, bytes], list[str]]:
    """Return the patch of the application's source, and what to type; both empty without one."""
    if situation.source is None:
        return {}, []
    name = f"{lines.removesuffix('.txt')}.patch"
    try:
        patch = patch_of(situation.source, call, pattern)
    except PatchError as error:
        return {}, [f"no patch: {error}; {error.remedy}"]
    return {name: patch}, [
        f"patch -p1 <{name}  # in the folder of {situation.source.name}",
        "the patch advises all files that its call opens or maps: restrict it if there are others",
    ]


def _advised(variant: Variant, path: str, call: Call, pattern: Pattern) -> Variant:
    for row in files_of(variant.start.recording, [path]):
        variant = _APPLIED[call](variant, row, pattern)
    return variant


def _doubts(
    variant: Variant, row: int, call: Call, pattern: Pattern, path: str, is_advised: bool
) -> Iterator[str]:
    """Yield what may spoil the advice, by the rules of the kernel that is replayed."""
    rules = variant.run.rules
    if is_advised:
        yield (
            "the program advises this file itself, later than a preloaded library would: change "
            "its own call"
        )
    elif not can_be_advised(path):
        yield "a line of the shim's list cannot name this file"
    else:
        yield (
            "a statically linked or set-user-ID program ignores LD_PRELOAD, and what libc opens "
            "for itself is not seen"
        )
    if call == "fadvise":
        yield "each open has its own state: other descriptors, also of other processes, keep theirs"
        if is_mapped(variant, row):
            yield (
                "page faults ignore POSIX_FADV_RANDOM: mappings need MADV_RANDOM"
                if pattern == "random" and rules.random_flag
                else "the window of page faults through the same descriptor changes, too"
            )
        if pattern == "random" and not rules.random_flag:
            yield "this kernel (before 2.6.37) sets the window of the descriptor to 0"
        if pattern != "random":
            yield "the descriptor keeps its window when read_ahead_kb changes later"
        return
    yield "each mapping needs it again: a new mmap() has no advice"
    if pattern == "random":
        yield "MADV_POPULATE_READ and MAP_POPULATE then read page by page"
    if pattern == "sequential":
        yield (
            "pages that were used once are reclaimed first when memory is short, which is not "
            "predicted"
        )
        if rules.xarray:
            yield "a fault away from the last one reads a whole window forward"
