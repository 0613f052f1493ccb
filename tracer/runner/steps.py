"""The steps of a program that reads files: what a runner does, one system call or touch each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Advice(IntEnum):
    """POSIX_FADV_* and MADV_*, whose first four values are the same (fadvise.h, mman-common.h)."""

    NORMAL = 0
    RANDOM = 1
    SEQUENTIAL = 2
    WILLNEED = 3


@dataclass(frozen=True)
class Open:
    """Open ``path`` to read it, as descriptor ``fd``."""

    fd: int
    path: str


@dataclass(frozen=True)
class Read:
    """pread(2): ``length`` bytes from byte ``at`` on, or what is there of them."""

    fd: int
    at: int
    length: int


@dataclass(frozen=True)
class Map:
    """mmap(2) of ``length`` bytes of a file from byte ``at`` on, at the address ``address``."""

    fd: int
    address: int
    at: int
    length: int
    executable: bool = False
    shared: bool = False
    advice: Advice = Advice.NORMAL  # madvise(2) of the whole


@dataclass(frozen=True)
class Touch:
    """Read, or write, the byte at ``address``."""

    address: int
    write: bool = False


@dataclass(frozen=True)
class Advise:
    """posix_fadvise(2)."""

    fd: int
    advice: Advice
    at: int
    length: int


@dataclass(frozen=True)
class Pause:
    """Sleep for the executable's pause."""


Step = Open | Read | Map | Touch | Advise | Pause
