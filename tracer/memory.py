"""The memory that a machine has, and what it can spare: /proc/meminfo."""

from __future__ import annotations

import re
from pathlib import Path

_LINE = re.compile(r"^(\S+):\s+(\d{1,15})(?: kB)?$", re.ASCII | re.MULTILINE)


def meminfo(text: str | None = None) -> dict[str, int]:
    """Return the KiB of each line of /proc/meminfo, of this machine by default."""
    text = Path("/proc/meminfo").read_text() if text is None else text
    return {name: int(kib) for name, kib in _LINE.findall(text)}


def available_kib(memory: dict[str, int]) -> int:
    """Return the memory available without swapping (an estimate before Linux 3.14)."""
    return memory.get("MemAvailable", memory["MemFree"] + memory["Cached"])


def available_memory_kib() -> int:
    """Return that memory of this machine."""
    return available_kib(meminfo())
