"""The disks of a machine from sysfs: which file system reads from which disk, and their settings.

A *disk* is a device with a request queue and thus a read_ahead_kb: partitions share the
read_ahead_kb of their disk; loop, dm and md devices are separate disks on top of other disks
(Documentation/ABI/stable/sysfs-block). Devices are named by "major:minor" (``dev``) or by their
sysfs name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from foreread.boards.attribute import attribute
from foreread.boards.backing import Backing, BackingDevices
from foreread.boards.error import BoardsError
from foreread.boards.mounts import MountPoint, mount_of, read_mounts
from foreread.boards.overlay import layer_paths

SECTOR_BYTES = 512


@dataclass(frozen=True)
class Disk:
    """A block device with its own request queue."""

    name: str
    dev: str
    size_bytes: int
    model: str


@dataclass(frozen=True)
class ReadCounters:
    """The reads of a disk since it appeared (Documentation/block/stat.rst, fields 1 and 3)."""

    requests: int
    sectors: int


class DeviceError(BoardsError, LookupError):
    """A disk that does not exist; ``remedy`` says what to do."""


class Devices:
    """The block devices of this machine, or of another that ``sys`` and ``mounts`` describe.

    If they are ``copied``, only these copies are read: device nodes and links are on the other
    machine.
    """

    def __init__(
        self,
        sys: Path = Path("/sys"),
        mounts: list[MountPoint] | None = None,
        copied: bool = False,
    ) -> None:
        self.sys = sys
        self.mounts = read_mounts() if mounts is None else mounts
        self._copied = copied

    def disk(self, name: str) -> Disk:
        """Return the disk called ``name``; DeviceError if there is none."""
        directory = self.sys / "block" / name.replace("/", "!")
        if not (directory / "dev").exists():
            names = ", ".join(sorted(entry.name for entry in (self.sys / "block").iterdir()))
            raise DeviceError(f"no disk is called {name!r}", f"the disks here are: {names}")
        return Disk(
            name=directory.name,
            dev=attribute(directory / "dev"),
            size_bytes=int(attribute(directory / "size") or 0) * SECTOR_BYTES,
            model=_model(directory),
        )

    def disk_of_dev(self, dev: str) -> str | None:
        """Return the name of the disk that block device ``dev`` is, or belongs to."""
        link = self.sys / "dev/block" / dev
        if not link.exists():
            return None
        device = link.resolve()
        return device.parent.name if (device / "partition").exists() else device.name

    def first_sector(self, dev: str) -> int:
        """Return the first sector of partition ``dev`` on its disk, 0 if it is not a partition."""
        return int(attribute(self.sys / "dev/block" / dev / "start") or 0)

    def disks_of_superblock(self, dev: str) -> list[str]:
        """Return the disks that a file system reads from.

        ``dev`` is the superblock's. An anonymous superblock is resolved: btrfs to all its members,
        overlays to the file systems of their layers, EROFS to its image.
        """
        return self._disks_of(dev, frozenset())

    def _disks_of(self, dev: str, above: frozenset[str]) -> list[str]:
        disk = self.disk_of_dev(dev)
        if disk or dev in above:
            return [disk] if disk else []
        mounts = [mount for mount in self.mounts if mount.dev == dev]
        under = [
            lower for mount in mounts for lower in (*self.layers(mount), *self._of_image(mount))
        ]
        return _unique(
            [
                *(disk for mount in mounts for disk in self._disks_of_source(mount)),
                *(disk for lower in under for disk in self._disks_of(lower, above | {dev})),
            ]
        )

    def _disks_of_source(self, mount: MountPoint) -> list[str]:
        """Return the disks of a mounted block device, and of the members of a btrfs."""
        dev = self._source_dev(mount.source)
        members = self._btrfs_members(dev) if dev else []
        uuid = self.backing(mount).uuid if mount.fstype == "btrfs" else ""
        members += [
            attribute(member) for member in self.sys.glob(f"fs/btrfs/{uuid}/devices/*/dev") if uuid
        ]
        return [disk for member in [dev, *members] if member and (disk := self.disk_of_dev(member))]

    def _of_image(self, mount: MountPoint) -> list[str]:
        image = image_of(mount)
        holding = self.mount_of(Path(image)) if image else None
        return [holding.dev] if holding else []

    def disks_of_path(self, path: Path) -> list[str]:
        """Return the nearest disks that reads of the file ``path`` go to."""
        mount = self.mount_of(path)
        return self.disks_of_superblock(mount.dev) if mount else []

    def below(self, name: str) -> list[str]:
        """Return the disks under disk ``name`` at any depth, the nearest first.

        These are the slaves of dm and md devices and the disk that holds a loop device's backing
        file.
        """
        lower_disks: list[str] = []
        waiting = [name]
        while waiting:
            for lower in self._directly_below(waiting.pop(0)):
                if lower not in lower_disks and lower != name:
                    lower_disks.append(lower)
                    waiting.append(lower)
        return lower_disks

    def mounted(self) -> list[str]:
        """Return all disks under a mounted file system, including the disks they are built on."""
        direct = _unique(
            disk
            for dev in _unique(mount.dev for mount in self.mounts)
            for disk in self.disks_of_superblock(dev)
        )
        return _unique([*direct, *(lower for disk in direct for lower in self.below(disk))])

    def superblocks(self, name: str) -> list[str]:
        """Return the devs of the mounted file systems that read directly from disk ``name``."""
        devs = _unique(mount.dev for mount in self.mounts)
        return [dev for dev in devs if name in self.disks_of_superblock(dev)]

    def read_ahead_knobs(self, names: list[str]) -> list[str]:
        """Return the read_ahead_kb files that govern reads from the disks ``names``.

        The files of the disks, and of file systems on them with a separate backing device (btrfs),
        which ignore the disk's window.
        """
        own = [f"/sys/block/{name}/queue/read_ahead_kb" for name in names]
        backing = [
            f"/sys/class/bdi/{bdi}/read_ahead_kb"
            for name in names
            for dev in self.superblocks(name)
            for bdi in self._own_bdis(dev)
        ]
        return own + _unique(backing)

    def other_knobs(self) -> list[str]:
        """Return the read_ahead_kb files of mounted file systems without a disk (NFS, 9p …)."""
        devs = _unique(m.dev for m in self.mounts if not self.disks_of_superblock(m.dev))
        return _unique(
            f"/sys/class/bdi/{bdi}/read_ahead_kb" for dev in devs for bdi in self._own_bdis(dev)
        )

    def window(self, knob: str) -> int | None:
        """Return the value of a read_ahead_kb file; None if it cannot be read."""
        text = attribute(self.sys / knob.removeprefix("/sys/"))
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 11 else None

    def buffered_image(self, name: str) -> str:
        """Return the image that loop device ``name`` reads through the page cache, or ""."""
        loop = self.sys / "block" / name / "loop"
        return "" if attribute(loop / "dio") == "1" else attribute(loop / "backing_file")

    def queue(self, name: str) -> dict[str, str]:
        """Return every readable attribute of the disk's queue."""
        directory = self.sys / "block" / name / "queue"
        values = {}
        for entry in sorted(directory.iterdir()):
            if entry.is_file() and entry.stat().st_mode & stat.S_IRUSR:
                try:
                    values[entry.name] = entry.read_text(errors="surrogateescape").strip()
                except OSError:
                    continue  # some attributes exist and yet cannot be read (EINVAL)
        return values

    def counters(self, name: str) -> ReadCounters:
        """Return the reads that the disk has completed so far."""
        words = (self.sys / "block" / name / "stat").read_text().split()
        return ReadCounters(requests=int(words[0]), sectors=int(words[2]))

    def _directly_below(self, name: str) -> list[str]:
        directory = self.sys / "block" / name
        slaves = directory / "slaves"
        devs = [attribute(s / "dev") for s in sorted(slaves.iterdir())] if slaves.is_dir() else []
        disks = [disk for dev in devs if (disk := self.disk_of_dev(dev))]
        backing = attribute(directory / "loop/backing_file")
        return _unique([*disks, *(self.disks_of_path(Path(backing)) if backing else [])])

    def layers(self, mount: MountPoint) -> list[str]:
        """Return the superblocks under an overlay, as far as their mounts are visible."""
        below = [self.mount_of(path) for path in layer_paths(mount)]
        # An overlay over the root hides its own layers: the path then leads back to itself.
        return _unique(m.dev for m in below if m is not None and m.dev != mount.dev)

    def mount_of(self, path: Path) -> MountPoint | None:
        """Return the mount that contains ``path``."""
        return mount_of(path, self.mounts, follow=not self._copied)

    def _source_dev(self, source: str) -> str | None:
        """Return "major:minor" of the mounted device if it is a block device."""
        if not self._copied:
            return _block_dev(source)
        disks = sorted((self.sys / "block").iterdir())
        mapped = _mapper_name(source)
        places = [disk for disk in disks if mapped and attribute(disk / "dm/name") == mapped]
        if not source.startswith("/dev/mapper/"):
            name = source.rpartition("/")[2]
            places += [disk for disk in disks if disk.name == name]
            places += [part for disk in disks for part in disk.iterdir() if part.name == name]
        return next((dev for place in places if (dev := attribute(place / "dev"))), None)

    def _btrfs_members(self, dev: str) -> list[str]:
        for filesystem in self._btrfs_with(dev):
            return [
                attribute(member / "dev") for member in sorted((filesystem / "devices").iterdir())
            ]
        return []

    def _btrfs_with(self, dev: str) -> list[Path]:
        pattern = "fs/btrfs/*/devices/*/dev"
        return [file.parents[2] for file in self.sys.glob(pattern) if attribute(file) == dev]

    def backing(self, mount: MountPoint) -> Backing:
        """Return the backing devices that the mounted file system may have registered."""
        own = BackingDevices(self.sys, self.mounts, self._source_dev)
        return own.of(mount, on_disk=self.disk_of_dev(mount.dev) is not None)

    def _own_bdis(self, superblock: str) -> list[str]:
        """Return the names of a file system's separate backing devices, if any."""
        mounts = [mount for mount in self.mounts if mount.dev == superblock]
        return _unique(name for mount in mounts for name in self.backing(mount).names)


