"""Predicts what the kernel's own readahead would have read under every window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analyzer.ingest.load import dev_of
from analyzer.ingest.recording import Recording
from analyzer.ingest.tables import Array
from analyzer.optimizer.criterion import pareto_front
from analyzer.optimizer.window import disks_of_files, predict
from analyzer.prediction import Curve, Prediction
from analyzer.replay.build import build
from emulator.linux.filesystems import SQUASHFS_BLOCK, WITHOUT_WINDOW, has_large_folios
from emulator.linux.operations import FILE, Machine, Program
from emulator.linux.requests import EXTENT, SECTOR, Limits
from emulator.linux.rules import KernelError, Version, rules_for, version_of
from emulator.linux.windows import Emulated, Emulation
from tracer.capture import Capture, Device, Mount

PREFIX = "linux"
CONFIRMED: tuple[Version, ...] = ((6, 18),)  # by tests/kernel/test_linux_readahead.py
_FAULT_AROUND = 64 << 10  # bytes, mm/memory.c
_EXEC_FOLIO = 64 << 10  # bytes, arch/arm64/include/asm/pgtable.h exec_folio_order
_NO_LIMITS = Limits(1280)


def predict_linux(
    recording: Recording, model: str = PREFIX, windows: list[int] | None = None
) -> Prediction:
    """Predict F and pages of the kernel's readahead, by disk and in total.

    ``model`` is "linux" (the capture's kernel) or "linux-X.Y". F, pages, G and the front are the
    kernel's; C_opt, G_formula and the windows chosen by them stay those of the published fixed
    window (:func:`predict`). Raises KernelError for a kernel that is unknown, else as predict.
    """
    version = version_of(_release(recording, model))
    fixed = predict(recording, windows)
    taken = inputs(recording, version)
    counts = {
        disk: _on_disk(taken, version, row).counts(fixed.total.windows)
        for row, disk in enumerate(taken.disks)
    }
    devices = [_with(curve, counts[dev_of(curve.dev)]) for curve in fixed.devices]
    return replace(
        fixed,
        model=f"{PREFIX}-{'.'.join(map(str, version))}",
        devices=devices,
        total=_total(fixed.total, devices),
        notes=(*fixed.notes, *_notes(version, taken)),
    )


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the emulation of a recording takes.

    ``disks`` are dev_t, ``disk_of_file`` (by file row) indexes them; ``extents`` is an EXTENT
    table; ``times`` (ns) are those of the operations; ``notes`` say what was assumed.
    """

    recording: Recording
    program: Program
    times: Array
    extents: Array
    disks: list[int]
    disk_of_file: Array
    notes: list[str]

    def machine(self, row: int) -> tuple[Machine, Limits]:
        """Return what the kernel has been told, and of the disk ``disks[row]``."""
        return _machine(self.recording, _device(self.recording, self.disks[row]))


def inputs(recording: Recording, version: Version) -> Inputs:
    """Return a recording's program, files and their places, for a kernel."""
    built = build(recording, _files(recording, version))
    disks, disk_of_file = disks_of_files(recording)
    extents = _extents(recording, built.holes)
    return Inputs(
        recording, built.program, built.times, extents, disks.tolist(), disk_of_file, built.notes
    )


def _on_disk(taken: Inputs, version: Version, row: int) -> Emulation:
    """Return the emulation of what was done on one disk."""
    program = taken.program
    wanted = (taken.disk_of_file == row)[program.file_of_operations()]
    part = replace(program, operations=program.operations[wanted])
    group = np.zeros(len(program.files), np.uint32)
    machine, limits = taken.machine(row)
    return Emulation(part, rules_for(version), machine, limits, taken.extents, group)


def _release(recording: Recording, model: str) -> str:
    _, _, asked = model.partition("-")
    if asked:
        return asked
    if recording.kernel is None:
        raise KernelError(
            "the file does not name its kernel", "name one, for instance --model linux-5.10"
        )
    return recording.kernel


def _files(recording: Recording, version: Version) -> Array:
    """Return the FILE table: what each file is to readahead."""
    capture = recording.capture
    mounts = _mounts(capture)
    wide = capture is None or capture.host.long_size == 8  # 32 bits: no transparent huge pages
    rows = []
    columns = (recording.files["dev"].tolist(), recording.files["size_bytes"].tolist())
    for dev, size in zip(*columns, strict=True):
        mount = mounts.get(dev)
        fstype = mount.fstype if mount else ""
        large = wide and mount is not None and has_large_folios(fstype, mount.options, version)
        block = SQUASHFS_BLOCK // recording.page_size if fstype == "squashfs" else 0
        rows.append((size, large, block, 0 if fstype in WITHOUT_WINDOW else -1))
    return np.array(rows, FILE)


def _mounts(capture: Capture | None) -> dict[int, Mount]:
    return {dev_of(mount.dev): mount for mount in capture.mounts} if capture else {}


def _extents(recording: Recording, holes: list[tuple[int, int]]) -> Array:
    """Return the EXTENT table, in sectors of the disk; a file in no piece has none to read.

    Of files whose place is unknown only the ``holes`` (file row, page) are told: unread pieces.
    """
    mounts = _mounts(recording.capture)
    rows: list[tuple[int, int, int, int, int]] = []
    unknown = set()
    devs = recording.files["dev"].tolist()
    for file, (entry, dev) in enumerate(zip(recording.entries, devs, strict=False)):
        if entry is None or entry.extents is None:
            unknown.add(file)
            continue
        start = mounts[dev].first_sector if dev in mounts else 0
        rows += [
            (file, e.at // SECTOR, start + e.physical // SECTOR, e.length // SECTOR, int(e.written))
            for e in entry.extents
        ]
        if not entry.extents:
            rows.append((file, 0, 0, 1, 0))
    rows += _around(sorted(set(holes)), unknown, recording.page_size // SECTOR)
    return np.array(rows, EXTENT)


def _around(
    holes: list[tuple[int, int]], files: set[int], page_sectors: int
) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield the pieces of files that have holes and are in one piece otherwise."""
    behind: dict[int, int] = {}
    for file, page in holes:
        if file in files:
            at, end = behind.get(file, 0), page * page_sectors
            yield file, at, (file << 40) + at, end - at, 1
            behind[file] = end + page_sectors
    for file, at in behind.items():
        yield file, at, (file << 40) + at, 1 << 39, 1


def _machine(recording: Recording, device: Device | None) -> tuple[Machine, Limits]:
    page = recording.page_size
    limits = _limits(device)
    host = recording.capture.host if recording.capture else None
    arm = host is not None and host.machine == "aarch64"
    return Machine(
        page_size=page,
        io_pages=limits.max_sectors_kb * 1024 // page,
        fault_around=max(_FAULT_AROUND // page, 1),
        table_pages=page // 8,
        exec_order=(max(_EXEC_FOLIO // page, 1)).bit_length() - 1 if arm else 0,
    ), limits


def _limits(device: Device | None) -> Limits:
    names = ("max_sectors_kb", "max_segments", "max_segment_size")
    usual = (_NO_LIMITS.max_sectors_kb, _NO_LIMITS.max_segments, _NO_LIMITS.max_segment_size)
    texts = [device.queue.get(name, "") if device else "" for name in names]
    found = [int(t) if t.isdecimal() and len(t) < 11 else 0 for t in texts]
    return Limits(*(value or default for value, default in zip(found, usual, strict=True)))


def _device(recording: Recording, disk: int) -> Device | None:
    devices = recording.capture.devices if recording.capture else []
    return next((device for device in devices if dev_of(device.dev) == disk), None)


def _with(curve: Curve, counts: Emulated) -> Curve:
    return _replaced(curve, counts.requests[0].tolist(), counts.pages[0].tolist())


def _total(total: Curve, devices: Sequence[Curve]) -> Curve:
    nothing = [0] * len(total.windows)
    f = [sum(column) for column in zip(nothing, *(d.f for d in devices), strict=True)]
    pages = [sum(column) for column in zip(nothing, *(d.pages for d in devices), strict=True)]
    return _replaced(total, f, pages)


def _replaced(curve: Curve, f: list[int], pages: list[int]) -> Curve:
    wasted = [max(n - curve.tap, 0) for n in pages]
    front = pareto_front(curve.windows, f, wasted)
    return replace(curve, f=f, pages=pages, g=wasted, pareto=front)


def _notes(version: Version, taken: Inputs) -> list[str]:
    name = ".".join(map(str, version[:2]))
    found = [
        f"F, pages and G are those of the readahead of Linux {name}; C_opt, G formula and the "
        "quasi-optimal window are the published criterion's, of the fixed window"
    ]
    if version[:2] not in CONFIRMED:
        found.append(f"the readahead of Linux {name} is not confirmed on a running kernel")
    if taken.notes:
        found.append(f"not in the capture, so assumed: accesses {'; '.join(taken.notes)}")
    if taken.program.files["block_pages"].any():
        found.append("squashfs: blocks of 128 KiB assumed, one request for each")
    return found
