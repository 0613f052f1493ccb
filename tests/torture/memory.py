"""A cgroup whose memory becomes too little at some moment: the kernel kills what is in it.

With either version of cgroups. The limit is set to what is in use at that moment, so that the next
page that a process wants is too much.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
PAGE = 4096
# The folder of the hierarchy, the file of the limit, and the file of the memory in use.
VERSIONS = (
    (GROUPS / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    (GROUPS, "memory.max", "memory.current"),
)


class NoMemoryGroups(RuntimeError):
    """This machine's cgroups do not limit memory."""


class MemoryGroup:
    """A group of that name, which exists within :func:`memory_group`."""

    def __init__(self, name: str) -> None:
        for top, limit, usage in VERSIONS:
            self.folder = top / name
            if top.is_dir():
                self.folder.mkdir()
                if (self.folder / limit).exists():
                    self._limit, self._usage = self.folder / limit, self.folder / usage
                    return
                self.folder.rmdir()
        raise NoMemoryGroups(f"no cgroup below {GROUPS} has a memory limit")

    @property
    def words(self) -> list[str]:
        """The words that put a command into the group."""
        enter = 'echo $$ >"$0" && exec "$@"'
        return ["sh", "-c", enter, str(self.folder / "cgroup.procs")]

    def limit(self) -> None:
        """Allow no more than what is in use."""
        for more in range(100):  # version 1 refuses less than what is in use, which grows
            with suppress(OSError):
                self._limit.write_text(str(int(self._usage.read_text()) + more * PAGE))
                return
        raise NoMemoryGroups(f"{self._limit} cannot be set")


@contextmanager
def memory_group(name: str) -> Iterator[MemoryGroup]:
    """Make a group, and remove it once it is empty."""
    group = MemoryGroup(name)
    try:
        yield group
    finally:
        end = time.monotonic() + 10
        while group.folder.exists() and time.monotonic() < end:
            with suppress(OSError):
                group.folder.rmdir()
            time.sleep(0.02)
