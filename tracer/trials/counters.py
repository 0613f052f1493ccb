"""Counters of a machine, read before and after a run: disks, memory, stalls.

Names are the same here and on a target: ``disk.*`` (Documentation/block/stat.rst, the sum over some
disks), ``vmstat.*`` (/proc/vmstat, events only), ``pressure.RESOURCE.some|full`` (seconds in which
tasks were stalled, Documentation/accounting/psi.rst) and ``cpu.idle`` (seconds of all CPUs, waiting
for a disk included).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

Counters = Mapping[str, float]
# The fields of /sys/block/*/stat; the ninth, requests in flight, is not a counter.
_DISK = {
    "reads": 0,
    "merged_reads": 1,
    "read_sectors": 2,
    "read_ms": 3,
    "writes": 4,
    "merged_writes": 5,
    "written_sectors": 6,
    "write_ms": 7,
    "busy_ms": 9,
    "waited_ms": 10,
}
_STALLED = re.compile(r"(some|full) .*\btotal=(\d{1,19})", re.ASCII)
_TICKS = 100  # a second, whatever the kernel's own HZ (USER_HZ)


def parse_counters(texts: Mapping[str, str]) -> dict[str, float]:
    """Return the counters in files: ``disk:NAME``, ``pressure:RESOURCE``, ``vmstat``, ``stat``.

    Raises ValueError and LookupError for text that no kernel writes.
    """
    counters: dict[str, float] = {}
    for name, text in texts.items():
        kind, _, which = name.partition(":")
        if kind == "disk":
            words = text.split()
            for field, at in _DISK.items():
                key = f"disk.{field}"
                counters[key] = counters.get(key, 0) + int(words[at])
        elif kind == "pressure":
            for stalled in _STALLED.finditer(text):
                counters[f"pressure.{which}.{stalled[1]}"] = int(stalled[2]) / 1e6
        elif kind == "vmstat":
            counters |= _events(text)
        elif kind == "stat":
            ticks = text.split("\n", 1)[0].split()
            counters["cpu.idle"] = (int(ticks[4]) + int(ticks[5])) / _TICKS
    return counters


def change(before: Counters, after: Counters) -> dict[str, float]:
    """Return the increase of each counter that is in both."""
    return {name: after[name] - value for name, value in before.items() if name in after}


def _events(vmstat: str) -> dict[str, float]:
    """Return the events of /proc/vmstat; names that begin with nr_ are states, not counters."""
    pairs = (line.split() for line in vmstat.splitlines() if not line.startswith("nr_"))
    return {f"vmstat.{name}": int(value) for name, value in pairs}
