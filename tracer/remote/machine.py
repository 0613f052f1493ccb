"""A target's description of itself for a capture: kernel, CPU, memory, mounts, disks.

The answer is not trusted: invalid data raise a RecordError.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Literal

from foreread.boards.base.units import KIB
from foreread.boards.device import Devices
from foreread.boards.mounts import MountPoint, parse_mount
from foreread.boards.sysfs_copy import copied_devices, parse_links, parse_sysfs
from foreread.tracer.formats.capture import Squashfs
from foreread.tracer.memory import available_kib, meminfo
from foreread.tracer.remote.job import Fact, making_sense
from foreread.tracer.runs import metadata
from foreread.tracer.runs.cold import allowed_kib

_BYTE_ORDERS: dict[str, Literal["little", "big"]] = {"little": "little", "big": "big"}
_SIZE = re.compile(r"\d{1,9}", re.ASCII)
_CPUS = re.compile(r"\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?)*", re.ASCII)


@dataclass(frozen=True)
class Machine:
    """A target: ``applets`` are those found of the optional ones.

    ``squashfs`` are the block sizes of those that are visible, by device.
    """

    kernel: str
    version: str
    machine: str
    nodename: str
    page_size: int
    byte_order: Literal["little", "big"]
    cpu_model: str
    cpu_count: int
    memory_kib: int
    available_kib: int
    uptime_s: float
    applets: frozenset[str]
    mounts: list[MountPoint]
    sysfs: dict[str, str]  # content by path below /sys
    bdis: dict[str, str]  # name of the backing device by path of a link to it
    squashfs: dict[str, Squashfs] = field(default_factory=dict)
    sequential_cat: bool | None = None  # its cat asks for sequential reading, as GNU's does
    huge_pages: bool = True  # transparent ones, without which no file is in large folios

    @property
    def allowed_kib(self) -> int:
        """The KiB that may be cached but not mapped when a run begins."""
        return allowed_kib(self.memory_kib)

    @classmethod
    def parse(cls, facts: list[Fact]) -> Machine:
        """Read the answer to ``probe``; raises RecordError."""
        with making_sense("what it is"):
            return cls._parse(facts)

    @classmethod
    def _parse(cls, facts: list[Fact]) -> Machine:
        lines: defaultdict[str, list[str]] = defaultdict(list)
        for fact in facts:
            lines[fact.key].append(fact.value)
        memory = meminfo("\n".join(lines["meminfo"]))
        return cls(
            kernel=lines["kernel"][0],
            version=lines["version"][0],
            machine=lines["machine"][0],
            nodename=lines["nodename"][0],
            page_size=_positive(_kib(lines["page"][0]) * KIB),
            byte_order=_BYTE_ORDERS[lines["order"][0]],
            cpu_model=metadata.cpu_model("\n".join(lines["cpuinfo"])) or "".join(lines["board"]),
            cpu_count=_positive(_count(lines["cpus"][0])),
            memory_kib=_positive(memory["MemTotal"]),
            available_kib=available_kib(memory),
            uptime_s=float(lines["uptime"][0].split()[0]),
            applets=frozenset(lines["applet"]),
            mounts=[parse_mount(line) for line in lines["mount"]],
            sysfs=parse_sysfs(lines["sys"]),
            bdis=parse_links(lines["bdi"]),
            squashfs=dict(map(_squashfs, lines["squashfs"])),
            sequential_cat={"gnu": True, "other": False}.get("".join(lines["cat"])),
            huge_pages="huge_pages" not in lines["lacks"],
        )

    @contextmanager
    def devices(self) -> Iterator[Devices]:
        """Yield the target's disks, from a copy of its sysfs that lasts as long as the block."""
        with ExitStack() as stack:
            with making_sense("reading its disks"):
                copied = copied_devices(self.sysfs, self.mounts, self.bdis)
                devices = stack.enter_context(copied)
            yield devices


def _squashfs(line: str) -> tuple[str, Squashfs]:
    """Return device and sizes of a line like ``7:0 131072 1024``."""
    dev, *sizes = line.split(" ")
    block, unit = (int(size) if _SIZE.fullmatch(size) else 0 for size in sizes)
    return dev, Squashfs(block_bytes=block, device_block_bytes=unit)


def _positive(number: int) -> int:
    if number < 1:
        raise ValueError(f"{number} is not positive")
    return number


def _kib(line: str) -> int:
    """Return the number in a line like ``MemTotal: 123 kB``."""
    return int(line.split(":")[1].split(maxsplit=1)[0])


def _count(cpus: str) -> int:
    """Return how many CPUs a list like ``0-3,5`` names."""
    if not _CPUS.fullmatch(cpus):
        raise ValueError(f"no list of CPUs: {cpus!r}")
    ranges = [[int(n) for n in part.split("-")] for part in cpus.split(",")]
    return sum(max(0, part[-1] - part[0] + 1) for part in ranges)
