"""The cost of a target's disk: known for an emulated board, otherwise measured after the run.

A target may have nothing but busybox, without O_DIRECT: cold files are read through the page
cache with a window that makes requests of several sizes, and the block events time them. The reads
are a separate guarded run, so that its window is journalled and put back.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from foreread.boards.cost import FixedCost, StatefulCost
from foreread.boards.target import Target
from foreread.tracer.backends.base import INDISPENSABLE
from foreread.tracer.error import RecordError
from foreread.tracer.formats.capture import Device, FileEntry
from foreread.tracer.formats.disk_probe import DiskProbe, ProbeTrial
from foreread.tracer.runs.options import Ending, RunOptions

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

Row = tuple[int, int, int, int]  # sector, sectors, issue and completion in ns (0 if unseen)


@dataclass
class ProbeRun:
    """A run that read a target's disk, with its trace, of which the timed reads are still unknown.

    The requests of the capture itself count too: they are the small ones.
    """

    dev: str  # "major:minor"
    name: str
    trace: Path
    began: float = field(default_factory=time.monotonic)

    def probe(self, own: Sequence[Row], rows: Sequence[Row]) -> DiskProbe:
        """Return the probe: ``own`` are the reads of the capture, ``rows`` of this run."""
        return DiskProbe(
            dev=self.dev,
            name=self.name,
            seconds=time.monotonic() - self.began,
            trials=trials_of([*own[:_MOST_SMALL], *rows])[:_MOST_TRIALS],
        )


def known_cost(target: Target, disk: Device) -> DiskProbe | None:
    """Return the cost that an emulated board was started with; None for any other target."""
    cost = getattr(target, "disk_cost", None)
    if not isinstance(cost, FixedCost | StatefulCost) or not disk.name.startswith(_BOARDS_DISK):
        return None
    return DiskProbe(dev=disk.dev, name=disk.name, known=cost)


def probe_options(disk: Device, files: Sequence[FileEntry]) -> RunOptions:
    """Return how the target reads the largest files of a disk; RecordError if there are none."""
    largest = [
        file
        for file in files
        if file.path and file.dev in disk.filesystems and file.size_bytes >= _LEAST_BYTES
    ]
    if not largest:
        raise RecordError("no file that the command read is large enough", "calibrate the disk")
    largest.sort(key=lambda file: -file.size_bytes)
    paths = [file.path for file in largest[:_MOST_FILES] if file.path]
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
