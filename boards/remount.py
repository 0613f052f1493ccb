"""Mount options as knobs, changed by a remount, here and on a target.

A knob ``mount:WORDS:DIRECTORY`` belongs to the file system that is mounted on the directory. Its
words are alternatives (``relatime,noatime,strictatime``), or a key with a number as its value
(``commit=``). The shell file that jobs on targets and boot scripts include reads and writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from foreread.boards.mounts import MountPoint, mount_of

PREFIX = "mount:"
DIRECTORY = "{mount}"  # in a template of a knob
_PLAIN = re.compile(r"/[A-Za-z0-9_./+-]{0,99}")  # other paths are in octal in mountinfo
_KNOB = re.compile(rf"{PREFIX}([a-z0-9_]+(?:,[a-z0-9_]+)*|[a-z0-9_]+=):({_PLAIN.pattern})")


def is_mount_option(knob: str) -> bool:
    """Return whether the knob is a mount option; its directory is then a plain path."""
    match = _KNOB.fullmatch(knob)
    return match is not None and ".." not in match[2].split("/")


def shell_functions() -> str:
    """Return ``mount_value`` and ``mount_write`` for a POSIX shell."""
    return (resources.files("foreread.boards") / "remount.sh").read_text()


def remountable(mounts: list[MountPoint], candidates: Iterable[MountPoint]) -> str:
    """Return the mount point of the first candidate with changeable options, or "".

    The mount must be visible, its path plain, and it is read-only only if its file system is.
    """
    for mount in candidates:
        at = mount.mountpoint
        alone = mount.options.split(",")[0] != mount.super_options.split(",")[0]
        seen = mount_of(Path(at), mounts, follow=False) == mount
        if seen and not alone and _PLAIN.fullmatch(at):
            return at
    return ""
