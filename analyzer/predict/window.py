"""Predicts, from one recording, what every readahead window would have read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from analyzer.error import AnalyzerError
from analyzer.ingest.losses import lost_events
from analyzer.ingest.recording import Recording
from analyzer.ingest.tables import Array
from analyzer.predict import board_default, remedy
from analyzer.predict.basis import supported
from analyzer.predict.criterion import (
    c_opt,
    local_minima,
    pareto_front,
    quasi_optimal,
    turning_point,
)
from analyzer.predict.file_sizes import sizes_note, sizes_of
from analyzer.predict.metadata import metadata_reads
from analyzer.predict.prediction import MINOR_SHARE, Curve, Prediction
from analyzer.predict.recorded import of_recording
from analyzer.predict.recorded_window import differences
from analyzer.predict.stacks import current_kb as found_kb
from analyzer.predict.verdict import Point, decide_by_criterion, decide_without_seconds
from boards.base.counted import plural
from boards.base.note import Note, NoteKind
from boards.base.units import kib_to_pages, pages_to_kib
from emulator import MAX_WINDOW, FixedWindow, fixed_window
from tracer.formats.capture import Device, dev_text

DEFAULT_WINDOWS = range(1024)
TOTAL = "total"
NEEDS_CAPTURE = "predicted seconds need a capture of foreread record, made at read_ahead_kb=0"

ROUGH = "; --model linux-X.Y with --device-model FILE predicts rough ones"


class WindowError(AnalyzerError, ValueError):
    """Windows that cannot be predicted; ``remedy`` says what to do."""


@dataclass(frozen=True)
class Counts:
    """The emulator's counts, at the windows asked for."""

    tap: int
    requests: Array
    loaded: Array

    def take(self, rows: Array) -> Counts:
        """Return the counts at some of the windows."""
        return Counts(self.tap, self.requests[rows], self.loaded[rows])

    def __add__(self, other: Counts) -> Counts:
        """Add another disk's counts under the same windows."""
        return Counts(
            self.tap + other.tap, self.requests + other.requests, self.loaded + other.loaded
        )


def predict(recording: Recording, windows: list[int] | None = None) -> Prediction:
    """Predict F, G and C_opt of the fixed-window model, by disk and in total.

    ``windows`` are in pages (default: 0..1023, and that in force if it is larger); a subset is
    what the optimum is chosen from, too.
    Disks are sorted by falling number of pages accessed. Raises WindowError for invalid windows.
    Source: emulator/fixed.py, analyzer/predict/criterion.py.
    """
    groups = dict(_by_disk(recording))
    asked = _checked(list(DEFAULT_WINDOWS) if windows is None else windows)
    emulated = sorted({*asked, *_current_windows(recording, groups)})
    counts = {disk: _emulate(group, emulated) for disk, group in groups.items()}
    order = sorted(counts, key=lambda disk: (-counts[disk].tap, disk))
    own = _current_windows(recording, order[:1]) if windows is None else []
    chosen = sorted({*asked, *own})
    rows = np.searchsorted(emulated, chosen)
    devices = [_disk_curve(recording, disk, chosen, counts[disk].take(rows)) for disk in order]
    total = sum(counts.values(), _nothing(emulated))
    current = devices[0].current_read_ahead_kb if devices else None
    curve = _curve((TOTAL, TOTAL), chosen, total.take(rows), recording.page_size, current)
    default = devices[0].default_read_ahead_kb if devices else None
    curve = structs.replace(_with_metadata(curve, devices), default_read_ahead_kb=default)
    now = _point(current, recording.page_size, emulated, total)
    doubts = [finding.text for finding in of_recording(recording)]

    def replay(disk: int, window: int) -> tuple[int, int]:
        counted = _emulate(groups[disk], [window])
        return int(counted.requests[0]), int(counted.loaded[0])

    doubts += differences(recording, devices, replay)
    return Prediction(
        kernel=recording.kernel,
        page_size=recording.page_size,
        model="fixed",
        recorded_read_ahead_kb=recording.recorded_read_ahead_kb,
        contaminated=recording.contaminated,
        devices=devices,
        total=curve,
        verdict=supported(decide_without_seconds(curve, *_no_seconds(recording)), recording),
        published=supported(decide_by_criterion(curve, now), recording),
        lost_events=lost_events(recording),
        doubts=tuple(doubts),
        notes=(
            *_unlike_windows(devices),
            *board_default.notes(recording, {device.dev for device in devices}),
            *(note for note in recording.notes if note not in doubts),
            *_notes(recording, curve, windows is not None),
        ),
        criterion_notes=(_several_minima(curve),) if curve.turning_points > 1 else (),
    )


