"""The memory and the time that the process which reads a capture may use.

The memory is what a good capture of the same size needs, and 512 MiB beyond. Readers call
``grant`` when they know the size of the data to decode, before they decode it; outside the process
that ``begin`` has limited, that does nothing. docs/reference/limits.md has the numbers.
"""

from __future__ import annotations

import resource
import signal
from pathlib import Path

from foreread.boards.base.units import MIB

# Beyond what good data needs: the metadata of 16 MiB, which may become 30 times as much in objects.
_BASE_BYTES = 512 * MIB
# Address space for each byte of raw trace: the data, columns with room for the smallest events
# (43 bytes a row of 12), and copies of the rows that exist.
_BYTES_PER_BYTE = 16
# CPU time: 60 s, and 2 s for each MiB of trace. A slow board's trace of text takes 1 s a MiB here.
_SECONDS = 60
_SECONDS_PER_MIB = 2
# The wall clock, for a reader that waits: for a disk, or for CPUs that others use.
WALL_PER_CPU = 10

_process: dict[str, int] = {}  # of this process: address space at the beginning, bytes granted


def begin() -> None:
    """Limit this process; its memory from now on counts as used."""
    _process.update(start=_address_space(), granted=0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    grant(0)


def is_limited() -> bool:
    """Return whether this is a process that ``begin`` has limited."""
    return bool(_process)


def grant(size: int) -> None:
    """Allow the memory and the time that ``size`` more bytes of good data need."""
    if not _process:
        return
    _process["granted"] += size
    granted = _process["granted"]
    _lower(resource.RLIMIT_AS, _process["start"] + _BASE_BYTES + _BYTES_PER_BYTE * granted)
    _lower(resource.RLIMIT_CPU, _used_seconds() + _seconds(granted))


def release() -> None:
    """Lift the limit of memory, to report what happened."""
    _lower(resource.RLIMIT_AS, resource.getrlimit(resource.RLIMIT_AS)[1])


def wall_seconds(size: int) -> int:
    """Return how long the caller waits for a process that reads ``size`` bytes."""
    return WALL_PER_CPU * _seconds(size)


def _seconds(size: int) -> int:
    return _SECONDS + _SECONDS_PER_MIB * (size // MIB)


def _lower(what: int, soft: int) -> None:
    """Set a soft limit, at most the hard one."""
    hard = resource.getrlimit(what)[1]
    if hard != resource.RLIM_INFINITY and (soft == resource.RLIM_INFINITY or soft > hard):
        soft = hard
    resource.setrlimit(what, (soft, hard))


def _used_seconds() -> int:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return int(usage.ru_utime + usage.ru_stime) + 1


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
