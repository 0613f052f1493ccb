"""Another machine's disks, from a copy of the part of its sysfs that describes them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from foreread.boards.base.scratch import scratch_folder
from foreread.boards.device import Devices
from foreread.boards.mounts import MountPoint

NAME = r"[\w.!+-]*[\w!+-][\w.!+-]*"  # of a disk, a partition, an attribute: neither . nor ..
_LONGEST_NAME = 200
_DEV = r"\d{1,7}:\d{1,7}"
_SYSFS = re.compile(
    rf"/sys/(block/{NAME}/(?:dev|size|device/model|device/name|loop/(?:backing_file|dio)"
    rf"|dm/(?:name|uuid)|md/level|slaves/{NAME}/dev|queue/{NAME}|{NAME}/(?:partition|start|dev))"
    rf"|class/bdi/(?:{_DEV}|{NAME})(?:-fuseblk)?/read_ahead_kb"
    rf"|fs/btrfs/[0-9a-f-]{{36}}/devices/{NAME}/dev|class/ubi/ubi\d+_\d+/name):(.*)",
    re.ASCII,
)
_LINK = re.compile(rf"/sys/(fs/btrfs/[0-9a-f-]{{36}}/bdi) /sys/\S*/({NAME})", re.ASCII)
_DEVICE = re.compile(rf"block/{NAME}(?:/{NAME})?/dev", re.ASCII)  # a disk or a partition


def parse_sysfs(lines: Iterable[str]) -> dict[str, str]:
    """Return contents by path below /sys from lines ``PATH:LINE``; other lines are left out."""
    contents: defaultdict[str, list[str]] = defaultdict(list)
    for match in filter(None, map(_SYSFS.fullmatch, lines)):
        if max(map(len, match[1].split("/"))) <= _LONGEST_NAME:
            contents[match[1]].append(match[2])
    return {path: "\n".join(content) for path, content in contents.items()}


def parse_links(lines: Iterable[str]) -> dict[str, str]:
    """Return backing devices by the link below /sys that leads to them, from ``LINK TARGET``."""
    matches = filter(None, map(_LINK.fullmatch, lines))
    return {match[1]: match[2] for match in matches}


@contextmanager
def copied_devices(
    sysfs: Mapping[str, str], mounts: list[MountPoint], bdis: Mapping[str, str]
) -> Iterator[Devices]:
    """Yield the disks, from a copy of sysfs that exists until the end of the block.

    ``bdis`` are names of backing devices by the path of a link to them.
    """
    with scratch_folder("sys") as name:
        root = Path(name)
        _write(root, sysfs)
        for path, bdi in bdis.items():
            (root / "class/bdi" / bdi).mkdir(parents=True, exist_ok=True)
            _link(root / path, root / "class/bdi" / bdi)
        for path, dev in sysfs.items():
            if _DEVICE.fullmatch(path) and re.fullmatch(_DEV, dev, re.ASCII):
                _link(root / "dev/block" / dev, (root / path).parent)
        yield Devices(root, mounts, copied=True)


def _write(root: Path, files: Mapping[str, str]) -> None:
    for path in ("block", "class/bdi", "fs/btrfs"):
        (root / path).mkdir(parents=True)
    for path, content in files.items():
        # A path that is both a file and a directory cannot be from a sysfs.
        with suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(content, errors="surrogateescape")


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.exists():
        link.symlink_to(target)
