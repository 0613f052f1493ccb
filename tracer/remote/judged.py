"""The files of a judgement on a target, or here: where they are, written, run, and removed."""

from __future__ import annotations

import posixpath
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from foreread.boards.base.counted import plural
from foreread.boards.base.scratch import prefix
from foreread.boards.device import Devices
from foreread.boards.mounts import MountPoint, mount_of
from foreread.boards.target import LocalTarget, Target
from foreread.tracer.error import RecordError
from foreread.tracer.formats.capture import Extent, FileEntry
from foreread.tracer.remote import record
from foreread.tracer.remote.job import Job, making_sense
from foreread.tracer.remote.machine import Machine
from foreread.tracer.remote.places import with_places
from foreread.tracer.runs.extents import extents_of, open_regular

PARTS = (*record.PARTS, "judged.sh")
FOLDERS = ("/var/tmp", "/root", "/home", "/var", "/data", "/mnt", "/opt", "/")
_BETWEEN_S = 600.0  # of two calls: the longest recording, on a slow board
_WITHOUT_FILES = frozenset({"tmpfs", "ramfs", "rootfs", "devtmpfs", "proc", "sysfs"})
_RUNNER = "run"


@dataclass
class JudgeFiles:
    """A folder on the disk under test; ``mount`` is its file system, ``disk`` its disk's name."""

    job: Job
    machine: Machine
    folder: str
    mount: MountPoint
    disk: str
    first_sector: int
    inodes: list[int] = field(default_factory=list)

    @property
    def runner(self) -> str:
        """The path of the program that is recorded."""
        return f"{self.folder}/{_RUNNER}"

    def path(self, number: int) -> str:
        """Return the path of a file."""
        return f"{self.folder}/{number}"

    def write(self, sizes: Sequence[int]) -> None:
        """Write a file of each size in bytes; raises RecordError if there is no room."""
        step = "writing the files of the judgement"
        words = [str(size) for size in sizes]
        facts = self.job.ask("fill", *words, step=step, within_s=_BETWEEN_S)
        with making_sense("which files it wrote"):
            rows = [fact.value.split() for fact in facts if fact.key == "file"]
            self.inodes = [int(inode) for _, inode, _ in rows]
            if len(self.inodes) != len(sizes):
                raise ValueError(plural(len(self.inodes), "file"))

    def extents(self) -> list[list[Extent]] | None:
        """Return where each file is on its file system's device; None where that is unknown."""
        if isinstance(self.job.target, LocalTarget):
            return self._local_extents()
        files = [
            FileEntry(dev=self.mount.dev, ino=inode, path=None, size_bytes=-1)
            for inode in self.inodes
        ]
        of_files = [file.extents for file in with_places(self.job, files, [self.mount])]
        mapped = [extents for extents in of_files if extents]
        return mapped if len(mapped) == len(of_files) else None

    def _local_extents(self) -> list[list[Extent]] | None:
        of_files = []
        try:
            for number in range(len(self.inodes)):
                with open_regular(self.path(number)) as descriptor:
                    of_files.append([Extent(*extent) for extent in extents_of(descriptor)])
        except OSError:
            return None  # a file system without FIEMAP
        return of_files if all(of_files) else None

    def bring_runner(self, program: bytes) -> None:
        """Put the program to record into the folder."""
        with tempfile.NamedTemporaryFile(prefix=prefix()) as file:
            file.write(program)
            file.flush()
            self.job.target.push(Path(file.name), self.runner, 0o755)

    def keep(self) -> None:
        """Renew the lease of the files, until the next call."""
        self.job.raw("true", step="keeping the files of the judgement", within_s=_BETWEEN_S)


@contextmanager
def judge_files(target: Target, folder: str | None) -> Iterator[JudgeFiles]:
    """Yield a folder for files on a disk of ``target``, below ``folder`` or the first that will do.

    It is removed at the end, by the target itself if this side dies. Raises RecordError.
    """
    with Job(target, PARTS) as job:
        job.settings({}, ["true"])
        machine = Machine.parse(job.ask("probe", step="reading the target's facts"))
        job.saw_clock(machine.uptime_s)
        with machine.devices() as devices:
            place, mount, disk = _place(job, machine, devices, folder)
            first = devices.first_sector(mount.dev)
        facts = job.ask("keep", place, step="making a folder on the disk", within_s=_BETWEEN_S)
        with making_sense("where its files are"):
            kept = next(fact.value for fact in facts if fact.key == "folder")
            if posixpath.dirname(kept) != place:
                raise ValueError(kept)
        yield JudgeFiles(job, machine, kept, mount, disk, first)


def _place(
    job: Job, machine: Machine, devices: Devices, folder: str | None
) -> tuple[str, MountPoint, str]:
    """Return the folder, its mount and its disk."""
    folders = [folder] if folder is not None else list(FOLDERS)
    facts = job.ask("real", *folders, step="looking for a folder on a disk")
    places = [fact.value.partition("\t")[::2] for fact in facts if fact.key == "real"]
    why = []
    for name, real in places:
        mount = mount_of(Path(real), machine.mounts, follow=False)
        problem = _problem(mount, devices)
        if not problem and mount is not None:
            return real, mount, devices.disks_of_superblock(mount.dev)[0]
        why.append(f"{name} {problem}")
    if folder is not None and not places:
        raise RecordError(f"the target has no folder {folder}", "give another: --folder DIR")
    raise RecordError(
        f"no folder of the target is on a disk that can be judged: {'; '.join(why)}",
        "name a writable folder on the disk that the application starts from: --folder DIR",
    )


def _problem(mount: MountPoint | None, devices: Devices) -> str:
    """Return why files there cannot be judged, empty if they can."""
    if mount is None or mount.fstype in _WITHOUT_FILES:
        return "is in memory"
    options = mount.options.split(",")
    if "ro" in options or "ro" in mount.super_options.split(","):
        return f"is read-only ({mount.fstype})"
    if "noexec" in options:
        return "is mounted noexec"
    disks = devices.disks_of_superblock(mount.dev)
    if len(disks) != 1 or mount.fstype == "overlay":
        return f"is not on one disk ({mount.fstype})"
    return ""
