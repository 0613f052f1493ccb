"""The memory that this machine can spare."""

from __future__ import annotations

from pathlib import Path


def available_memory_kib() -> int:
    """Return the memory available without swapping (an estimate before Linux 3.14)."""
    return available_kib(Path("/proc/meminfo").read_text())


def available_kib(meminfo: str) -> int:
    """Return the same from a text of /proc/meminfo."""
    lines = meminfo.splitlines()
    kib = {name: int(rest.split()[0]) for name, _, rest in (x.partition(":") for x in lines)}
    return kib.get("MemAvailable", kib["MemFree"] + kib["Cached"])
