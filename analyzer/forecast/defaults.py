"""The windows and largest requests that a kernel sets on the disks of a recorded start."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.inputs import Inputs
from foreread.analyzer.predict.kib import emulated_pages
from foreread.analyzer.predict.prediction import MINOR_SHARE
from foreread.emulator.linux.default_window import DefaultWindow, DiskQueue, default_window
from foreread.emulator.linux.rules import Version, series_text
from foreread.tracer.formats.capture import Device, dev_of, dev_text

NOW, THEN = "--read-ahead-kb-now", "--read-ahead-kb-then"


class ForecastError(AnalyzerError, ValueError):
    """A recording from which no other kernel can be forecast; ``remedy`` says what to do."""


@dataclass(frozen=True)
class DiskUnder:
    """A disk under one kernel.

    ``read_ahead_kb`` is the kernel's default or the caller's value; ``why`` says which.
    ``max_sectors_kb`` is None if the capture lacks the limit.
    """

    name: str
    read_ahead_kb: int
    max_sectors_kb: int | None
    why: str

    def window(self, page_size: int) -> int:
        """Return the window in pages."""
        return emulated_pages(self.read_ahead_kb, page_size)


def disks_under(
    inputs: Inputs, version: Version, recorded: Version, given_kb: int | None, option: str
) -> tuple[DiskUnder, ...]:
    """Return the disks of a recording under a kernel, in the order of ``inputs.disks``.

    ``recorded`` is the kernel that the capture describes. ``given_kb`` is the caller's window for
    all disks, None without one; ``option`` is the command-line option that sets it, for the remedy.
    Raises ForecastError for a disk with an unknown default.
    """
    return tuple(
        _disk_under(inputs, row, version, recorded, given_kb, option)
        for row in range(len(inputs.disks))
    )


def _disk_under(
    inputs: Inputs, row: int, version: Version, recorded: Version, given_kb: int | None, option: str
) -> DiskUnder:
    device = inputs.device(row)
    name = dev_text(inputs.disks[row]) if device is None else device.name
    queue = None if device is None else _queue(device, recorded, inputs.recording.page_size)
    if queue is not None and queue == queue.under(recorded):  # otherwise a user has set the limit
        queue = queue.under(version)
    sectors = None if queue is None else queue.max_sectors_kb or None
    if given_kb is not None:
        return DiskUnder(name, given_kb, sectors, "as given")
    default = _default(inputs, row, version, queue)
    if default.read_ahead_kb is None and not _matters(inputs, row):
        before = 0 if device is None else device.read_ahead_kb_before
        return DiskUnder(name, before, sectors, "as found: its default is unknown")
    if default.read_ahead_kb is None:
        raise ForecastError(
            f"the default window of {name} under {series_text(version)} is unknown: {default.why}",
            f"give the window that it has there: {option} KB",
        )
    return DiskUnder(name, default.read_ahead_kb, sectors, default.why)


def accessed_pages(inputs: Inputs) -> list[int]:
    """Return the pages that the start accessed on each of ``inputs.disks``."""
    accessed = inputs.recording.files["accessed"].astype(np.int64)
    return [int(n) for n in np.bincount(inputs.disk_of_file, accessed, len(inputs.disks))]


def _matters(inputs: Inputs, row: int) -> bool:
    """Return whether a disk has enough of the accessed pages that its window must be known."""
    pages = accessed_pages(inputs)
    return pages[row] >= max(1, MINOR_SHARE * sum(pages))


def _queue(device: Device, recorded: Version, page_size: int) -> DiskQueue | None:
    """Return the limits of a disk; None where the capture lacks some.

    A disk keeps the window of its creation: a loop device is rotational until a file is attached. A
    disk counts as rotational if its window is the default of a rotational disk.
    """
    # A capture may be hostile: numbers have at most 10 digits.
    queue = DiskQueue.from_sysfs({k: text for k, text in device.queue.items() if len(text) < 11})
    if queue is None or queue.rotational:
        return queue
    turning = replace(queue, rotational=True)
    kb = [default_window(recorded, q, page_size=page_size).read_ahead_kb for q in (queue, turning)]
    return turning if kb[0] != kb[1] == device.read_ahead_kb_before else queue


def _default(inputs: Inputs, row: int, version: Version, queue: DiskQueue | None) -> DefaultWindow:
    page = inputs.recording.page_size
    fstype = _most_read_fstype(inputs, row)
    return default_window(version, queue, fstype=fstype, page_size=page)


def fstypes(recording: Recording) -> list[str]:
    """Return the file system of each file; "" if unknown."""
    types = {dev_of(mount.dev): mount.fstype for mount in recording.capture.mounts}
    return [types.get(dev, "") for dev in recording.files["dev"].tolist()]


def _most_read_fstype(inputs: Inputs, row: int) -> str:
    """Return the file system with the most accessed pages on a disk; "" if unknown."""
    pages: dict[str, int] = {}
    accessed = inputs.recording.files["accessed"].tolist()
    columns = (fstypes(inputs.recording), accessed, inputs.disk_of_file.tolist())
    for fstype, number, disk in zip(*columns, strict=True):
        if disk == row:
            pages[fstype] = pages.get(fstype, 0) + number
    return max(pages, key=lambda fstype: pages[fstype], default="")
