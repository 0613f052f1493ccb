"""Predicts the reads of the kernel's readahead at every window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from analyzer.ingest.interpret import dev_of
from analyzer.ingest.recording import Recording
from analyzer.predict.clusters import in_clusters, unpredicted
from analyzer.predict.criterion import pareto_front
from analyzer.predict.inputs import ASSUMED_KB, LARGEST, Inputs, inputs
from analyzer.predict.judged import readahead_judged
from analyzer.predict.no_window import with_known_windows
from analyzer.predict.prediction import Curve, Prediction
from analyzer.predict.recorded import block_notes, of_recording
from analyzer.predict.recorded_window import differences
from analyzer.predict.seconds import with_seconds
from analyzer.predict.window import predict
from boards.base.counted import plural
from boards.base.note import Note, NoteKind
from emulator.devices.device import DeviceModel
from emulator.linux.rules import NEWEST_READ, KernelError, Version, is_unread, rules_for, version_of
from emulator.linux.windows import Emulated, Emulation
from tracer.formats.capture import dev_text

PREFIX = "linux"
FIXED = "fixed"


def model_for(recording: Recording) -> str:
    """Return the default model for a recording.

    It is the kernel's readahead for a recording by foreread at read_ahead_kb=0 on a known kernel,
    otherwise the published fixed window.
    """
    if recording.capture is None or recording.contaminated or recording.kernel is None:
        return FIXED
    try:
        rules_for(version_of(recording.kernel))
    except KernelError:
        return FIXED
    return PREFIX


def predict_linux(
    recording: Recording,
    model: str = PREFIX,
    windows: list[int] | None = None,
    device: DeviceModel | None = None,
    more: Sequence[Recording] = (),
) -> Prediction:
    """Predict F and pages of the kernel's readahead by disk and in total, and seconds.

    ``model`` is "linux" (the capture's kernel) or "linux-X.Y". F, pages, G and the front are the
    kernel's; C_opt, G_formula and the windows chosen by them stay those of the published fixed
    window (:func:`predict`). Seconds need the cost of the ``device``, which is estimated from the
    capture if it is None. Without a cost, or with unusable seconds, the verdict is "measure" and
    says why. ``more`` are further recordings of the same start, which the seconds are predicted
    from, too. Raises KernelError for a kernel that is unknown, else as predict.
    """
    version = asked_version(recording, model)
    first = inputs(recording, version)
    counted = count_linux(first, version, windows)
    clustered = in_clusters(recording)
    if clustered:
        return with_known_windows(unpredicted(counted, recording, clustered), recording)
    starts = [first, *(inputs(each, version) for each in more)]
    return with_known_windows(with_seconds(counted, starts, version, device), recording)


def count_linux(taken: Inputs, version: Version, windows: list[int] | None = None) -> Prediction:
    """Return the prediction of F and pages by a kernel's readahead, without seconds."""
    recording = taken.recording
    fixed = predict(recording, windows)
    emulations = {disk: on_disk(taken, version, row) for row, disk in enumerate(taken.disks)}
    windows = fixed.total.windows
    counts = {disk: emulation.counts(windows) for disk, emulation in emulations.items()}
    devices = [_with(curve, counts[dev_of(curve.dev)]) for curve in fixed.devices]

    def replay(disk: int, window: int) -> tuple[int, int]:
        counted = emulations[disk].counts([window])
        return int(counted.requests.sum()), int(counted.pages.sum())

    own = readahead_judged(recording, version)
    doubts = (
        *(finding.text for finding in of_recording(recording)),
        *(() if in_clusters(recording) else differences(recording, devices, replay)),
        *_unread(version),
        *own.doubts,
    )
    return replace(
        fixed,
        model=f"{PREFIX}-{'.'.join(map(str, version))}",
        devices=devices,
        total=total_of(fixed.total, devices),
        notes=(*fixed.notes, *_notes(taken), *own.notes),
        criterion_notes=(_columns(version), *fixed.criterion_notes),
        doubts=tuple(dict.fromkeys(doubts)),
    )


def on_disk(taken: Inputs, version: Version, row: int) -> Emulation:
    """Return the emulation of the accesses to one disk."""
    program = taken.program
    wanted = (taken.disk_of_file == row)[program.file_of_operations()]
    part = replace(program, operations=program.operations[wanted])
    group = np.zeros(len(program.files), np.uint32)
    machine, limits = taken.machine(row)
    return Emulation(part, rules_for(version), machine, limits, taken.extents, group)


def asked_version(recording: Recording, model: str) -> Version:
    """Return the kernel of a ``model``: of "linux", that of the recording.

    Raises KernelError for one that is unknown.
    """
    return version_of(_release(recording, model))


def _release(recording: Recording, model: str) -> str:
    _, _, asked = model.partition("-")
    if asked:
        return asked
    if recording.kernel is None:
        raise KernelError(
            "the file does not contain the kernel version",
            "name a version, for example --model linux-5.10",
        )
    return recording.kernel


def _with(curve: Curve, counts: Emulated) -> Curve:
    return with_counts(curve, counts.requests[0].tolist(), counts.pages[0].tolist())


def total_of(total: Curve, devices: Sequence[Curve]) -> Curve:
    """Return the total with F and pages of its disks added."""
    nothing = [0] * len(total.windows)
    f = [sum(column) for column in zip(nothing, *(d.f for d in devices), strict=True)]
    pages = [sum(column) for column in zip(nothing, *(d.pages for d in devices), strict=True)]
    return with_counts(total, f, pages)


def with_counts(curve: Curve, f: list[int], pages: list[int]) -> Curve:
    """Return a curve with other requests F and pages by window."""
    wasted = [max(n - curve.tap, 0) for n in pages]
    front = pareto_front(curve.windows, f, wasted)
    return structs.replace(curve, f=f, pages=pages, g=wasted, pareto=front)


def _unread(version: Version) -> Iterator[str]:
    if is_unread(version):
        asked, known = (".".join(map(str, each[:2])) for each in (version, NEWEST_READ))
        yield (
            f"Linux {asked} is newer than the newest kernel whose readahead is known, {known}: "
            f"it is taken to read as Linux {known} does"
        )


def _columns(version: Version) -> str:
    name = ".".join(map(str, version[:2]))
    return (
        f"F, pages and G unused are those of the readahead of Linux {name}; G fixed, C_opt fixed "
        "and the quasi-optimal window are those of the published criterion's fixed window"
    )


def _notes(taken: Inputs) -> list[str]:
    found: list[str] = []
    if taken.notes:
        found.append(
            f"assumed for accesses that the capture does not describe: {'; '.join(taken.notes)}"
        )
    capture = taken.recording.capture
    listed = any(e is not None and e.cached_pages is not None for e in taken.recording.entries)
    if capture is not None and capture.cold.resident_pages and not listed:
        cached = plural(capture.cold.resident_pages, "page")
        text = (
            f"{cached} that running processes map stayed cached, which ones is not in the capture: "
            "windows that reach them are predicted to read them"
        )
        found.append(Note(text, NoteKind.ANSWER))
    return [*found, *block_notes(taken.recording), *_request_limits(taken)]


def _request_limits(taken: Inputs) -> Iterator[str]:
    """Yield a note for each disk whose limit of requests is unknown, or exceeded in the trace."""
    for row, disk in enumerate(taken.disks):
        device, largest = taken.device(row), taken.largest_kb(row)
        known = device.queue.get(LARGEST, "") if device else ""
        if not known.isdecimal():
            yield Note(
                f"{device.name if device else dev_text(disk)}: its {LARGEST} is unknown, requests "
                f"of up to {max(ASSUMED_KB, largest):,} KiB are assumed",
                NoteKind.ANSWER,
            )
        elif device and int(known) < largest - 1:
            yield (
                f"{device.name}: {LARGEST} was {known} according to the capture, but the trace has "
                f"a read of {largest} KiB: requests of up to {largest} KiB are predicted"
            )
