"""The files that are read otherwise in NEW, with the reason for each and what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from analyzer.diff.causes import Settings
from analyzer.diff.document import DiffFile, Reason
from analyzer.diff.pairs import is_library, paired
from analyzer.diff.side import ByFile, Side
from analyzer.predict.start import Start
from boards.base.counted import plural
from boards.base.units import KIB

MOST_FILES = 1000
_REPLAYED = 24  # files whose cost in seconds is replayed
_PAGES_A_REQUEST = 32  # pages that cost about what a request does, to choose those files
_MOVED = 0.8  # so much of the smaller set of pages stays where it was, or the pages have moved


@dataclass(frozen=True, eq=False)
class _Read:
    """How a file is read in one build; ``under_new`` is OLD with NEW's settings."""

    path: str
    size: int
    touched: frozenset[int]
    requests: int
    pages: int
    extents: int | None
    requests_under_new: int = 0


def files_between(old: Side, new: Side, settings: Settings) -> list[DiffFile]:
    """Return the files that are read otherwise, those that cost most first."""
    found = []
    touched_old, touched_new = _touched(old), _touched(new)
    for row_old, row_new in paired(_accessed(old), _accessed(new)):
        one = _read(old, row_old, touched_old, old.by_file, settings.under_new.by_file)
        two = _read(new, row_new, touched_new, new.by_file)
        reasons = list(_reasons(one, two))
        if not reasons or (one is None and two is None):
            continue
        found.append((_weight(one, two), row_old, row_new, one, two, reasons))
    found.sort(key=lambda each: -each[0])
    made = []
    for at, (_, row_old, row_new, one, two, reasons) in enumerate(found[:MOST_FILES]):
        seconds = None
        if at < _REPLAYED:
            seconds = _seconds(old, new, row_old, row_new)
        made.append(_file(one, two, reasons, seconds))
    return sorted(made, key=lambda one: -abs(one.seconds or 0.0))


def _accessed(side: Side) -> list[str | None]:
    """Return the paths of the files that were accessed; others are in no build."""
    names = zip(side.recording.paths, side.recording.files["accessed"].tolist(), strict=True)
    files = side.recording.files
    return [
        (path or f"(inode {files['ino'][row]})") if pages else None
        for row, (path, pages) in enumerate(names)
    ]


def _touched(side: Side) -> dict[int, frozenset[int]]:
    accesses = side.recording.accesses
    order = np.argsort(accesses["file"], kind="stable")
    rows, pages = accesses["file"][order], accesses["page"][order]
    cuts = np.flatnonzero(np.diff(rows)) + 1
    firsts = rows[np.concatenate(([0], cuts))] if len(rows) else rows
    groups = np.split(pages, cuts) if len(rows) else []
    return {
        int(row): frozenset(part.tolist())
        for row, part in zip(firsts.tolist(), groups, strict=True)
    }


def _read(
    side: Side,
    row: int | None,
    touched: dict[int, frozenset[int]],
    by_file: ByFile,
    under_new: ByFile | None = None,
) -> _Read | None:
    """Return how a file is read; None where it is not."""
    if row is None or not side.recording.files["accessed"][row]:
        return None
    entries = side.recording.entries
    entry = entries[row] if row < len(entries) else None
    extents = None if entry is None or entry.extents is None else len(entry.extents)
    settings = by_file if under_new is None else under_new
    return _Read(
        path=_accessed_name(side, row),
        size=int(side.recording.files["size_bytes"][row]),
        touched=touched.get(row, frozenset()),
        requests=int(by_file.requests[row]),
        pages=int(by_file.pages[row]),
        extents=extents,
        requests_under_new=int(settings.requests[row]),
    )


def _accessed_name(side: Side, row: int) -> str:
    return side.recording.paths[row] or f"(inode {side.recording.files['ino'][row]})"


def _weight(one: _Read | None, two: _Read | None) -> float:
    """Return how much a file matters, before its cost is replayed."""
    requests = (two.requests if two else 0) - (one.requests if one else 0)
    pages = (two.pages if two else 0) - (one.pages if one else 0)
    return abs(requests) + abs(pages) / _PAGES_A_REQUEST