def _no_seconds(recording: Recording) -> tuple[str, str]:
    """Return why the fixed window has no seconds, and the command that obtains them."""
    if recording.capture is None or recording.contaminated:
        rough = "" if recording.contaminated else ROUGH
        return f"{NEEDS_CAPTURE}{rough}", remedy.record_again(recording)
    return "the fixed-window model predicts no seconds", remedy.with_seconds(recording)


def _current_kb(recording: Recording, disk: int) -> int | None:
    """Return the window that a disk had before the recording; None if unknown.

    That in the events of another tool's trace, unless it was recorded without readahead.
    """
    seen = recording.windows
    if seen is not None:
        return pages_to_kib(seen.pages.get(disk, 0), recording.page_size) or None
    dev = dev_text(disk)
    found = found_kb(recording.capture, dev)
    device = _device(recording, dev)
    return device.read_ahead_kb_before if found is None and device else found


def _current_windows(recording: Recording, disks: Iterable[int]) -> list[int]:
    """Return the windows that disks had before the recording, as far as emulated ones go."""
    found = {_current_kb(recording, disk) for disk in disks}
    windows = {kib_to_pages(kb, recording.page_size) for kb in found if kb is not None}
    return [window for window in windows if 0 <= window <= MAX_WINDOW]


def _point(
    current_kb: int | None, page_size: int, emulated: list[int], total: Counts
) -> Point | None:
    """Return the figures of the whole run at the current window, if that was emulated."""
    window = None if current_kb is None else kib_to_pages(current_kb, page_size)
    if window is None or window not in emulated or current_kb is None:
        return None
    return Point(window, current_kb, int(total.requests[emulated.index(window)]), total.tap)


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


def disks_of_files(recording: Recording) -> tuple[Array, Array]:
    """Return the disks' dev_t, and for each file the index of its disk."""
    devs, dev_of_file = np.unique(recording.files["dev"], return_inverse=True)
    disk_of_dev = np.array([recording.devices.get(int(d), int(d)) for d in devs], np.uint64)
    disks, index = np.unique(disk_of_dev, return_inverse=True)
    return disks, index[dev_of_file]


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


def _emulate(group: Group, windows: list[int]) -> Counts:
    arrays = (np.ascontiguousarray(a) for a in (group.file, group.page, group.file_pages))
    result: FixedWindow = fixed_window(*arrays, max_window=windows[-1])
    return Counts(result.tap, result.requests[windows], result.loaded[windows])


def _nothing(windows: Sequence[int]) -> Counts:
    zeros = np.zeros(len(windows), np.int64)
    return Counts(0, zeros, zeros)


def _disk_curve(recording: Recording, disk: int, windows: list[int], counts: Counts) -> Curve:
    dev = dev_text(disk)
    device = _device(recording, dev)
    names = (dev, device.name if device else dev)
    current = _current_kb(recording, disk)
    curve = _curve(names, windows, counts, recording.page_size, current)
    if default := board_default.default_of(recording, device):
        curve = structs.replace(curve, default_read_ahead_kb=default.read_ahead_kb)
    beside = metadata_reads(recording, disk)
    if beside is None:
        return curve
    return structs.replace(curve, metadata_requests=beside.requests, metadata_pages=beside.pages)


