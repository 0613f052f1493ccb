"""The cost of a target's disk: known for an emulated board, otherwise measured after the run.

A target may have nothing but busybox, without O_DIRECT: cold files are read through the page
cache with a window that makes requests of several sizes, and the block events time them. The reads
are a separate guarded run, so that its window is journalled and put back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from boards.base.scratch import scratch_folder
from boards.cost import FixedCost, StatefulCost
from boards.target import Target
from tracer.backends.base import INDISPENSABLE
from tracer.error import RecordError
from tracer.formats.capture import TRACE, Capture, Device, FileEntry
from tracer.formats.disk_probe import DiskProbe, ProbeTrial
from tracer.local.ending import Ending
from tracer.local.run import RunOptions

WINDOW_KB = 128
EVENTS = (
    INDISPENSABLE,
    "block:block_bio_queue",
    "block:block_rq_issue",
    "block:block_rq_complete",
    "sched:sched_process_fork",
)
# dd in steps of 4 KiB: readahead begins small and grows, so that requests are of several sizes.
_READ = 'for file; do dd if="$file" of=/dev/null bs=4096 count=128 2>/dev/null || :; done'
_MOST_SMALL, _MOST_TRIALS = 2000, 100
_MOST_FILES, _LEAST_BYTES = 24, 64 << 10
_LONGEST_S = 3.0  # of the target's time
_BOARDS_DISK = "slow"  # name of the disks of the emulated boards' driver


Row = tuple[int, int, int, int]


class TraceReader(Protocol):
    """What the probe needs from a trace directory."""

    def reads(self, directory: Path, pid: int) -> dict[str, list[tuple[int, int]]]:
        """Return the command's reads: (first sector, sectors) by the disk's "major:minor"."""

    def timed(self, directory: Path, dev: str) -> list[Row]:
        """Return all reads of a disk: sector, sectors, issue and completion (ns; 0 if unseen)."""


def probe_target(
    target: Target,
    capture: Capture,
    files: Sequence[FileEntry],
    trace: Path,
    seen: TraceReader,
    make_run: Callable[[RunOptions, int, tuple[str, ...], Path], object],
) -> DiskProbe | None:
    """Return the probe of the disk that the command read most from.

    ``make_run`` records a command at a window (KiB), with so many events, into a directory. The
    requests of the capture itself count too: they are the small ones. Raises RecordError,
    TargetError, or ValueError for a trace that cannot be read.
    """
    reads = _reads_of(capture, trace, seen)
    dev = max(reads, key=lambda dev: sum(sectors for _, sectors in reads[dev]), default="")
    disk = next((device for device in capture.devices if device.dev == dev), None)
    if disk is None:
        return None
    if known := known_cost(target, disk):
        return known
    began = time.monotonic()
    with scratch_folder() as folder:
        output = Path(folder) / "probe"
        make_run(_run(disk, files), WINDOW_KB, EVENTS, output)
        rows = seen.timed(output / TRACE, dev)
    small = seen.timed(trace, dev)[:_MOST_SMALL]
    return DiskProbe(
        dev=dev,
        name=disk.name,
        seconds=time.monotonic() - began,
        trials=trials_of([*small, *rows])[:_MOST_TRIALS],
    )


def known_cost(target: Target, disk: Device) -> DiskProbe | None:
    """Return the cost that an emulated board was started with; None for any other target."""
    cost = getattr(target, "disk_cost", None)
    if not isinstance(cost, FixedCost | StatefulCost) or not disk.name.startswith(_BOARDS_DISK):
        return None
    return DiskProbe(dev=disk.dev, name=disk.name, known=cost)


def _reads_of(capture: Capture, trace: Path, seen: TraceReader) -> dict[str, list[tuple[int, int]]]:
    """Return the reads of the command, or of all processes of a boot, by disk."""
    found: dict[str, list[tuple[int, int]]] = {}
    for pid in {capture.pid, *(capture.boot.processes if capture.boot else ())}:
        for dev, places in seen.reads(trace, pid).items():
            found.setdefault(dev, []).extend(places)
    return found


def _run(disk: Device, files: Sequence[FileEntry]) -> RunOptions:
    """Return how the target reads the largest files of a disk; RecordError if there are none."""
    found = [
        file
        for file in files
        if file.path and file.dev in disk.filesystems and file.size_bytes >= _LEAST_BYTES
    ]
    if not found:
        raise RecordError("no file that the command read is large enough", "calibrate the disk")
    found.sort(key=lambda file: -file.size_bytes)
    paths = [file.path for file in found[:_MOST_FILES] if file.path]
    return RunOptions(["sh", "-c", _READ, "sh", *paths], Ending(_LONGEST_S), allow_warm=True)


def trials_of(rows: Sequence[Row]) -> list[ProbeTrial]:
    """Return the reads (sector, sectors, issue and completion in ns) as trials, one a size."""
    whole = [row for row in rows if row[1] > 0 and row[3] >= row[2] > 0]
    began = min((row[2] for row in whole), default=0)
    return [
        ProbeTrial(
            request_bytes=512 * sectors,
            sequential=True,
            depth=1,
            how="buffered",
            offset=[512 * row[0] for row in whole if row[1] == sectors],
            issue_ns=[row[2] - began for row in whole if row[1] == sectors],
            complete_ns=[row[3] - began for row in whole if row[1] == sectors],
        )
        for sectors in sorted({row[1] for row in whole})
    ]
