"""Requests and pages by window: by disk and in total, of the fixed window and of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.predict.board_default import default_of
from foreread.analyzer.predict.criterion import (
    c_opt,
    local_minima,
    pareto_front,
    quasi_optimal,
    turning_point,
)
from foreread.analyzer.predict.disks import (
    DiskReads,
    MetadataReads,
    device_of,
    disks_of_files,
    metadata_reads,
    present_kb,
    reads_of,
    sizes_of,
)
from foreread.analyzer.predict.prediction import Columns, Curve
from foreread.analyzer.predict.verdict import Point
from foreread.boards.base.counted import plural
from foreread.boards.base.units import kib_to_pages, pages_to_kib
from foreread.emulator import MAX_WINDOW, FixedWindow, fixed_window
from foreread.emulator.linux.rules import Version
from foreread.tracer.formats.capture import dev_text

DEFAULT_WINDOWS = range(1024)
TOTAL = "total"
FIXED = "fixed"
# Requests and pages of file data that a disk (dev_t) reads under windows (pages).
Reads = Callable[[int, Sequence[int]], tuple[Array, Array]]


class WindowError(AnalyzerError, ValueError):
    """Windows that cannot be predicted; ``remedy`` says what to do."""


@dataclass(frozen=True, eq=False)
class DiskCounts:
    """Requests and pages of one disk, or of all, by window.

    ``fixed`` and ``loaded`` are requests and pages of the published fixed window, ``f`` and
    ``pages`` those of the model. ``tap`` are the pages accessed; ``metadata`` is None if unknown.
    ``dev`` is "major:minor".
    """

    dev: str
    name: str
    tap: int
    fixed: Array
    loaded: Array
    f: Array
    pages: Array
    metadata: MetadataReads | None
    present_kb: int | None
    default_kb: int | None


@dataclass(frozen=True, eq=False)
class Counts:
    """Requests and pages of a start under ``windows`` (pages), which may be a ``subset``.

    ``disks`` are those that were accessed, by falling number of pages. ``version`` is the kernel
    of the model, None for the fixed window; ``reads`` replays any other window. ``at_present`` is
    the fixed window in force. ``requests`` has what each disk served. ``clusters`` are file systems
    in compressed clusters, which the model does not know. ``tails`` are pages (file row, page) that
    are not read from their disk: ends of files in the metadata. ``notes`` and ``on_columns`` are
    about the model and its columns.
    """

    recording: Recording
    model: str
    windows: list[int]
    subset: bool
    disks: Sequence[DiskCounts]
    total: DiskCounts
    at_present: Point | None
    reads: Reads
    requests: Mapping[int, DiskReads]
    version: Version | None = None
    clusters: Sequence[str] = ()
    tails: frozenset[tuple[int, int]] = frozenset()
    notes: tuple[str, ...] = ()
    on_columns: tuple[str, ...] = ()

    @property
    def quasi_optimal(self) -> int:
        """The window with the smallest C_opt."""
        f, tap = self.total.fixed.tolist(), self.total.tap
        return quasi_optimal(c_opt(f, self.windows, tap), self.windows)

    @property
    def present_window(self) -> int | None:
        """The window in force (pages); None if unknown, or beyond what is emulated."""
        return emulated_window(self.total.present_kb, self.recording.page_size)


def count_fixed(
    recording: Recording,
    windows: list[int] | None = None,
    requests: Mapping[int, DiskReads] | None = None,
) -> Counts:
    """Return the counts of the published fixed window (emulator/fixed.py).

    ``windows`` are in pages (default: 0..1023, and that in force if it is larger); ``requests`` are
    those of each disk, if they are at hand. Raises WindowError for invalid windows.
    """
    given = _checked([*DEFAULT_WINDOWS] if windows is None else windows)
    groups = dict(_by_disk(recording))
    present = {disk: _present_window(recording, disk) for disk in groups}
    most = max(given[-1], *(window or 0 for window in present.values()), 0)
    emulated = {disk: _emulate(group, most) for disk, group in groups.items()}

    def reads(disk: int, windows: Sequence[int]) -> tuple[Array, Array]:
        fixed = _emulate(groups[disk], max(windows))
        return fixed.requests[windows], fixed.loaded[windows]

    order = sorted(groups, key=lambda disk: (-emulated[disk].tap, disk))
    first = present[order[0]] if order else None
    own = [] if first is None or windows is not None else [first]
    chosen = sorted({*given, *own})
    served = {disk: reads_of(recording, disk) for disk in order} if requests is None else requests
    disks = [_of_disk(recording, disk, emulated[disk], chosen, served[disk]) for disk in order]
    total = total_of(disks, chosen)
    at_present = None
    if first is not None and total.present_kb is not None:
        f = sum(int(emulated[disk].requests[first]) for disk in order)
        at_present = Point(first, total.present_kb, f, total.tap)
    subset = windows is not None
    return Counts(recording, FIXED, chosen, subset, disks, total, at_present, reads, served)


def total_of(disks: Sequence[DiskCounts], windows: Sequence[int]) -> DiskCounts:
    """Return the sum of disks; the present windows are those of the first, which reads most."""
    nothing = np.zeros(len(windows), np.int64)
    fixed, loaded, f, pages = (
        sum((getattr(disk, name) for disk in disks), nothing)
        for name in ("fixed", "loaded", "f", "pages")
    )
    metadata = [disk.metadata for disk in disks if disk.metadata is not None]
    known = metadata and len(metadata) == len(disks)
    return DiskCounts(
        dev=TOTAL,
        name=TOTAL,
        tap=sum(disk.tap for disk in disks),
        fixed=fixed,
        loaded=loaded,
        f=f,
        pages=pages,
        metadata=sum(metadata, MetadataReads(0, 0)) if known else None,
        present_kb=disks[0].present_kb if disks else None,
        default_kb=disks[0].default_kb if disks else None,
    )


def curve_of(
    counts: DiskCounts, windows: list[int], page_size: int, timed: Columns | None = None
) -> Curve:
    """Return the document of a disk, or of the total; ``timed`` are its seconds."""
    fixed, f, pages = (column.tolist() for column in (counts.fixed, counts.f, counts.pages))
    unused = [max(read - counts.tap, 0) for read in pages]
    coefficients = c_opt(fixed, windows, counts.tap)
    by_window = dict(zip(windows, coefficients, strict=True))
    metadata = counts.metadata
    return Curve(
        dev=counts.dev,
        name=counts.name,
        tap=counts.tap,
        windows=windows,
        read_ahead_kb=[pages_to_kib(window, page_size) for window in windows],
        f=f,
        g=unused,
        g_formula=[n * (w + 1) - counts.tap for n, w in zip(fixed, windows, strict=True)],
        pages=pages,
        c_opt=coefficients,
        seconds=timed.seconds if timed else None,
        quasi_optimal=quasi_optimal(coefficients, windows),
        predicted_best=timed.best if timed else None,
        iterated=turning_point(by_window.__getitem__, windows)[0],
        turning_points=local_minima(coefficients),
        pareto=pareto_front(windows, f, unused),
        current_read_ahead_kb=counts.present_kb,
        default_read_ahead_kb=counts.default_kb,
        seconds_low=timed.low if timed else None,
        seconds_high=timed.high if timed else None,
        smallest_within=timed.smallest_within if timed else None,
        spent=timed.spent if timed else None,
        metadata_requests=metadata.requests if metadata else None,
        metadata_pages=metadata.pages if metadata else None,
        f_fixed=fixed,
    )


def _of_disk(
    recording: Recording, disk: int, fixed: FixedWindow, windows: list[int], served: DiskReads
) -> DiskCounts:
    device = device_of(recording, disk)
    default = default_of(recording, device)
    requests, loaded = fixed.requests[windows], fixed.loaded[windows]
    return DiskCounts(
        dev=dev_text(disk),
        name=device.name if device else dev_text(disk),
        tap=fixed.tap,
        fixed=requests,
        loaded=loaded,
        f=requests,
        pages=loaded,
        metadata=metadata_reads(recording, disk, served),
        present_kb=present_kb(recording, disk),
        default_kb=default.read_ahead_kb if default else None,
    )


def _present_window(recording: Recording, disk: int) -> int | None:
    """Return the window (pages) that a disk had before; None if unknown, or not emulated."""
    return emulated_window(present_kb(recording, disk), recording.page_size)


def emulated_window(kb: int | None, page_size: int) -> int | None:
    """Return a window in pages; None if it is unknown or beyond what is emulated."""
    window = None if kb is None else kib_to_pages(kb, page_size)
    return window if window is not None and 0 <= window <= MAX_WINDOW else None


def _checked(windows: list[int]) -> list[int]:
    chosen = sorted(set(windows))
    if not chosen:
        raise WindowError("the list of windows is empty", "name at least one window")
    if chosen[0] < 0 or chosen[-1] > MAX_WINDOW:
        bad = chosen[0] if chosen[0] < 0 else chosen[-1]
        raise WindowError(
            f"a window of {plural(bad, 'page')} is out of range",
            f"choose windows between 0 and {MAX_WINDOW} pages",
        )
    return chosen


@dataclass(frozen=True)
class Group:
    """One disk's accesses in time order, as the emulator takes them."""

    file: Array
    page: Array
    file_pages: Array


