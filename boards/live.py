"""The profile of the machine that this runs on, from /proc and /sys; nothing is measured."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from msgspec import UNSET, UnsetType

from boards.device import Devices
from boards.profile import (
    Cpu,
    Defaults,
    Kernel,
    LocalTransport,
    Memory,
    Profile,
    Storage,
    profile_name,
)

# In /proc/cpuinfo, by architecture: x86, arm, mips, powerpc and others.
_MODEL_KEYS = ("model name", "cpu model", "Processor", "cpu", "uarch")
_KINDS = {"nvme": "NVMe", "mmcblk": "MMC", "sd": "SCSI", "vd": "virtio", "loop": "loop"}
_SELECTED = re.compile(r"\[(.+?)\]")


def live_profile(devices: Devices | None = None, proc: Path = Path("/proc")) -> Profile:
    """Return what this machine is made of; ``proc`` and ``devices`` can be replaced in tests."""
    devices = devices or Devices()
    host = os.uname()
    size_kib = _first(proc / "meminfo", ("MemTotal",)).split()
    swappiness = _text(proc / "sys/vm/swappiness")
    return Profile(
        schema=1,
        name=profile_name(host.nodename),
        title=f"{host.nodename} ({host.machine})",
        measured_here=True,
        cpu=Cpu(
            architecture=host.machine,
            model=_first(proc / "cpuinfo", _MODEL_KEYS) or UNSET,
            cores=os.cpu_count() or UNSET,
            byte_order=sys.byteorder,
        ),
        memory=Memory(size_mib=max(1, int(size_kib[0]) // 1024)) if size_kib else UNSET,
        kernel=Kernel(release=host.release, page_size_bytes=os.sysconf("SC_PAGE_SIZE")),
        storage=[_storage(name, devices) for name in devices.mounted()],
        defaults=Defaults(swappiness=int(swappiness)) if swappiness else UNSET,
        transport=LocalTransport(),
        notes=["Read from the live machine: values in force then, and no cost model."],
    )


def _storage(name: str, devices: Devices) -> Storage:
    disk, queue = devices.disk(name), devices.queue(name)
    chosen = _SELECTED.search(queue.get("scheduler", ""))
    superblocks = devices.superblocks(name)
    fstypes = {mount.fstype for mount in devices.mounts if mount.dev in superblocks} - {"overlay"}
    return Storage(
        name=name,
        kind=next((kind for start, kind in _KINDS.items() if name.startswith(start)), "block"),
        model=disk.model or UNSET,
        size_mib=disk.size_bytes >> 20,
        file_systems=sorted(fstypes),
        read_ahead_kb=_number(queue.get("read_ahead_kb", "")),
        scheduler=chosen[1] if chosen else UNSET,
    )


def _number(text: str) -> int | UnsetType:
    return int(text) if text.isdecimal() else UNSET


def _first(path: Path, keys: tuple[str, ...]) -> str:
    """Return the first value of the first of ``keys`` that the file has."""
    pairs = [line.partition(":") for line in reversed(_text(path).splitlines())]
    values = {key.strip(): value.strip() for key, _, value in pairs}
    return next((values[key] for key in keys if values.get(key)), "")


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="surrogateescape").strip()
    except OSError:
        return ""
