"""The layers of an overlay, from its options in mountinfo (fs/overlayfs/params.c, Linux 7.2)."""

from __future__ import annotations

import re
from pathlib import Path

from foreread.boards.mounts import MountPoint, unescape

_COLON = re.compile(r"(?<!\\):")  # a colon in a name is written as "\:"
_ONE_LAYER = ("upperdir", "lowerdir+", "datadir+")


def layer_paths(mount: MountPoint) -> list[Path]:
    """Return the directories of an overlay's layers, the writable one last; [] for others.

    Relative paths are left out: they are relative to the unknown directory of mount(8).
    """
    if mount.fstype != "overlay":
        return []
    options = [word.partition("=")[::2] for word in mount.super_options.split(",")]
    upper = [value for name, value in options if name == "upperdir"]
    lower = [
        path
        for name, value in options
        for path in _paths(name, unescape(value))
        if name != "upperdir"
    ]
    paths = [Path(path) for path in [*lower, *map(unescape, upper)]]
    return [path for path in dict.fromkeys(paths) if path.is_absolute()]


def _paths(name: str, value: str) -> list[str]:
    if name in _ONE_LAYER:
        return [value]
    if name != "lowerdir":
        return []
    return [path.replace("\\:", ":") for path in _COLON.split(value) if path]
