"""The memory of this machine and of a command here: what memory.sh reads on a target."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from foreread.tracer.local.groups import group_folder, group_of, hierarchy
from foreread.tracer.runs.memory import LIMITS, GroupFacts, MemoryFacts, Sample

_STATE = {  # what a run does not change is read once
    "meminfo": "/proc/meminfo",
    "swaps": "/proc/swaps",
    "zoneinfo": "/proc/zoneinfo",
    "min_free": "/proc/sys/vm/min_free_kbytes",
    "lru_gen": "/sys/kernel/mm/lru_gen/enabled",
    "vmstat": "/proc/vmstat",
}
_OWN = re.compile(rb"^(RssAnon|RssShmem|VmPTE):\s+(\d+) kB$", re.MULTILINE)


class MemoryWatch:
    """Watches the memory of the command that ``pid`` is the first process of."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._held = _words(os.getpid())  # until its exec, the command is a fork of foreread
        self._family = {pid}
        self._began_ns = 0
        self._own: list[Sample] = []
        self._group = ""
        self._group_before = ""
        self._before: dict[str, str] = {}

    def begin(self) -> None:
        """Read the machine's state; call it once the caches are cold."""
        self._before = {name: _text(Path(path)) for name, path in _STATE.items()}
        self._began_ns = time.monotonic_ns()

    def look(self) -> None:
        """Note the memory of the command's processes, and the group that they are in."""
        group = group_of(self._pid, "memory")
        if group is not None and group != self._group:
            self._group, self._group_before = group, _stat_of(group)
        if self._held and self._held == _words(self._pid):
            return
        self._held = b""
        self._family = _with_children(self._family)
        self._note(self._family)

    def facts(self, living: Iterable[int]) -> MemoryFacts:
        """Return what was seen, when the run has ended; ``living`` are its processes."""
        after = {"vmstat": _text(Path(_STATE["vmstat"]))}
        self._note(living)
        return MemoryFacts(self._before, after, self._group_facts(), self._own)

    def _note(self, pids: Iterable[int]) -> None:
        sizes = [size for pid in pids if (size := _own_kib(pid)) is not None]
        if sizes and (not self._own or self._own[-1][1] != sum(sizes)):
            passed_ms = (time.monotonic_ns() - self._began_ns) // 1_000_000
            self._own.append((passed_ms, sum(sizes)))

    def _group_facts(self) -> GroupFacts | None:
        top, folder = hierarchy("memory"), group_folder(self._group, "memory")
        if not self._group or top is None or folder is None:
            return None
        above = [folder, *folder.parents]
        limits = [
            (name, text)
            for group in above[: above.index(top) + 1 if top in above else 0]
            for name in LIMITS
            if (text := _text(group / name).strip())
        ]
        return GroupFacts(
            self._group, _version(folder), limits, self._group_before, _stat_of(self._group)
        )


def _version(folder: Path) -> Literal[1, 2]:
    return 2 if (folder / "cgroup.controllers").exists() else 1


def _stat_of(group: str) -> str:
    folder = group_folder(group, "memory")
    return "" if folder is None else _text(folder / "memory.stat")


def _with_children(pids: set[int]) -> set[int]:
    """Return processes and their children, as far as the kernel lists them.

    CONFIG_PROC_CHILDREN; the event of each file that is read here is in the trace.
    """
    family, new = set(pids), set(pids)
    while new:
        new = {child for pid in new for child in _children(pid)} - family
        family |= new
    return family


def _children(pid: int) -> list[int]:
    pids: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                pids += map(int, _bytes(f"{task}/children").split())
    return pids


def _words(pid: int) -> bytes:
    """Return the command line of a process; empty if it has ended."""
    with suppress(OSError):
        return _bytes(f"/proc/{pid}/cmdline")
    return b""


def _own_kib(pid: int) -> int | None:
    """Return the anonymous and shared memory and page tables of a process; None if unknown."""
    try:
        sizes = dict(_OWN.findall(_bytes(f"/proc/{pid}/status")))
    except OSError:
        return None
    return sum(map(int, sizes.values())) if b"RssAnon" in sizes else None


def _bytes(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 1 << 14)
    finally:
        os.close(descriptor)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
