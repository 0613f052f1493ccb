"""A cell of pages: what runs at every window read, held against the prediction from one at 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from applications import Reads, Row, compare, measured, prediction
from cli import Foreread
from store import Document

from analyzer.ingest.load import dev_of, load
from analyzer.ingest.recording import Recording
from analyzer.ingest.tables import Rwbs
from analyzer.optimizer.inputs import Inputs, inputs
from analyzer.optimizer.linux import predict_linux
from analyzer.replay.steps import own_requests
from emulator.linux.rules import version_of

BOARD_WINDOWS_KB = (4, 16, 32, 64, 128, 512)


class Program(Protocol):
    """What is run."""

    @property
    def command(self) -> tuple[str, ...]:
        """The words."""

    @property
    def writes(self) -> bool:
        """Whether its first run writes what later ones read."""


def on_board(target: str, program: Program, folder: Path, foreread: Foreread) -> Document:
    """Record a program on a target at 0 and at every window; return the rows and the kernel."""
    words = ("record", "--target", target, "--allow-warm", "--json")
    if program.writes and not (folder / "0/capture.json").exists():
        foreread(*words, "-o", folder / "first", "--", *program.command)
    for kb in (0, *BOARD_WINDOWS_KB):
        window = ("--read-ahead-kb", kb) if kb else ()
        if not (folder / f"{kb}/capture.json").exists():
            foreread(*words, *window, "-o", folder / str(kb), "--", *program.command)
    base = load(folder / "0")
    taken = inputs(base, version_of(base.kernel or ""))
    rows = [_row(taken, load(folder / str(kb)), kb) for kb in BOARD_WINDOWS_KB]
    return {"kernel": base.kernel, "rows": [asdict(row) for row in rows]}


def _row(taken: Inputs, run: Recording, kb: int) -> Row:
    base = taken.recording
    dev = _root(base)
    window = kb * 1024 // base.page_size
    of_disk = base.devices.get(dev, dev)
    curves = predict_linux(base, windows=[0, window]).devices
    curve = next(curve for curve in curves if dev_of(curve.dev) == of_disk)
    at_0, at_window = curve.f
    rest = 0 if _plain(base, dev) else issued(base, of_disk) - at_0
    predicted = replace(prediction(taken, dev, kb), requests=at_window)
    return compare(kb, "prediction", predicted, _measured(run, dev, of_disk, rest))


def _measured(run: Recording, dev: int, disk: int, rest: int) -> Reads:
    """Return what a run read; requests without the ``rest`` that is no file data.

    Without FIEMAP, which busybox lacks, an extent does not tell file data from metadata.
    """
    own = _own(run, disk) if _plain(run, dev) else issued(run, disk) - rest
    return replace(measured(run, dev), requests=own)


def _plain(recording: Recording, dev: int) -> bool:
    """Return whether metadata is read through the page cache, by which it can be told."""
    mounts = recording.capture.mounts if recording.capture else []
    return not any(m.fstype == "squashfs" for m in mounts if dev_of(m.dev) == dev)


def _own(recording: Recording, disk: int) -> int:
    table = recording.requests.take(recording.requests["dev"] == disk)
    capture = recording.capture
    begin, end = (capture.start_ns, capture.end_ns) if capture else (0, 1 << 63)
    within = (table["issue_ns"] >= begin) & (table["issue_ns"] < end)
    return int(np.count_nonzero(own_requests(recording, table) & within))


def issued(recording: Recording, disk: int) -> int:
    """Return how many reads a disk was sent, whatever they read."""
    table = recording.requests
    reads = (table["flags"] & Rwbs.READ) > 0
    return int(np.count_nonzero(reads & (table["dev"] == disk)))


def _root(recording: Recording) -> int:
    """Return the file system that most of what was accessed is on."""
    return _commonest(recording.files["dev"][recording.accesses["file"]].tolist())


def _commonest(devs: Iterable[int]) -> int:
    counted: Sequence[int] = list(devs)
    return max(set(counted), key=counted.count)
