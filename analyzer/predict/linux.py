"""Predicts the reads of the kernel's readahead at every window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.predict.clusters import in_clusters, unpredicted
from foreread.analyzer.predict.conclusion import conclude
from foreread.analyzer.predict.counts import FIXED, Counts, count_fixed, total_of
from foreread.analyzer.predict.doubts.counts import of_counts
from foreread.analyzer.predict.doubts.doubt import Doubt
from foreread.analyzer.predict.doubts.kernel import of_model
from foreread.analyzer.predict.doubts.recording import block_notes
from foreread.analyzer.predict.doubts.start import of_seconds
from foreread.analyzer.predict.inputs import ASSUMED_KB, LARGEST, Inputs, inputs
from foreread.analyzer.predict.prediction import Prediction
from foreread.analyzer.predict.seconds import Seconds, time_starts
from foreread.boards.base.counted import plural
from foreread.boards.base.note import Note, NoteKind
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.linux.rules import (
    KernelError,
    Version,
    rules_for,
    series_text,
    version_of,
    version_text,
)
from foreread.emulator.linux.windows import Emulation
from foreread.tracer.formats.capture import dev_of, dev_text

PREFIX = "linux"


def model_for(recording: Recording) -> str:
    """Return the default model for a recording.

    It is the kernel's readahead for a recording by foreread at read_ahead_kb=0 on a known kernel,
    otherwise the published fixed window.
    """
    read_ahead_kb = recording.capture.read_ahead_kb
    if read_ahead_kb is None or recording.contaminated or recording.kernel is None:
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
    window. Seconds need the cost of the ``device``, which is estimated from the capture if it is
    None. Without a cost, or with unusable seconds, the verdict is "measure" and says why. ``more``
    are further recordings of the same start, which the seconds are predicted from, too. Raises
    KernelError for a kernel that is unknown, WindowError for invalid windows.
    """
    version = asked_version(recording, model)
    first = inputs(recording, version)
    counts = count_linux(first, version, windows)
    on_model = of_model(recording, version)
    doubts = [*of_counts(counts), *on_model.doubts]
    if counts.clusters:
        missing, ways = unpredicted(recording, counts.clusters)
        return conclude(counts, missing, [*doubts, Doubt(missing.why)], [*on_model.notes, *ways])
    recorded = [first, *(inputs(each, version) for each in more)]
    seconds = time_starts(recorded, version, device, counts)
    if isinstance(seconds, Seconds):
        doubts += of_seconds(seconds)
    return conclude(counts, seconds, doubts, on_model.notes)


def count_linux(start_inputs: Inputs, version: Version, windows: list[int] | None = None) -> Counts:
    """Return the requests and pages by window of a kernel's readahead."""
    recording = start_inputs.recording
    served = dict(zip(start_inputs.disks, start_inputs.reads, strict=True))
    emulations = {
        disk: on_disk(start_inputs, version, row) for row, disk in enumerate(start_inputs.disks)
    }

    def reads(disk: int, windows: Sequence[int]) -> tuple[Array, Array]:
        emulated = emulations[disk].counts(windows)
        return emulated.requests[0], emulated.pages[0]

    fixed = count_fixed(recording, windows, served)
    disks = []
    for disk in fixed.disks:
        f, pages = reads(dev_of(disk.dev), fixed.windows)
        disks.append(replace(disk, f=f, pages=pages))
    return replace(
        fixed,
        model=model_of(version),
        disks=disks,
        total=total_of(disks, fixed.windows),
        reads=reads,
        clusters=in_clusters(recording),
        tails=start_inputs.tails,
        notes=tuple(_notes(start_inputs)),
        on_columns=(_columns(version),),
    )


def on_disk(start_inputs: Inputs, version: Version, row: int) -> Emulation:
    """Return the emulation of the accesses to one disk."""
    program = start_inputs.program
    wanted = (start_inputs.disk_of_file == row)[program.file_of_operations()]
    part = replace(program, operations=program.operations[wanted])
    group = np.zeros(len(program.files), np.uint32)
    machine, limits = start_inputs.machine(row)
    return Emulation(part, rules_for(version), machine, limits, start_inputs.extents, group)


def model_of(version: Version) -> str:
    """Return the model that emulates a kernel: ``linux-6.12``."""
    return f"{PREFIX}-{version_text(version)}"


def release_of(model: str) -> str:
    """Return the kernel of a model: ``6.12`` of ``linux-6.12``; empty if the model names none."""
    return model.partition("-")[2]


def asked_version(recording: Recording, model: str) -> Version:
    """Return the kernel of a ``model``; of "linux", the recording's kernel.

    Raises KernelError for one that is unknown.
    """
    return version_of(_release(recording, model))


def _release(recording: Recording, model: str) -> str:
    if release := release_of(model):
        return release
    if recording.kernel is None:
        raise KernelError(
            "the file does not contain the kernel version",
            "name a version, for example --model linux-5.10",
        )
    return recording.kernel


def _columns(version: Version) -> str:
    return (
        f"F, pages and G unused are those of the readahead of {series_text(version)}; G fixed, "
        "C_opt fixed and the quasi-optimal window are those of the published criterion's fixed "
        "window"
    )


def _notes(start_inputs: Inputs) -> list[str]:
    notes: list[str] = []
    if start_inputs.notes:
        assumptions = "; ".join(start_inputs.notes)
        notes.append(f"assumed for accesses that the capture does not describe: {assumptions}")
    cold = start_inputs.recording.capture.cold
    listed = any(
        e is not None and e.cached_pages is not None for e in start_inputs.recording.entries
    )
    if cold is not None and cold.resident_pages and not listed:
        cached = plural(cold.resident_pages, "page")
        text = (
            f"{cached} that running processes map stayed cached, which ones is not in the capture: "
            "windows that reach them are predicted to read them"
        )
        notes.append(Note(text, NoteKind.ANSWER))
    return [*notes, *block_notes(start_inputs.recording), *_request_limits(start_inputs)]


def _request_limits(start_inputs: Inputs) -> Iterator[str]:
    """Yield a note for each disk whose limit of requests is unknown, or exceeded in the trace."""
    for row, disk in enumerate(start_inputs.disks):
        device, largest = start_inputs.device(row), start_inputs.largest_kb(row)
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
