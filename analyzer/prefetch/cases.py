"""Window and prefetch list compared: predictions with either, both and neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.disk.device_model import DeviceModelError, device_from
from foreread.analyzer.predict.inputs import Inputs, inputs
from foreread.analyzer.predict.kib import emulated_pages
from foreread.analyzer.predict.linux import on_disk, predict_linux, release_of
from foreread.analyzer.predict.prediction import Prediction, Verdict
from foreread.analyzer.predict.start import Start, starts_of
from foreread.analyzer.prefetch.ranges import DEFAULT_GAP, Found, Order, cheapest_gap, find_ranges
from foreread.analyzer.prefetch.replayed import application_ns, beside, with_list, with_replayer
from foreread.boards.base.brief import brief
from foreread.boards.base.note import Note, NoteKind
from foreread.boards.base.units import pages_to_kib
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.linux.rules import KernelError, Version, version_of

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
    """A start with a window, with or without the list.

    ``requests`` and ``read_bytes`` are of file data, from all disks; the bytes read fill memory,
    and the start does not need ``wasted_bytes`` of them. ``seconds`` is None if unusable.
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
    all cases have the present window, and a note says why. For an unknown kernel the result has the
    list only.

    Args:
        recording: a start, read by :func:`foreread.load`.
        order: "access" (as the start accesses the ranges) or "disk" (by place on the disk).
        device_model: what requests of the disk cost, as in :func:`foreread.predict`.
        prediction: the prediction of the kernel's readahead for ``recording``; None: made here.
        only: list only these files, and all files below these folders.

    Raises:
        PrefetchError: nothing can be listed. Also the errors of ``predict``.
    """
    device = device_from(device_model)
    try:
        prediction = prediction or predict_linux(recording, device=device)
    except KernelError as error:
        gap = DEFAULT_GAP if device is None else cheapest_gap(device, recording.page_size)
        list_found = find_ranges(recording, order, gap, only)
        unpredicted = Note(f"no prediction: {error}", NoteKind.ANSWER)
        return Comparison(list_found, (), (unpredicted, *_incomplete(recording)))
    version = version_of(release_of(prediction.model))
    start = _start(recording, prediction, device)
    start_inputs = inputs(recording, version) if start is None else start.inputs
    gap = DEFAULT_GAP if start is None else cheapest_gap(start.device, recording.page_size)
    list_found = find_ranges(recording, order, gap, only)
    windows = _windows(prediction)
    cases = _counted(start_inputs, version, list_found, windows)
    notes: list[str] = [*_incomplete(recording), *_unchanged(prediction.verdict)]
    if start is not None and prediction.total.seconds is not None:
        seconds = _seconds(start, start_inputs, list_found, windows)
        cases = [replace(case, seconds=s) for case, s in zip(cases, seconds, strict=True)]
        notes.append(Note(_replayer(recording), NoteKind.BASIS))
        notes += [
            Note(f"doubt about the seconds: {doubt}", NoteKind.ANSWER)
            for doubt in prediction.doubts
        ]
    return Comparison(list_found, tuple(cases), tuple(notes))


def _replayer(recording: Recording) -> str:
    """Return the assumption of the seconds about the replayer."""
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
    """Return why all cases have the present window, and the remedy; empty if not all do."""
    if verdict.action == "set":
        return []
    remedy = "" if verdict.remedy is None else f" -- {verdict.remedy}"
    text = f"no window is proposed ({verdict.action}): {verdict.why}{remedy}"
    return [Note(text, NoteKind.ANSWER)]


def _windows(prediction: Prediction) -> tuple[int, int]:
    """Return the present window and the verdict's window, in pages."""
    current = prediction.reference.kb
    proposed_kb = prediction.verdict.read_ahead_kb
    proposed = current if proposed_kb is None else proposed_kb
    now, then = (emulated_pages(kb, prediction.page_size) for kb in (current, proposed))
    return now, then


def _counted(
    start_inputs: Inputs, version: Version, list_found: Found, windows: Sequence[int]
) -> list[Case]:
    """Return the cases without seconds."""
    page = start_inputs.recording.page_size
    tap = int(start_inputs.recording.accesses.rows)
    counts = np.zeros((2, 2, len(windows)), np.int64)  # listed, requests or pages, window
    for row in range(len(start_inputs.disks)):
        here = [part for part in list_found.rows if start_inputs.disk_of_file[part[0]] == row]
        listed = with_list(start_inputs.program, here, start_inputs.machine(row)[0].io_pages)
        for which, program in enumerate((start_inputs.program, listed)):
            emulated = on_disk(replace(start_inputs, program=program), version, row).counts(windows)
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


def _seconds(
    start: Start, start_inputs: Inputs, list_found: Found, windows: Sequence[int]
) -> list[float]:
    """Return the seconds of the cases."""
    host = start_inputs.recording.capture.host
    here = [
        part
        for part in list_found.rows
        if start_inputs.disks[int(start_inputs.disk_of_file[part[0]])] == start.disk
    ]
    cpus = host.cpu_count if host else 1
    run = with_replayer(start.run, here, cpus, start.opening)
    listed = replace(start, run=run)
    recorded = start.timed([0])[0]
    threads = np.unique(start.run.steps["thread"]).tolist()
    alone = [timed.total_ns for timed in start.timed(windows)]
    with_it = [
        application_ns(run, timed, threads)
        for timed in listed.timed(windows, recorded=beside(recorded, run))
    ]
    return [ns / 1e9 for ns in (*alone, *with_it)]
