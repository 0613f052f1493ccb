"""The files that NEW reads differently, with the reason and the cost of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from foreread.analyzer.diff.causes import Settings
from foreread.analyzer.diff.document import DiffFile, Reason
from foreread.analyzer.diff.pairs import is_library, paired
from foreread.analyzer.diff.side import ByFile, Side
from foreread.analyzer.predict.start import Start
from foreread.boards.base.counted import plural
from foreread.boards.base.units import KIB

MOST_FILES = 1000
_REPLAYED = 24  # files whose cost in seconds is replayed
_PAGES_A_REQUEST = 32  # pages that cost about as much as a request, to choose those files
_MOVED = 0.8  # pages have moved if less of the smaller set stays where it was


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
    """Return the files that are read differently, the most expensive first."""
    changed = []
    touched_old, touched_new = _touched(old), _touched(new)
    for row_old, row_new in paired(_accessed(old), _accessed(new)):
        before = _read(old, row_old, touched_old, old.by_file, settings.under_new.by_file)
        after = _read(new, row_new, touched_new, new.by_file)
        reasons = list(_reasons(before, after))
        if not reasons or (before is None and after is None):
            continue
        changed.append((_weight(before, after), row_old, row_new, before, after, reasons))
    changed.sort(key=lambda each: -each[0])
    files = []
    for at, (_, row_old, row_new, before, after, reasons) in enumerate(changed[:MOST_FILES]):
        seconds = None
        if at < _REPLAYED:
            seconds = _seconds(old, new, row_old, row_new)
        files.append(_file(before, after, reasons, seconds))
    return sorted(files, key=lambda file: -abs(file.seconds or 0.0))


def _accessed(side: Side) -> list[str | None]:
    """Return the paths of the accessed files, by row; None for other files."""
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
    """Return how a build reads a file; None if the build does not read it."""
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


def _weight(old: _Read | None, new: _Read | None) -> float:
    """Return how much a file matters, estimated from its requests and pages."""
    requests = (new.requests if new else 0) - (old.requests if old else 0)
    pages = (new.pages if new else 0) - (old.pages if old else 0)
    return abs(requests) + abs(pages) / _PAGES_A_REQUEST


def _reasons(old: _Read | None, new: _Read | None) -> Iterator[tuple[Reason, str]]:
    """Yield the reasons why a file is read differently, in the order of importance."""
    if old is None or new is None:
        if new is not None:
            what = "a new library" if is_library(new.path) else "a new file"
            yield "new", f"{what}, {_read_text(new)}"
        elif old is not None:
            what = "the library is" if is_library(old.path) else "the file is"
            yield "gone", f"{what} no longer read, {_read_text(old)}"
        return
    before, after = len(old.touched), len(new.touched)
    stayed = len(old.touched & new.touched)
    if old.size >= 0 and new.size >= 0 and old.size != new.size and before != after:
        grew = new.size > old.size
        if grew == (after > before):
            yield (
                ("grown" if grew else "shrunk"),
                f"{'grown' if grew else 'shrunk'} {sizes_text(old.size, new.size)}: "
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
    lost = new.requests - old.requests_under_new
    if abs(lost) > max(1, 0.1 * new.requests) and abs(after - before) <= 0.02 * before:
        yield "readahead", _readahead_text(old, new, lost)
    by_settings = old.requests_under_new - old.requests
    if by_settings:
        yield "settings", f"requests {by_settings:+,} by the other window or kernel"
    changed = old.requests != new.requests or old.pages != new.pages
    if old.path != new.path and changed:
        same_name = old.path.rpartition("/")[2] == new.path.rpartition("/")[2]
        yield "renamed", "another folder" if same_name else "another version"


def _readahead_text(old: _Read, new: _Read, lost: int) -> str:
    what = "readahead lost" if lost > 0 else "readahead gained"
    if old.extents is not None and new.extents is not None and old.extents != new.extents:
        pieces = plural(new.extents, "piece")
        why = f"the file lies in {pieces} on the disk instead of {old.extents:,}"
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
    """Return by how many seconds NEW reads a file more slowly; None if unknown."""
    before, after = _cost(old, row_old), _cost(new, row_new)
    return None if before is None or after is None else after - before


def _cost(side: Side, row: int | None) -> float | None:
    """Return the seconds that a start would save if a file were in memory; None if unknown."""
    if side.start is None:
        return None
    if row is None:
        return 0.0
    whole = side.start.timed([side.window])[0].total_ns
    return (whole - _without(side.start, row).timed([side.window])[0].total_ns) / 1e9


def _without(start: Start, row: int) -> Start:
    """Return a start that reads nothing from a file."""
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
    old: _Read | None,
    new: _Read | None,
    reasons: list[tuple[Reason, str]],
    seconds: float | None,
) -> DiffFile:
    path = new.path if new else old.path if old else ""
    return DiffFile(
        path=path,
        was=old.path if old and old.path != path else None,
        reasons=[kind for kind, _ in reasons],
        why="; ".join(why for _, why in reasons),
        size_old=old.size if old else 0,
        size_new=new.size if new else 0,
        accessed_old=len(old.touched) if old else 0,
        accessed_new=len(new.touched) if new else 0,
        pages_old=old.pages if old else 0,
        pages_new=new.pages if new else 0,
        requests_old=old.requests if old else 0,
        requests_new=new.requests if new else 0,
        seconds=seconds,
    )
