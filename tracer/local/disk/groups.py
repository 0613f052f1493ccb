"""The cgroup that limits a process's reads: version 1's blkio, else version 2's."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from foreread.boards.mounts import MountPoint, read_mounts

_FLAGS, _EXITING = 6, 0x4  # place in /proc/PID/stat, after the name; PF_EXITING (linux/sched.h)
_FIRST_S, _LONGEST_S = 0.004, 0.25  # between two checks: a wrapper joins its cgroup soon or never


def io_group(pid: int, proc: Path = Path("/proc")) -> str | None:
    """Return the path of a process's cgroup for block I/O within its hierarchy; None if unknown.

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
        if "blkio" in controllers.split(","):
            return path
    return next((path for number, _, path in groups if number == "0"), None)


def group_folder(path: str, mounts: list[MountPoint] | None = None) -> Path | None:
    """Return the directory of a cgroup for block I/O; None where none is mounted."""
    mounts = read_mounts() if mounts is None else mounts
    v1 = [m for m in mounts if m.fstype == "cgroup" and "blkio" in m.super_options.split(",")]
    for mount in v1 or [m for m in mounts if m.fstype == "cgroup2"]:
        return Path(mount.mountpoint) / path.lstrip("/")
    return None


class GroupWatch(threading.Thread):
    """Sees in which cgroup a command runs: a wrapper may join one and has exited when the run ends.

    Use it in a ``with`` block around the run; ``found`` is the last one seen, empty if it is ours.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(name="foreread-groups", daemon=True)
        self._pid = pid
        self._over = threading.Event()
        self._own = io_group(os.getpid())
        self.found = ""

    def __enter__(self) -> GroupWatch:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        """Check repeatedly, at growing intervals, until the block ends."""
        pause_s = _FIRST_S
        while True:
            self._look()
            if self._over.wait(pause_s):
                return
            pause_s = min(2 * pause_s, _LONGEST_S)

    def _look(self) -> None:
        group = io_group(self._pid)
        if group is not None:
            self.found = "" if group == self._own else group
