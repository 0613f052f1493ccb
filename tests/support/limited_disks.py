"""Cgroups that limit reads of a disk, by the blkio or the io controller."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

V1 = Path("/sys/fs/cgroup/blkio")
V2 = Path("/sys/fs/cgroup")


@contextmanager
def limiting_group(device: str, requests: int, size: int) -> Iterator[Path]:
    """Yield a cgroup with limits on reads of the device: requests and bytes a second."""
    number = Path(f"/sys/block/{device}/dev").read_text().strip()
    name = f"foreread-test-{os.getpid()}"
    if (V1 / "blkio.throttle.read_iops_device").exists():
        group = V1 / name
        limits = {
            "blkio.throttle.read_iops_device": f"{number} {requests}",
            "blkio.throttle.read_bps_device": f"{number} {size}",
        }
    elif "io" in _controllers():
        (V2 / "cgroup.subtree_control").write_text("+io")
        group = V2 / name
        limits = {"io.max": f"{number} rbps={size} riops={requests}"}
    else:
        pytest.skip("this machine has no cgroup that limits reads: no limiter was measured")
    group.mkdir()
    try:
        for file, limit in limits.items():
            (group / file).write_text(limit)
        yield group
    finally:
        group.rmdir()


@contextmanager
def joined(group: Path) -> Iterator[None]:
    """Be in a group for the length of the block."""
    home = group.parent
    before = home / _own_group(home == V1)
    (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        (before / "cgroup.procs").write_text(str(os.getpid()))


def _controllers() -> list[str]:
    file = V2 / "cgroup.controllers"
    return file.read_text().split() if file.exists() else []


def _own_group(v1: bool) -> str:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if ("blkio" in controllers.split(",")) if v1 else not controllers:
            return path.lstrip("/")
    return ""
