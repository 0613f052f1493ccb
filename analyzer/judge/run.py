"""Compares one recorded run of all programs at one window with the emulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind, Rwbs
from foreread.analyzer.judge.comparing import (
    Difference,
    Folio,
    Piece,
    compare_requests,
    first_difference,
)
from foreread.analyzer.judge.expected import Emulated, Expected
from foreread.boards.base.counted import plural
from foreread.emulator.linux.requests import EXTENT, SECTOR, Layout, Limits
from foreread.tracer.formats.capture import Extent, dev_of


@dataclass(frozen=True)
class Files:
    """The programs' files: inodes on the file system ``dev`` ("major:minor"), by program.

    ``extents`` (EXTENT, as file 0, in sectors of the disk ``disk``) are None if unknown.
    """

    dev: str
    disk: str
    inodes: Sequence[int]
    extents: Sequence[Array] | None
    limits: Limits


@dataclass
class Compared:
    """The totals of one window's comparison; ``differences`` are by row of the program."""

    folios: int = 0
    requests: int = 0
    merged: int = 0
    uncompared: int = 0  # programs without a comparison of their requests
    differences: dict[int, Difference] = field(default_factory=dict)


def extent_table(extents: Sequence[Extent], first_sector: int) -> Array:
    """Return the extents of a file on a partition that begins at ``first_sector``, as EXTENT."""
    rows = [
        (
            0,
            extent.at // SECTOR,
            first_sector + extent.physical // SECTOR,
            extent.length // SECTOR,
            extent.written,
        )
        for extent in extents
    ]
    return np.array(rows, EXTENT)


def compare(
    emulated: Emulated,
    expected: Sequence[Expected],
    recording: Recording,
    files: Files,
    window: int,
    only: frozenset[int],
) -> Compared:
    """Compare the programs in the rows ``only`` with a recording of them at a window in pages."""
    totals = Compared()
    folios = _folios(recording, files)
    requests = _requests(recording, files)
    # Older kernels' event has no order: large folios then show by their first pages.
    orders = any(order for some in folios for _, order in some) or not emulated.large_folios
    for row in sorted(only):
        task = emulated.tasks[row]
        totals.folios += len(expected[row].folios)
        different = first_difference(task, expected[row], folios[row], window, orders)
        if different is None and requests is not None:
            different = _compare_requests(emulated, expected, files, window, row, requests, totals)
        if different is not None:
            totals.differences[row] = different
    return totals


def _compare_requests(
    emulated: Emulated,
    expected: Sequence[Expected],
    files: Files,
    window: int,
    row: int,
    requests: Sequence[Piece],
    totals: Compared,
) -> Difference | None:
    extents = files.extents[row] if files.extents is not None else np.array([], EXTENT)
    own = [(at, count) for at, count in requests if _is_inside(extents, at)]
    page_size = emulated.machine.page_size
    requested = compare_requests(expected[row], Layout(extents), files.limits, page_size, own)
    if requested is None:
        totals.uncompared += 1
        return None
    totals.requests += requested.expected
    totals.merged += requested.merged
    if requested.difference is None:
        return None
    step = len(emulated.tasks[row].operations) - 1
    expected_text = plural(requested.expected, "request")
    return Difference(emulated.tasks[row], window, step, expected_text, requested.difference)


def _folios(recording: Recording, files: Files) -> list[list[Folio]]:
    """Return the (page, order) that entered the page cache, by program."""
    events = recording.trace.events
    rows = {inode: row for row, inode in enumerate(files.inodes)}
    is_insert = (events["kind"] == Kind.INSERT) & (events["dev"] == dev_of(files.dev))
    folios: list[list[Folio]] = [[] for _ in files.inodes]
    table = events.take(is_insert)
    columns = (table[name].tolist() for name in ("ino", "index", "value"))
    for inode, page, order in zip(*columns, strict=True):
        if inode in rows:
            folios[rows[inode]].append((page, order))
    return folios


def _requests(recording: Recording, files: Files) -> list[Piece] | None:
    """Return the reads of file data that were sent to the disk; None if the extents are unknown."""
    if files.extents is None:
        return None
    table = recording.requests
    flags = table["flags"]
    data = (table["dev"] == dev_of(files.disk)) & ((flags & Rwbs.READ) > 0)
    table = table.take(data & ((flags & Rwbs.META) == 0))
    return list(zip(table["sector"].tolist(), table["sectors"].tolist(), strict=True))


def _is_inside(extents: Array, sector: int) -> bool:
    starts = extents["sector"]
    return bool(((starts <= sector) & (sector < starts + extents["sectors"])).any())
