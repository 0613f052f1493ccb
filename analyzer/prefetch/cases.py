"""Window and prefetch list compared: predictions with either, both and neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from analyzer.ingest.arguments import StrPath
from analyzer.ingest.recording import Recording
from analyzer.predict.disk.device_model import DeviceModelError, device_from
from analyzer.predict.inputs import Inputs, inputs
from analyzer.predict.kib import emulated_pages
from analyzer.predict.linux import PREFIX, on_disk, predict_linux
from analyzer.predict.prediction import Prediction, Verdict
from analyzer.predict.start import Start, starts_of
from analyzer.prefetch.ranges import DEFAULT_GAP, Found, Order, cheapest_gap, find_ranges
from analyzer.prefetch.replayed import application_ns, beside, with_list, with_replayer
from boards.base.brief import brief
from boards.base.note import Note, NoteKind
from boards.base.units import pages_to_kib
from emulator.devices.device import DeviceModel
from emulator.linux.rules import KernelError, Version, version_of

CaseName = Literal["neither", "window", "list", "both"]
CASES: tuple[CaseName, ...] = get_args(CaseName)
REPLAYER = (
    "the replayer begins with the start, reads the metadata of opening the list's files, and stays "
    "512 KiB ahead; its own program and list are not read from the disk"
)

OF_BOOT = (
    "the boot script starts the replayer, which reads itself, the C library and its list from the "
    "disk, and then stays 512 KiB ahead; measured boots with a list took 2 % less to 2 % longer "
    "than predicted"
)


@dataclass(frozen=True, repr=False)
class Case:
    """A start with a window, and with the list or without.

    ``requests`` and ``read_bytes`` are of file data, from all disks; the bytes read fill memory;
    the start does not need ``wasted_bytes`` of them. ``seconds`` is None if unusable.
    """

    __repr__ = brief

    name: CaseName
    read_ahead_kb: int
    requests: int
    read_bytes: int
    wasted_bytes: int
    seconds: float | None = None


@dataclass(frozen=True, repr=False)
class Comparison:
    """The list of a recording, and the four cases in the order of CASES."""

    __repr__ = brief

    found: Found
    cases: tuple[Case, ...]
    notes: tuple[str, ...]


def compare(
    recording: Recording,
    order: Order = "access",
    device_model: DeviceModel | StrPath | None = None,
    prediction: Prediction | None = None,
    only: Sequence[str] = (),
) -> Comparison:
    """Make a recording's list, and predict it against the proposed window.

    The four cases are a start with neither, with the proposed window, with the list, with both.
    They have seconds where the prediction has usable ones; where the verdict proposes no window,
    all cases have the present window, and a note says why. Of a kernel that is unknown there is the
    list alone.

    Args:
        recording: a start, read by :func:`foreread.load`.
        order: "access" (as the start accesses the ranges) or "disk" (by place on the disk).
        device_model: what requests of the disk cost, as in :func:`foreread.predict`.
        prediction: that of the kernel's readahead for ``recording``; None: made here.
        only: list these files alone, and all that is below these folders.

    Raises:
        PrefetchError: nothing can be listed; and what ``predict`` raises.
    """
    device = device_from(device_model)
    try:
        prediction = prediction or predict_linux(recording, device=device)
    except KernelError as error:
        gap = DEFAULT_GAP if device is None else cheapest_gap(device, recording.page_size)
        found = find_ranges(recording, order, gap, only)
        unpredicted = Note(f"no prediction: {error}", NoteKind.ANSWER)
        return Comparison(found, (), (unpredicted, *_incomplete(recording)))
    version = version_of(prediction.model.removeprefix(f"{PREFIX}-"))
    start = _start(recording, prediction, device)
    taken = inputs(recording, version) if start is None else start.taken
    gap = DEFAULT_GAP if start is None else cheapest_gap(start.device, recording.page_size)
    found = find_ranges(recording, order, gap, only)
    windows = _windows(prediction)
    cases = _counted(taken, version, found, windows)
    notes: list[str] = [*_incomplete(recording), *_unchanged(prediction.verdict)]
    if start is not None and prediction.total.seconds is not None:
        seconds = _seconds(start, taken, found, windows)
        cases = [replace(case, seconds=s) for case, s in zip(cases, seconds, strict=True)]
        notes.append(Note(_replayer(recording), NoteKind.BASIS))
        notes += [
            Note(f"doubt about the seconds: {doubt}", NoteKind.ANSWER)
            for doubt in prediction.doubts
        ]
    return Comparison(found, tuple(cases), tuple(notes))


def _replayer(recording: Recording) -> str:
    """Return what the seconds with a list assume of the replayer."""
    return REPLAYER if recording.capture.boot is None else OF_BOOT


def _start(
    recording: Recording, prediction: Prediction, device: DeviceModel | None
) -> Start | None:
    """Return the start to replay; None if the verdict of its prediction rules it out."""
    try:
        return starts_of(prediction, [recording], device)[0]
    except DeviceModelError:
        return None


def _incomplete(recording: Recording) -> list[str]:
    if not recording.contaminated:
        return []
    text = (
        "recorded with readahead on: accesses that it hid are missing in the list; record again "
        "with --read-ahead-kb 0"
    )
    return [Note(text, NoteKind.ANSWER)]


def _unchanged(verdict: Verdict) -> list[str]:
    """Return why the cases compare no other window than the present one, and the remedy."""
    if verdict.action == "set":
        return []
    remedy = "" if verdict.remedy is None else f" -- {verdict.remedy}"
    text = f"no window is proposed ({verdict.action}): {verdict.why}{remedy}"
    return [Note(text, NoteKind.ANSWER)]


def _windows(prediction: Prediction) -> tuple[int, int]:
    """Return the present window, and that of the verdict, in pages."""
    current = prediction.reference.kb
    asked = prediction.verdict.read_ahead_kb
    proposed = current if asked is None else asked
    now, then = (emulated_pages(kb, prediction.page_size) for kb in (current, proposed))
    return now, then


def _counted(taken: Inputs, version: Version, found: Found, windows: Sequence[int]) -> list[Case]:
    """Return the cases without seconds."""
    page = taken.recording.page_size
    tap = int(taken.recording.accesses.rows)
    counts = np.zeros((2, 2, len(windows)), np.int64)  # listed, requests or pages, window
    for row in range(len(taken.disks)):
        here = [one for one in found.rows if taken.disk_of_file[one[0]] == row]
        listed = with_list(taken.program, here, taken.machine(row)[0].io_pages)
        for which, program in enumerate((taken.program, listed)):
            emulated = on_disk(replace(taken, program=program), version, row).counts(windows)
            counts[which] += np.stack((emulated.requests[0], emulated.pages[0]))
    return [
        Case(
            name,
            pages_to_kib(windows[at % 2], page),
            int(counts[at // 2, 0, at % 2]),
            int(counts[at // 2, 1, at % 2]) * page,
            max(int(counts[at // 2, 1, at % 2]) - tap, 0) * page,
        )
        for at, name in enumerate(CASES)
    ]


def _seconds(start: Start, taken: Inputs, found: Found, windows: Sequence[int]) -> list[float]:
    """Return the seconds of the cases."""
    host = taken.recording.capture.host
    here = [one for one in found.rows if taken.disks[int(taken.disk_of_file[one[0]])] == start.disk]
    cpus = host.cpu_count if host else 1
    run = with_replayer(start.run, here, cpus, start.opening)
    listed = replace(start, run=run)
    recorded = start.timed([0])[0]
    threads = np.unique(start.run.steps["thread"]).tolist()
    alone = [one.total_ns for one in start.timed(windows)]
    with_it = [
        application_ns(run, one, threads)
        for one in listed.timed(windows, recorded=beside(recorded, run))
    ]
    return [ns / 1e9 for ns in (*alone, *with_it)]
