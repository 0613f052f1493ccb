"""Where files are on a target's disks: from the tables of its ext file systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from foreread.boards.mounts import MountPoint
from foreread.tracer.formats.capture import Extent, FileEntry
from foreread.tracer.remote.job import Job
from foreread.tracer.runs import ext4
from foreread.tracer.runs.residency import runs_of

_KINDS = ("ext2", "ext3", "ext4")
_MOST_RUNS = 500  # in one command line
_STEP = "looking where files are on the disk"


def with_places(job: Job, files: list[FileEntry], mounts: list[MountPoint]) -> list[FileEntry]:
    """Return the files with their extents, where these can be determined."""
    extents: dict[tuple[str, int], list[Extent]] = {}
    for dev in sorted({mount.dev for mount in mounts if mount.fstype in _KINDS}):
        inodes = [file.ino for file in files if file.dev == dev]
        node = node_of(job, dev) if inodes else None
        if node is not None:
            by_inode = ext4.places(Disk(job, node).read, inodes)
            extents |= {
                (dev, ino): [Extent(*extent) for extent in some] for ino, some in by_inode.items()
            }
    return [
        msgspec.structs.replace(file, extents=extents.get((file.dev, file.ino))) for file in files
    ]


def node_of(job: Job, dev: str) -> str | None:
    """Return the path of a block device on the target, if there is one."""
    facts = job.ask("disk_node", dev, step=_STEP)
    return next((fact.value for fact in facts if fact.key == "node"), None)


class Disk:
    """A block device of the target, by the path of its node."""

    def __init__(self, job: Job, node: str) -> None:
        self._job = job
        self._node = node

    def read(self, blocks: Sequence[int], size: int) -> Mapping[int, bytes]:
        """Return blocks by number, as far as they can be read."""
        by_number: dict[int, bytes] = {}
        runs = runs_of(blocks)
        for at in range(0, len(runs), _MOST_RUNS):
            some = runs[at : at + _MOST_RUNS]
            words = [str(number) for run in some for number in run]
            raw = self._job.raw("blocks", self._node, str(size), *words, step=_STEP).stdout
            numbers = [first + row for first, count in some for row in range(count)]
            if len(raw) != len(numbers) * size:  # whose blocks are missing is not known
                continue
            starts = range(0, len(raw), size)
            pieces = (raw[start : start + size] for start in starts)
            by_number |= dict(zip(numbers, pieces, strict=True))
        return by_number