def _reasons(one: _Read | None, two: _Read | None) -> Iterator[tuple[Reason, str]]:
    """Yield why a file is read otherwise, in the order of importance."""
    if one is None or two is None:
        if two is not None:
            what = "a new library" if is_library(two.path) else "a new file"
            yield "new", f"{what}, {_read_text(two)}"
        elif one is not None:
            what = "the library is" if is_library(one.path) else "the file is"
            yield "gone", f"{what} no longer read, {_read_text(one)}"
        return
    before, after = len(one.touched), len(two.touched)
    stayed = len(one.touched & two.touched)
    if one.size >= 0 and two.size >= 0 and one.size != two.size and before != after:
        grew = two.size > one.size
        if grew == (after > before):
            yield (
                ("grown" if grew else "shrunk"),
                f"{'grown' if grew else 'shrunk'} {sizes_text(one.size, two.size)}: "
                f"{plural(after, 'page')} accessed, before {before:,}",
            )
    elif before != after:
        kind: Reason = "more pages" if after > before else "fewer pages"
        yield kind, f"{plural(after, 'page')} accessed, before {before:,}"
    if stayed < _MOVED * min(before, after):
        yield (
            "moved",
            f"{plural(min(before, after) - stayed, 'accessed page')} of {min(before, after):,} at "
            "other places in the file",
        )
    lost = two.requests - one.requests_under_new
    if abs(lost) > max(1, 0.1 * two.requests) and abs(after - before) <= 0.02 * before:
        yield "readahead", _readahead_text(one, two, lost)
    by_settings = one.requests_under_new - one.requests
    if by_settings:
        yield "settings", f"requests {by_settings:+,} by the other window or kernel"
    changed = one.requests != two.requests or one.pages != two.pages
    if one.path != two.path and changed:
        same_name = one.path.rpartition("/")[2] == two.path.rpartition("/")[2]
        yield "renamed", "another folder" if same_name else "another version"


def _readahead_text(one: _Read, two: _Read, lost: int) -> str:
    what = "readahead lost" if lost > 0 else "readahead gained"
    if one.extents is not None and two.extents is not None and one.extents != two.extents:
        pieces = plural(two.extents, "piece")
        why = f"the file lies in {pieces} on the disk instead of {one.extents:,}"
    else:
        why = "the same number of pages is accessed in another order or at other places"
    return f"{what}: requests {lost:+,}, {why}"


def _read_text(of: _Read) -> str:
    return f"{plural(len(of.touched), 'page')} accessed, {plural(of.requests, 'request')}"


def sizes_text(before: int, after: int) -> str:
    """Return both sizes in KiB, or in bytes if they look equal in KiB."""
    if _kib(before) == _kib(after):
        return f"from {before:,} to {after:,} bytes"
    return f"from {_kib(before)} to {_kib(after)} KiB"


def _kib(size: int) -> str:
    return f"{-(-size // KIB):,}"


def _seconds(old: Side, new: Side, row_old: int | None, row_new: int | None) -> float | None:
    """Return how much longer reading a file takes in NEW."""
    before, after = _cost(old, row_old), _cost(new, row_new)
    return None if before is None or after is None else after - before


def _cost(side: Side, row: int | None) -> float | None:
    """Return by how much a start would be shorter if a file were in memory; None if unknown."""
    if side.start is None:
        return None
    if row is None:
        return 0.0
    whole = side.start.timed([side.window])[0].total_ns
    return (whole - _without(side.start, row).timed([side.window])[0].total_ns) / 1e9


def _without(start: Start, row: int) -> Start:
    """Return a start that reads nothing of a file."""
    run = start.run
    operations = run.steps["operation"]
    file = run.program.file_of_operations()
    does = operations >= 0
    steps = run.steps.copy()
    its = np.zeros(len(steps), bool)
    its[does] = file[operations[does]] == row
    steps["operation"][its] = -1
    steps["sectors"][its] = 0
    return replace(start, run=replace(run, steps=steps))


def _file(
    one: _Read | None,
    two: _Read | None,
    reasons: list[tuple[Reason, str]],
    seconds: float | None,
) -> DiffFile:
    path = two.path if two else one.path if one else ""
    return DiffFile(
        path=path,
        was=one.path if one and one.path != path else None,
        reasons=[kind for kind, _ in reasons],
        why="; ".join(why for _, why in reasons),
        size_old=one.size if one else 0,
        size_new=two.size if two else 0,
        accessed_old=len(one.touched) if one else 0,
        accessed_new=len(two.touched) if two else 0,
        pages_old=one.pages if one else 0,
        pages_new=two.pages if two else 0,
        requests_old=one.requests if one else 0,
        requests_new=two.requests if two else 0,
        seconds=seconds,
    )
