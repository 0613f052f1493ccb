"""What the page embeds of a recorded start: the inputs of the emulation, and the known answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from foreread.analyzer.predict.clusters import in_clusters
from foreread.analyzer.predict.disk.device_model import DeviceModelError
from foreread.analyzer.predict.inputs import Inputs, inputs
from foreread.analyzer.predict.prediction import Curve
from foreread.analyzer.predict.seconds import LADDER
from foreread.analyzer.predict.start import MOST_REQUESTS, Start, starts_of
from foreread.analyzer.report.by_seconds import RULES
from foreread.analyzer.report.live.columns import packed
from foreread.analyzer.report.live.kernels import kernels_of
from foreread.analyzer.report.subject import Subject
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.linux.timed_windows import device_numbers
from foreread.emulator.linux.windows import MAX_WINDOW

_FEWEST_WINDOWS = 1023
_MOST_US = (1 << 32) - 1
# When, on the recorded clock and for the map alone, a page was accessed.
_ACCESS = np.dtype([("page", "u8"), ("file", "u4"), ("time_us", "u4")], align=True)


@dataclass(frozen=True)
class Live:
    """``meta`` becomes JSON, ``planes`` are its tables; ``start`` is None without seconds."""

    meta: dict[str, Any]
    planes: bytes
    start: Start | None


def live_inputs(subject: Subject, device: DeviceModel | None = None) -> Live | None:
    """Return what a start is emulated from; None for one that only the fixed window predicts.

    ``device`` is the disk that the prediction was made for, None for the recording's.
    """
    version = subject.version
    recording = subject.recording
    if version is None or not recording.accesses.rows or in_clusters(recording):
        return None
    start = _start(subject, device)
    program_inputs = inputs(recording, version) if start is None else start.inputs
    order = _disks(program_inputs, start)
    of_disk = program_inputs.disk_of_file[program_inputs.program.file_of_operations()]
    rows = [np.flatnonzero(of_disk == disk) for disk in order]
    kernels = kernels_of(program_inputs, version)
    tables = _tables(subject, program_inputs, np.concatenate(rows), kernels.classes)
    if start is not None:
        tables["steps"] = start.run.steps
    directory, planes = packed(tables)
    ends = np.cumsum([len(disk_rows) for disk_rows in rows]).tolist()
    meta = {
        "tables": directory,
        "page_size": recording.page_size,
        "paths": [subject.path(file) for file in range(recording.files.rows)],
        "rules": [RULES[cause] for cause in sorted(RULES)],
        "disks": [
            {"operations": [end - len(disk_rows), end], "machine": _machine(program_inputs, disk)}
            for disk, disk_rows, end in zip(order, rows, ends, strict=True)
        ],
        "kernels": [
            {**kind, "io_pages": [kind["io_pages"][disk] for disk in order]}
            for kind in kernels.kinds
        ],
        "options": kernels.options,
        "recorded_kernel": {"name": recording.kernel, "row": kernels.recorded},
        "run": None if start is None else _run(start),
        "tap": subject.prediction.total.tap,
        "windows": _windows(subject),
        "known": _known(subject.prediction.total),
    }
    return Live(meta, planes, start)


def _start(subject: Subject, device: DeviceModel | None) -> Start | None:
    """Return the start that seconds are replayed from; None if they are unknown or unusable."""
    if subject.prediction.total.seconds is None:
        return None
    try:
        return starts_of(subject.prediction, [subject.recording], device)[0]
    except DeviceModelError:
        return None


def _disks(program_inputs: Inputs, start: Start | None) -> list[int]:
    """Return the rows of the disks, the disk of the seconds first."""
    disks = list(range(len(program_inputs.disks)))
    if start is not None:
        disks.sort(key=lambda row: program_inputs.disks[row] != start.disk)
    return disks


def _tables(
    subject: Subject, program_inputs: Inputs, rows: npt.NDArray[np.int64], classes: npt.NDArray[Any]
) -> dict[str, npt.NDArray[Any]]:
    program, accesses = program_inputs.program, subject.recording.accesses
    access = np.zeros(accesses.rows, _ACCESS)
    access["file"], access["page"] = accesses["file"], accesses["page"]
    access["time_us"] = _since_us(subject, accesses["time_ns"])
    return {
        "operations": program.operations[rows],
        "times_us": _since_us(subject, program_inputs.times[rows]),
        "mappings": program.mappings,
        "handles": program.handles,
        "files": program.files,
        "file_kinds": classes,
        "extents": np.sort(program_inputs.extents, order=["file", "at"]),
        "accesses": access,
    }


def _since_us(subject: Subject, time_ns: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    """Return microseconds since the start; 0 for what was before it."""
    since = (time_ns.astype(np.int64) - subject.start_ns) // 1000
    return np.clip(since, 0, _MOST_US).astype(np.uint32)


def _machine(program_inputs: Inputs, disk: int) -> dict[str, int]:
    """Return the numbers of struct lx_machine by name, in their order."""
    machine, limits = program_inputs.machine(disk)
    return asdict(machine) | asdict(limits)


def _run(start: Start) -> dict[str, Any]:
    numbers = device_numbers(start.device)
    return {
        "tail_ns": float(start.run.tail_ns),
        "cpus": start.run.cpus,
        "ends": start.run.ends,
        "n_ends": int(start.run.steps["thread"].max(initial=0)) + 1,
        "device": [None if number == inf else float(number) for number in numbers],
        "cost": start.cpu.numbers,
        "unplugged_ns": start.unplugged_ns,
        "most_requests": MOST_REQUESTS,
    }


def _windows(subject: Subject) -> dict[str, Any]:
    now, proposed = min(subject.current_window, MAX_WINDOW), _proposed(subject)
    most = max(_FEWEST_WINDOWS, now, proposed, *subject.prediction.total.windows)
    return {"most": most, "now": now, "proposed": proposed, "ladder": list(LADDER)}


def _proposed(subject: Subject) -> int:
    total = subject.prediction.total
    verdict = subject.prediction.verdict.read_ahead_kb
    if verdict is None and total.predicted_best is not None:
        return total.predicted_best
    return subject.window


def _known(curve: Curve) -> dict[str, list[Any]]:
    """Return the prediction's figures of the windows that were replayed, or of the ladder."""
    seconds = curve.seconds or [None] * len(curve.windows)
    rows = [
        row
        for row, window in enumerate(curve.windows)
        if seconds[row] is not None or window in LADDER
    ]
    spent = curve.spent
    parts = {
        "compute": spent.compute if spent else seconds,
        "waited": spent.waited if spent else seconds,
        "behind": spent.behind if spent else seconds,
    }
    columns: dict[str, list[Any]] = {"window": curve.windows, "requests": curve.f}
    columns |= {"pages": curve.pages, "total": seconds, **parts}
    return {name: [values[row] for row in rows] for name, values in columns.items()}
