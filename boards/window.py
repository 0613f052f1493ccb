"""Windows named by a mount point, since their backing device is numbered at each boot.

``window:DIRECTORY`` is the read_ahead_kb of the file system that is mounted on the directory. Boot
scripts resolve it when they run (window.sh); nothing else accepts such a name.
"""

from __future__ import annotations

import re
from importlib import resources

PREFIX = "window:"
_PLAIN = re.compile(r"/[A-Za-z0-9_./+-]{0,99}")  # other paths are in octal in mountinfo


def is_plain(mountpoint: str) -> bool:
    """Return whether a boot script can look for the mount point."""
    return bool(_PLAIN.fullmatch(mountpoint)) and ".." not in mountpoint.split("/")


def is_window(knob: str) -> bool:
    """Return whether the knob is a window that a mount point names."""
    return knob.startswith(PREFIX) and is_plain(knob.removeprefix(PREFIX))


def shell_functions() -> str:
    """Return ``find_window`` for a POSIX shell."""
    return (resources.files("foreread.boards") / "window.sh").read_text().rstrip()