def _model(directory: Path) -> str:
    """Return a text that distinguishes a disk from others of its size after a boot."""
    names = ("device/model", "device/name", "dm/name", "loop/backing_file")
    return next((text for name in names if (text := attribute(directory / name))), "")


def image_of(mount: MountPoint) -> str:
    """Return the file of an EROFS that is mounted without a loop device (Linux 6.12)."""
    return mount.source if mount.fstype == "erofs" and mount.dev.startswith("0:") else ""


def _mapper_name(source: str) -> str:
    """Return the device mapper's name of /dev/mapper/NAME, or of LVM's /dev/GROUP/VOLUME."""
    words = source.removeprefix("/dev/").split("/")
    if words[0] == "mapper" and len(words) == 2:
        return words[1]
    # lvm2, lib/misc/lvm-string.c, build_dm_name: hyphens within a name are doubled.
    return "-".join(word.replace("-", "--") for word in words) if len(words) == 2 else ""


def _block_dev(source: str) -> str | None:
    """Return "major:minor" of the block device node ``source``; None for another kind of file."""
    try:
        status = os.stat(source)  # noqa: PTH116  the source may hold any bytes
    except (OSError, ValueError):
        return None
    if not stat.S_ISBLK(status.st_mode):
        return None
    return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"


def _unique(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))
