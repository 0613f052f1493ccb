"""The ranges of files that a start needs, merged and in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.prefetch.listing import (
    LARGEST_RANGE,
    Listing,
    PrefetchError,
    Range,
    can_be_listed,
)
from foreread.boards.base.brief import brief
from foreread.emulator.devices.device import DeviceModel

Order = Literal["access", "disk"]
ORDERS: tuple[Order, ...] = get_args(Order)
DEFAULT_GAP = 16 << 10  # bytes, for an unknown device: between flash and a disk
LARGEST_GAP = 256 << 10
_FAR = 1 << 62  # after all files with a place
_AGAIN = 64  # requests: the limits of a paced device act on sums
_SECTOR = 512


@dataclass(frozen=True, repr=False)
class Found:
    """A list, and its cost: ``needed_bytes`` of it are accessed, ``gap_bytes`` are merged gaps.

    ``unnamed_bytes`` are accessed bytes of files without a known path. ``rows`` (file row of the
    recording, first page, pages) are the ranges.
    """

    __repr__ = brief

    listing: Listing
    rows: tuple[tuple[int, int, int], ...]
    gap_bytes: int
    needed_bytes: int
    unnamed_bytes: int

    @property
    def wasted_bytes(self) -> int:
        """The bytes that the list reads and the start does not need."""
        return self.listing.size_bytes - self.needed_bytes


def find_ranges(
    recording: Recording, order: Order = "access", gap_bytes: int = 0, only: Sequence[str] = ()
) -> Found:
    """Return the list of a recording: its accessed pages, and gaps up to ``gap_bytes``.

    ``only`` are files, and folders with all files below them; without it every file is listed.
    Ranges are ordered by the access to their first page ("access"), or by their place on the disk
    ("disk": FIEMAP; files of unknown place come last). Raises PrefetchError if nothing can be
    listed.
    """
    page = recording.page_size
    named = np.array([can_be_listed(path) for path in recording.paths], bool)
    sizes = recording.files["size_bytes"].tolist()
    chosen = _below(recording.paths, only)
    if only and not chosen.any():
        raise PrefetchError(
            f"the start read no file below {', '.join(only)}",
            "foreread show CAPTURE lists the files that it read",
        )
    accessed = recording.accesses["file"]
    listable = named[accessed] & chosen[accessed]
    file, pages = recording.accesses["file"][listable], recording.accesses["page"][listable]
    rows = [
        part
        for run in merged_ranges(file.astype(np.int64), pages.astype(np.int64), gap_bytes // page)
        for part in _split(run, LARGEST_RANGE // page)
    ]
    if order == "disk":
        rows.sort(key=lambda row: _place(recording, row[0], row[1] * page))
    ranges = [_range(recording.paths, sizes, row, page) for row in rows]
    if not ranges:
        raise PrefetchError(
            "the recording has no path of a file that was read",
            "record with foreread record, which looks up the paths",
        )
    needed = _within(file, pages, np.array(sizes, np.int64), page)
    unnamed = int((~named[accessed] & chosen[accessed]).sum()) * page
    listing = Listing(tuple(ranges), *_about(recording), order)
    return Found(listing, tuple(rows), gap_bytes, needed, unnamed)


def _below(paths: Sequence[str | None], only: Sequence[str]) -> Array:
    """Return a mask of the files that are one of ``only``, or below one; all if there are none."""
    if not only:
        return np.ones(len(paths), bool)
    files, folders = set(only), tuple(f"{path.rstrip('/')}/" for path in only)
    return np.array(
        [path is not None and (path in files or path.startswith(folders)) for path in paths], bool
    )


def merged_ranges(file: Array, page: Array, gap: int) -> Iterator[tuple[int, int, int]]:
    """Yield (file, first page, pages) of accesses in time order, by first access.

    Pages with at most ``gap`` others between them are one range.
    """
    order = np.lexsort((page, file))
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(file[order]) != 0) | (np.diff(page[order]) > gap + 1)
    begin = np.flatnonzero(new)
    if not len(begin):
        return
    last = order[np.append(begin[1:], len(order)) - 1]
    first = order[begin]
    by_time = np.argsort(np.minimum.reduceat(order, begin), kind="stable")
    first, last = first[by_time], last[by_time]
    pages = page[last].astype(np.int64) - page[first].astype(np.int64) + 1
    yield from zip(file[first].tolist(), page[first].tolist(), pages.tolist(), strict=True)


def _split(run: tuple[int, int, int], most: int) -> Iterator[tuple[int, int, int]]:
    file, first, pages = run
    for at in range(first, first + pages, most):
        yield file, at, min(most, first + pages - at)


def _range(
    paths: tuple[str | None, ...], sizes: list[int], row: tuple[int, int, int], page: int
) -> Range:
    file, first, pages = row
    length = pages * page
    if sizes[file] >= 0:
        length = max(min(length, sizes[file] - first * page), 1)
    return Range(paths[file] or "", first * page, length)


def _within(file: Array, page: Array, sizes: Array, page_size: int) -> int:
    """Return the bytes of the pages; the last page of a file ends at the file's end."""
    size = sizes[file.astype(np.int64)]
    rest = np.where(size < 0, page_size, size - page.astype(np.int64) * page_size)
    return int(np.clip(rest, 1, page_size).sum())


def _place(recording: Recording, file: int, at: int) -> tuple[int, int, int, int]:
    """Return the sort key of a position in a file: disk, and the place on it."""
    dev = int(recording.files["dev"][file])
    disk = recording.devices.get(dev, dev)
    entry = recording.entries[file] if file < len(recording.entries) else None
    for extent in (entry.extents if entry else None) or []:
        if extent.at <= at < extent.at + extent.length:
            return disk, dev, extent.physical + at - extent.at, 0
    return disk, _FAR, file, at


def _about(recording: Recording) -> tuple[str, str, str]:
    """Return kernel, board and capture for the list's head."""
    capture, host = recording.capture, recording.capture.host
    if host is None:
        return recording.kernel or "", "", ""
    board = " ".join(filter(None, (host.machine, host.cpu_model)))
    return host.kernel, board, f"{capture.created} {' '.join(capture.command or [])}"


def cheapest_gap(device: DeviceModel, page_size: int) -> int:
    """Return the largest gap (bytes) that a device reads faster than one more request."""
    unit = page_size // _SECTOR
    gap = 0
    while gap < LARGEST_GAP // page_size:
        over = device.queue()
        apart = device.queue()
        joined_ns = apart_ns = 0.0
        for _ in range(_AGAIN):
            joined_ns = over.submit(0.0, 0, (gap + 3) * unit)
            apart.submit(0.0, 0, unit)
            apart_ns = apart.submit(0.0, (gap + 2) * unit, unit)
        if joined_ns > apart_ns:
            break
        gap += 1
    return gap * page_size
