"""Touches of mapped pages in compressed blocks, and the setting under which the kernel shows them.

A file system that unpacks whole blocks brings more pages into the cache than a program has touched,
and fault-around maps them without an event. With fault-around off each first touch of a mapped page
is a fault (do_fault_around, mm/memory.c; since 3.15).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from foreread.boards.device import Devices
from foreread.boards.mounts import MountPoint
from foreread.boards.overlay import layer_paths

KNOB = "/sys/kernel/debug/fault_around_bytes"
_ALWAYS = frozenset({"squashfs", "erofs"})
# Compressed if the mount says so: a file's own attribute is not visible here.
_BY_OPTION = {"btrfs": "compress", "f2fs": "compress_algorithm"}
_EVENTS_SINCE = (6, 12)  # mm_filemap_fault, mm_filemap_get_pages


def hidden(devices: Devices, command: Sequence[str], directory: str) -> str:
    """Return a file system of the command that unpacks blocks; empty if there is none.

    Looked at are those of the root, of the working directory and of the paths in the command, with
    the layers of overlays.
    """
    paths = [Path("/"), Path(directory), *(Path(word) for word in command if word.startswith("/"))]
    seen: set[str] = set()
    waiting = [mount for mount in map(devices.mount_of, paths) if mount]
    while waiting:
        mount = waiting.pop()
        if mount.dev in seen:
            continue
        seen.add(mount.dev)
        if unpacks(mount):
            return mount.fstype
        waiting += [m for m in map(devices.mount_of, layer_paths(mount)) if m]
    return ""


def unpacks(mount: MountPoint) -> bool:
    """Return whether reading a page of a file may bring in all pages of a compressed block."""
    option = _BY_OPTION.get(mount.fstype)
    words = mount.super_options.split(",")
    return mount.fstype in _ALWAYS or any(option and word.startswith(option) for word in words)


def need_probes(release: str) -> bool:
    """Return whether a kernel has no events of faults and reads (``release``: uname -r)."""
    version = re.match(r"(\d{1,3})\.(\d{1,4})", release)
    return version is not None and (int(version[1]), int(version[2])) < _EVENTS_SINCE


def unseen_note(fstype: str, why: str) -> str:
    """Return the note of a capture without these touches."""
    return (
        f"touches of mapped pages in the compressed blocks of {fstype} are not recorded, so that "
        f"fewer pages and requests may be predicted than the kernel makes: {why}"
    )
