"""The mounts of a machine, read from mountinfo (Documentation/filesystems/proc.rst, 3.5)."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class MountPoint:
    """One line of mountinfo; ``dev`` is "major:minor" of the superblock (``s_dev``).

    ``root`` is the mounted directory of the file system ("/" unless a bind mount or a subvolume).
    Undecodable bytes are surrogate escapes.
    """

    dev: str
    root: str
    mountpoint: str
    options: str
    fstype: str
    source: str
    super_options: str


def read_mounts(mountinfo: Path = Path("/proc/self/mountinfo")) -> list[MountPoint]:
    """Return the mounts in the order of mounting; a later mount hides an earlier one."""
    text = os.fsdecode(mountinfo.read_bytes())
    return [parse_mount(line) for line in text.split("\n") if line]


def parse_mount(line: str) -> MountPoint:
    """Return the mount that one line of mountinfo describes."""
    words = line.split(" ")
    dash = words.index("-", 6)
    return MountPoint(
        dev=words[2],
        root=unescape(words[3]),
        mountpoint=unescape(words[4]),
        options=words[5],
        fstype=words[dash + 1],
        source=unescape(words[dash + 2]),
        super_options=words[dash + 3] if len(words) > dash + 3 else "",
    )


def mount_of(path: Path, mounts: list[MountPoint], follow: bool = True) -> MountPoint | None:
    """Return the mount that contains ``path``, or None.

    ``follow``: resolve the links in the path, which are this machine's.
    """
    real = os.path.realpath(path) if follow else str(path)
    covering = [mount for mount in mounts if is_under(real, mount.mountpoint)]
    # The later of two mounts on one directory is visible: max() keeps the first of equals.
    return max(reversed(covering), key=lambda mount: len(mount.mountpoint), default=None)


def is_under(path: str, directory: str) -> bool:
    """Return whether ``path`` is ``directory`` or lies below it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def unescape(word: str) -> str:
    """Undo the kernel's octal escapes (space, tab, newline, backslash, #)."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), word)


def visible_roots(dev: str, mounts: list[MountPoint]) -> list[str]:
    """Return the mount points of the file system, the widest view first."""
    last_at = {mount.mountpoint: mount for mount in mounts}
    visible = [mount for mount in mounts if mount.dev == dev and last_at[mount.mountpoint] == mount]
    return [mount.mountpoint for mount in sorted(visible, key=lambda mount: len(mount.root))]
