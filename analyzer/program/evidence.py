"""The data of a recording for the code that follows its threads, as arrays of checked numbers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

import numpy as np

from foreread.analyzer.ingest.accesses import rows_of
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind, order_by
from foreread.analyzer.program.misses import ways_of
from foreread.analyzer.program.timeline import moments
from foreread.tracer.formats.capture import FileEntry

MOST_PAGES = 1 << 20  # of one operation, or of one run of cached pages
_MOST_BYTES = 1 << 62
_DUPLICATES = frozenset(f"syscalls:sys_{name}" for name in ("exit_dup", "enter_dup2", "enter_dup3"))

# A page that entered the page cache (struct fw_inserted, core/evidence.h): ``unread``: no block
# read filled it; ``stored``: it has data on the device, as far as that is known; ``way``:
# misses.Way or NO_WAY.
INSERTED = np.dtype(
    [("page", "u8"), ("file", "u4"), ("unread", "u1"), ("stored", "u1"), ("way", "i1")], align=True
)
# Pages [first, end) of a file (struct fw_piece).
PIECE = np.dtype([("first", "u8"), ("end", "u8"), ("file", "u4"), ("executable", "u1")], align=True)


class FileFlag(IntFlag):
    """Known properties of a file."""

    LINK = 1  # a symbolic link
    PROGRAM = 2  # its program headers (ELF) are known
    CACHED_KNOWN = 4  # the recording lists its pages cached before the run


class Shown(IntFlag):
    """Further facts of the recording."""

    DUPLICATES = 1  # of descriptors
    ADVICE = 2  # fadvise
    MAPPED = 4  # fault-around


@dataclass(frozen=True, eq=False)
class Evidence:
    """``moments`` (MOMENT) in order of time, and facts about pages and files.

    ``inserted`` (INSERTED): of equal pages the last one counts. ``segments`` and ``cached`` (PIECE)
    are in order of files: parts by program headers, and pages cached before the run. ``sizes``
    (i8, bytes, negative if unknown) and ``flags`` (u1, FileFlag) are by file.
    """

    moments: Array
    inserted: Array
    segments: Array
    cached: Array
    sizes: Array
    flags: Array
    page_size: int
    shown: Shown


def evidence(recording: Recording, sizes: Array) -> Evidence:
    """Return the evidence of a recording; ``sizes`` (i8, bytes): of its files."""
    missing = len(sizes) - len(recording.entries)
    entries = [*recording.entries, *[None] * max(missing, 0)]
    segments, cached, flags = _of_entries(entries, sizes.tolist(), recording.page_size)
    names, kinds = recording.trace.event_names, recording.trace.events["kind"]
    shown = Shown.DUPLICATES if _DUPLICATES & names else Shown(0)
    shown |= Shown.ADVICE if "syscalls:sys_enter_fadvise64" in names else Shown(0)
    shown |= Shown.MAPPED if (kinds == Kind.MAP_PAGES).any() else Shown(0)
    return Evidence(
        moments=moments(recording),
        inserted=_inserted(recording, entries),
        segments=segments,
        cached=cached,
        sizes=np.ascontiguousarray(sizes, np.int64),
        flags=flags,
        page_size=recording.page_size,
        shown=shown,
    )


def _inserted(recording: Recording, entries: list[FileEntry | None]) -> Array:
    """Return the facts about the inserted pages of the recording's files."""
    inserts = recording.inserts
    if inserts is None:
        return np.zeros(0, INSERTED)
    file, of_file = rows_of(recording.files, inserts.data)
    of_file &= inserts.data["index"] < _MOST_BYTES // recording.page_size
    inserted = np.zeros(int(of_file.sum()), INSERTED)
    inserted["file"], inserted["page"] = file[of_file], inserts.data["index"][of_file]
    inserted["unread"] = inserts.pages[of_file] == 0
    inserted["stored"] = _stored(entries, inserted, recording.page_size)
    inserted["way"] = ways_of(recording)[of_file]
    return inserted


def _stored(entries: list[FileEntry | None], inserted: Array, page_size: int) -> Array:
    """Return which pages have data on the device, as far as known."""
    shown = np.array([e is not None and e.extents is not None for e in entries], bool)
    rows = [
        (file, extent.at, min(extent.at + extent.length, _MOST_BYTES))
        for file, entry in enumerate(entries)
        for extent in (entry.extents or () if entry else ())
        if extent.written and extent.at < _MOST_BYTES
    ]
    stored = ~shown[inserted["file"]]
    rows.sort()
    if not rows:
        return np.asarray(stored)
    file, begin, end = np.array(rows, np.int64).T
    starts = np.flatnonzero(np.diff(file, prepend=-1))
    for first, last in zip(starts, [*starts[1:], len(file)], strict=True):
        np.maximum.accumulate(end[first:last], out=end[first:last])
    at = inserted["page"].astype(np.int64) * page_size
    wanted = np.flatnonzero(shown[inserted["file"]])
    stored[wanted] = _within(
        (file, begin, end), inserted["file"][wanted].astype(np.int64), at[wanted]
    )
    return np.asarray(stored)


def _within(extents: tuple[Array, Array, Array], of_file: Array, at: Array) -> Array:
    """Return which positions lie in sorted extents: file, begin, furthest end so far."""
    file, begin, end = extents
    both = np.concatenate((file, of_file)), np.concatenate((begin, at))
    asks = np.arange(len(both[0])) >= len(file)
    order = order_by(*both, asks)
    last = np.maximum.accumulate(np.where(asks[order], -1, np.arange(len(order))))
    within = np.zeros(len(order), bool)
    extent = order[np.maximum(last, 0)]
    extent = np.where(asks[extent], 0, extent)
    inside = (file[extent] == both[0][order]) & (both[1][order] < end[extent]) & (last >= 0)
    within[order] = inside
    return within[len(file) :]


def _of_entries(
    entries: list[FileEntry | None], sizes: list[int], page_size: int
) -> tuple[Array, Array, Array]:
    """Return the segments and the cached pages of files (PIECE), and their flags."""
    segments: list[tuple[int, int, int, bool]] = []
    cached: list[tuple[int, int, int, bool]] = []
    flags = np.zeros(len(sizes), np.uint8)
    for file, (entry, size) in enumerate(zip(entries, sizes, strict=True)):
        if entry is None:
            continue
        segments += [
            (part.at // page_size, -(-(part.at + part.length) // page_size), file, part.executable)
            for part in entry.segments or ()
            if part.length and part.at + part.length <= _MOST_BYTES - page_size
        ]
        pages = -(-size // page_size)
        most = min(pages, MOST_PAGES) if pages > 0 else MOST_PAGES
        runs = [(first, min(first + number, most)) for first, number in entry.cached_pages or ()]
        cached += [(first, end, file, False) for first, end in runs if first < end]
        flags[file] |= FileFlag.LINK if entry.link else 0
        flags[file] |= FileFlag.PROGRAM if entry.segments else 0
        flags[file] |= FileFlag.CACHED_KNOWN if entry.cached_pages is not None else 0
    return np.array(segments, PIECE), np.array(cached, PIECE), flags
