"""The backing device that a file system registers for itself; its window applies to the files.

A file gets its window when it is opened, from the backing device of its inode's file system
(mm/readahead.c, file_ra_state_init). That is the disk's backing device for a file system on a block
device (fs/super.c, setup_bdev_super), unless the file system registers its own
(super_setup_bdi_name):

- MAJOR:MINOR of the superblock: NFS (fs/nfs/super.c), FUSE and virtiofs (fs/fuse/inode.c), which
  add ``-fuseblk`` on a block device;
- TYPE-N with a number that counts mounts since boot: btrfs, 9p, EROFS on a file, CIFS, and every
  other caller of super_setup_bdi. sysfs shows the mount of btrfs only;
- ubifs_UBI_VOLUME (fs/ubifs/super.c), mtd-0 for all others on MTD (drivers/mtd/mtdsuper.c);
- squashfs_MAJOR_MINOR on Linux 5.17 to 5.19, which switched the readahead of squashfs off.

File and function names are of Linux 7.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from foreread.boards.attribute import attribute
from foreread.boards.mounts import MountPoint

MTD_BLOCK_MAJOR = "31"
ON_MTD = frozenset({"jffs2", "romfs", "cramfs"})


@dataclass(frozen=True)
class Backing:
    """Names in /sys/class/bdi of a file system; with several names, sysfs does not say which."""

    names: tuple[str, ...] = ()
    uuid: str = ""  # of a btrfs; its directory in sysfs leads to its backing device on every boot


class BackingDevices:
    """The backing devices of ``sys`` that belong to file systems.

    ``block_dev`` returns "major:minor" of a mount's source, None if it is not a block device.
    """

    def __init__(
        self, sys: Path, mounts: list[MountPoint], block_dev: Callable[[str], str | None]
    ) -> None:
        self._sys = sys
        self._mounts = mounts
        self._block_dev = block_dev

    def of(self, mount: MountPoint, on_disk: bool) -> Backing:
        """Return the backing device that the mounted file system registered; none: the disk's.

        ``on_disk``: the superblock has the number of a block device.
        """
        kind = file_system_type(mount)
        major, _, minor = mount.dev.partition(":")
        exact = [f"{mount.dev}-fuseblk", f"squashfs_{major}_{minor}"]
        exact += [] if on_disk else [mount.dev]
        registered = [name for name in exact if self._exists(name)]
        if registered:
            return Backing(tuple(registered[:1]))
        if kind == "btrfs":
            return self._of_btrfs(mount)
        if kind == "ubifs":
            return Backing(tuple(self._of_ubifs(mount)))
        if kind in ON_MTD and major == MTD_BLOCK_MAJOR and self._exists("mtd-0"):
            return Backing(("mtd-0",))
        return Backing() if on_disk else Backing(tuple(self._numbered(backing_type(mount))))

    def _of_btrfs(self, mount: MountPoint) -> Backing:
        """Return the backing device of the btrfs with the mounted device, or of the only btrfs."""
        every = sorted(link.parent for link in (self._sys / "fs/btrfs").glob("*/bdi"))
        source = self._block_dev(mount.source)
        own = [filesystem for filesystem in every if source and source in _members(filesystem)]
        # The kernel mounts from /dev/root, which has no device node.
        chosen = own or (every if source is None else [])
        if not chosen:
            return Backing(tuple(self._numbered("btrfs")))
        names = [(filesystem / "bdi").resolve().name for filesystem in chosen]
        return Backing(tuple(names), chosen[0].name if len(chosen) == 1 else "")

    def _of_ubifs(self, mount: MountPoint) -> list[str]:
        every = self._matching(r"ubifs_\d+_\d+")
        return [name for name in every if mount.source in self._ubi_names(name)] or every

    def _ubi_names(self, bdi: str) -> list[str]:
        """Return the sources that mount(8) accepts for a volume (fs/ubifs/super.c, open_ubi)."""
        ubi, volume = bdi.removeprefix("ubifs_").split("_")
        name = attribute(self._sys / "class/ubi" / f"ubi{ubi}_{volume}" / "name")
        numbered = [f"ubi{ubi}_{volume}", f"/dev/ubi{ubi}_{volume}"]
        named = [f"ubi{ubi}:{name}", f"ubi{ubi}!{name}"] if name else []
        alone = [f"ubi:{name}", f"ubi!{name}"] if name and ubi == "0" else []
        return [*numbered, *named, *alone]

    def _numbered(self, kind: str) -> list[str]:
        return self._matching(rf"{re.escape(kind)}-\d+")

    def _matching(self, pattern: str) -> list[str]:
        places = self._sys.glob("class/bdi/*/read_ahead_kb")
        return sorted(p.parent.name for p in places if re.fullmatch(pattern, p.parent.name))

    def _exists(self, name: str) -> bool:
        return (self._sys / "class/bdi" / name / "read_ahead_kb").exists()


def file_system_type(mount: MountPoint) -> str:
    """Return the kernel's type of a file system: "fuse" of "fuse.sshfs"."""
    return mount.fstype.partition(".")[0]


def backing_type(mount: MountPoint) -> str:
    """Return TYPE of the name TYPE-N; EROFS keeps shared pages in an inode of another type."""
    kind = file_system_type(mount)
    shared = kind == "erofs" and "inode_share" in mount.super_options.split(",")
    return "pseudo_erofs" if shared else kind


def _members(filesystem: Path) -> list[str]:
    return [attribute(file) for file in filesystem.glob("devices/*/dev")]
