"""The cgroup that limits a process's reads, or its memory: version 1's, else version 2's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from foreread.boards.mounts import MountPoint, read_mounts

_FLAGS, _EXITING = 6, 0x4  # place in /proc/PID/stat, after the name; PF_EXITING (linux/sched.h)
Controller = Literal["blkio", "memory"]


def group_of(pid: int, controller: Controller, proc: Path = Path("/proc")) -> str | None:
    """Return the path of a process's cgroup within its hierarchy; None if unknown.

    An exiting process is in no cgroup of version 1 any more (proc_cgroup_show): it is unknown, from
    the beginning of its exit on, which takes long where much memory is unmapped.
    """
    try:
        lines = os.fsdecode((proc / str(pid) / "cgroup").read_bytes()).splitlines()
        flags = int((proc / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[_FLAGS])
    except (OSError, IndexError, ValueError):
        return None
    if flags & _EXITING:
        return None
    groups = [line.split(":", 2) for line in lines if line.count(":") >= 2]
    for _, controllers, path in groups:
        if controller in controllers.split(","):
            return path
    return next((path for number, _, path in groups if number == "0"), None)


def hierarchy(controller: Controller, mounts: list[MountPoint] | None = None) -> Path | None:
    """Return where the cgroups of this controller are mounted; None if they are not."""
    mounts = read_mounts() if mounts is None else mounts
    v1 = [m for m in mounts if m.fstype == "cgroup" and controller in m.super_options.split(",")]
    for mount in v1 or [m for m in mounts if m.fstype == "cgroup2"]:
        return Path(mount.mountpoint)
    return None


def group_folder(
    path: str, controller: Controller, mounts: list[MountPoint] | None = None
) -> Path | None:
    """Return the directory of a cgroup; None where none is mounted."""
    top = hierarchy(controller, mounts)
    return None if top is None else top / path.lstrip("/")


class GroupWatch:
    """Sees in which cgroup a command runs: a wrapper may join one and has exited when the run ends.

    ``group`` is the last one seen, empty if it is ours.
    """

    def __init__(self, pid: int, controller: Controller) -> None:
        self._pid, self._controller = pid, controller
        self._own = group_of(os.getpid(), controller)
        self.group = ""

    def look(self) -> None:
        """Look once."""
        group = group_of(self._pid, self._controller)
        if group is not None:
            self.group = "" if group == self._own else group
