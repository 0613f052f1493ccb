"""What a target says of itself, as a capture has it: kernel, CPU, memory, mounts, disks.

The answer may come from anybody: what does not fit is a RecordError.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, cast

from boards.device import Devices
from boards.mounts import MountPoint, parse_mount
from tracer import metadata
from tracer.backends.base import RecordError
from tracer.remote.job import Fact

_UNEXPLAINED_KIB = 4096  # as tracer.cold: what others read meanwhile, superblocks
_UNEXPLAINED_SHARE = 1000
_NAME = r"[\w.!+-]*[\w!+-][\w.!+-]*"  # of a disk, a partition, an attribute: neither . nor ..
_DEV = r"\d{1,7}:\d{1,7}"
_SYSFS = re.compile(
    rf"/sys/(block/{_NAME}/(?:dev|size|device/model|device/name|loop/backing_file"
    rf"|slaves/{_NAME}/dev|queue/{_NAME}|{_NAME}/(?:partition|start|dev))"
    rf"|class/bdi/(?:{_DEV}|{_NAME})(?:-fuseblk)?/read_ahead_kb"
    rf"|fs/btrfs/[0-9a-f-]{{36}}/devices/{_NAME}/dev):(.*)",
    re.ASCII,
)
_DEVICE = re.compile(rf"block/{_NAME}(?:/{_NAME})?/dev", re.ASCII)  # a disk or a partition
_BDI = re.compile(rf"(/sys/fs/btrfs/[0-9a-f-]{{36}}/bdi) /sys/\S*/({_NAME})", re.ASCII)
_CPUS = re.compile(r"\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?)*", re.ASCII)


@dataclass(frozen=True)
class Machine:
    """A target: ``applets`` are those found of the optional ones."""

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

    @property
    def allowed_kib(self) -> int:
        """How much may be cached, and mapped by nobody, when a run begins."""
        return max(_UNEXPLAINED_KIB, self.memory_kib // _UNEXPLAINED_SHARE)

    @classmethod
    def parse(cls, facts: list[Fact]) -> Machine:
        """Read the answer to ``probe``; raises RecordError."""
        try:
            return cls._parse(facts)
        except (ValueError, LookupError) as error:
            raise RecordError(
                f"the target's description of itself makes no sense ({error})",
                "see what its shell prints at log-in, and whether /proc and /sys are mounted",
            ) from error

    @classmethod
    def _parse(cls, facts: list[Fact]) -> Machine:
        lines: defaultdict[str, list[str]] = defaultdict(list)
        sysfs: defaultdict[str, list[str]] = defaultdict(list)
        bdis = {}
        for fact in facts:
            lines[fact.key].append(fact.value)
        for match in filter(None, map(_SYSFS.fullmatch, lines["sys"])):
            sysfs[match[1]].append(match[2])
        for match in filter(None, map(_BDI.fullmatch, lines["bdi"])):
            bdis[match[1].removeprefix("/sys/")] = match[2]
        meminfo = "\n".join(lines["meminfo"])
        return cls(
            kernel=lines["kernel"][0],
            version=lines["version"][0],
            machine=lines["machine"][0],
            nodename=lines["nodename"][0],
            page_size=_kib(lines["page"][0]) * 1024,
            byte_order=cast(Literal["little", "big"], lines["order"][0]),
            cpu_model=metadata.cpu_model("\n".join(lines["cpuinfo"])) or "".join(lines["board"]),
            cpu_count=_count(lines["cpus"][0]),
            memory_kib=_kib(lines["meminfo"][0]),
            available_kib=metadata.available_kib(meminfo),
            uptime_s=float(lines["uptime"][0].split()[0]),
            applets=frozenset(lines["applet"]),
            mounts=[parse_mount(line) for line in lines["mount"]],
            sysfs={path: "\n".join(content) for path, content in sysfs.items()},
            bdis=bdis,
        )

    @contextmanager
    def devices(self) -> Iterator[Devices]:
        """Yield the target's disks, from a copy of its sysfs that lasts as long as the block."""
        with TemporaryDirectory(prefix="foreread-sys-") as name:
            root = Path(name)
            _write(root, self.sysfs)
            for path, bdi in self.bdis.items():
                (root / "class/bdi" / bdi).mkdir(parents=True, exist_ok=True)
                _link(root / path, root / "class/bdi" / bdi)
            for path, dev in self.sysfs.items():
                if _DEVICE.fullmatch(path) and re.fullmatch(_DEV, dev, re.ASCII):
                    _link(root / "dev/block" / dev, (root / path).parent)
            yield Devices(root, self.mounts, copied=True)


def _write(root: Path, files: dict[str, str]) -> None:
    for path in ("block", "class/bdi", "fs/btrfs"):
        (root / path).mkdir(parents=True)
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content, errors="surrogateescape")


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.exists():
        link.symlink_to(target)


def _kib(line: str) -> int:
    """Return the number in a line like ``MemTotal: 123 kB``."""
    return int(line.split(":")[1].split(maxsplit=1)[0])


def _count(cpus: str) -> int:
    """Return how many CPUs a list like ``0-3,5`` names."""
    if not _CPUS.fullmatch(cpus):
        raise ValueError(f"no list of CPUs: {cpus!r}")
    ranges = [[int(n) for n in part.split("-")] for part in cpus.split(",")]
    return sum(max(0, part[-1] - part[0] + 1) for part in ranges)