def _by_disk(recording: Recording) -> Iterator[tuple[int, Group]]:
    """Yield (dev_t of the disk, its accesses) of every disk that was accessed."""
    disks, disk_of_file = disks_of_files(recording)
    file, page = recording.accesses["file"], recording.accesses["page"]
    pages = _file_pages(recording)
    if len(disks) == 1 and len(file):
        yield int(disks[0]), Group(file, page, pages)
        return
    disk_of_access = disk_of_file[file]
    order = np.argsort(disk_of_access, kind="stable")
    starts = np.searchsorted(disk_of_access[order], np.arange(len(disks) + 1))
    row = _row_in_disk(disk_of_file)
    for i, disk in enumerate(disks):
        rows = order[starts[i] : starts[i + 1]]
        if len(rows):
            yield int(disk), Group(row[file[rows]], page[rows], pages[disk_of_file == i])


def _row_in_disk(disk_of_file: Array) -> Array:
    """Number the files of each disk from 0."""
    order = np.argsort(disk_of_file, kind="stable")
    ordered = disk_of_file[order]
    row = np.empty(len(order), np.uint32)
    row[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    return row


def _file_pages(recording: Recording) -> Array:
    size = sizes_of(recording)
    # Floor of the negative rounds up without overflow.
    return np.where(size < 0, np.int64(-1), -(-size // recording.page_size))


def _emulate(group: Group, most: int) -> FixedWindow:
    """Return the counts of one disk under every window up to ``most`` pages."""
    arrays = (np.ascontiguousarray(a) for a in (group.file, group.page, group.file_pages))
    return fixed_window(*arrays, max_window=most)