def _with_metadata(total: Curve, devices: list[Curve]) -> Curve:
    """Return the total with the metadata of all disks, if all of it is known."""
    requests = [device.metadata_requests for device in devices]
    pages = [device.metadata_pages for device in devices]
    if None in requests or None in pages or not devices:
        return total
    return structs.replace(
        total,
        metadata_requests=sum(filter(None, requests)),
        metadata_pages=sum(filter(None, pages)),
    )


def _device(recording: Recording, dev: str) -> Device | None:
    devices = recording.capture.devices if recording.capture else []
    return next((device for device in devices if device.dev == dev), None)


def _curve(
    names: tuple[str, str],
    windows: list[int],
    counts: Counts,
    page_size: int,
    current_read_ahead_kb: int | None,
) -> Curve:
    requests: list[int] = counts.requests.tolist()
    wasted: list[int] = (counts.loaded - counts.tap).tolist()
    coefficients = c_opt(requests, windows, counts.tap)
    by_window = dict(zip(windows, coefficients, strict=True))
    return Curve(
        dev=names[0],
        name=names[1],
        tap=counts.tap,
        windows=windows,
        read_ahead_kb=[pages_to_kib(w, page_size) for w in windows],
        f=requests,
        g=wasted,
        g_formula=[f * (w + 1) - counts.tap for f, w in zip(requests, windows, strict=True)],
        pages=counts.loaded.tolist(),
        c_opt=coefficients,
        seconds=None,
        quasi_optimal=quasi_optimal(coefficients, windows),
        predicted_best=None,
        iterated=turning_point(by_window.__getitem__, windows)[0],
        turning_points=local_minima(coefficients),
        pareto=pareto_front(windows, requests, wasted),
        current_read_ahead_kb=current_read_ahead_kb,
        f_fixed=requests,
    )


def _notes(recording: Recording, total: Curve, subset: bool) -> Iterator[str]:
    yield from filter(None, [sizes_note(recording)])
    if subset:
        given = plural(len(total.windows), "given window")
        yield Note(f"the optimum is chosen only from {given}", NoteKind.BASIS)
    yield from _split_requests(recording, total)


def _unlike_windows(devices: list[Curve]) -> Iterator[Note]:
    """Yield a note if the verdict compares with a window that not every disk has."""
    known = [curve for curve in devices if curve.current_read_ahead_kb is not None]
    if len({curve.current_read_ahead_kb for curve in known}) <= 1:
        return
    each = ", ".join(f"{curve.name} {curve.current_read_ahead_kb} KiB" for curve in known)
    least = MINOR_SHARE * sum(curve.tap for curve in devices)
    weighty = {curve.current_read_ahead_kb for curve in known if curve.tap >= least}
    yield Note(
        f"the disks have different windows now ({each}): the verdict compares with the first",
        NoteKind.ANSWER if len(weighty) > 1 else NoteKind.DETAIL,
    )


def _several_minima(total: Curve) -> str:
    search = f"the exhaustive search found {plural(total.quasi_optimal, 'page')}"
    agreement = "the same" if total.iterated == total.quasi_optimal else f"{total.iterated}"
    return (
        f"C_opt has {total.turning_points} local minima, not one as the paper noted: {search}, "
        f"the turning-point iteration {agreement}"
    )


def _split_requests(recording: Recording, total: Curve) -> Iterator[str]:
    best_kb = total.read_ahead_kb[total.windows.index(total.quasi_optimal)]
    for device in recording.capture.devices if recording.capture else []:
        limit = device.queue.get("max_sectors_kb", "")
        if limit.isdecimal() and 0 < int(limit) < best_kb:
            yield (
                f"{device.name} splits requests above {limit} KiB (max_sectors_kb): "
                f"F counts a window of {best_kb} KiB as one request"
            )
