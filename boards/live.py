"""The profile of a running machine, this one or a target, from /proc and /sys.

Nothing is measured or trusted: missing or invalid facts are absent.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from msgspec import UNSET, UnsetType

from foreread.boards.attribute import attribute
from foreread.boards.base.units import KIB
from foreread.boards.device import DeviceError, Devices
from foreread.boards.mounts import MountPoint, parse_mount
from foreread.boards.profile import (
    BoardMemory,
    Cpu,
    Defaults,
    Kernel,
    LocalTransport,
    Profile,
    Storage,
    Transport,
    decode_profile,
    profile_name,
)
from foreread.boards.profile_toml import encode_profile
from foreread.boards.sysfs_copy import copied_devices, parse_sysfs
from foreread.boards.target import Target

# In /proc/cpuinfo, by architecture: x86, arm, mips, powerpc and others.
_MODEL_KEYS = ("model name", "cpu model", "Processor", "cpu", "uarch")
_KINDS = {"nvme": "NVMe", "mmcblk": "MMC", "sd": "SCSI", "vd": "virtio", "loop": "loop"}
_SELECTED = re.compile(r"\[(.+?)\]")
_ORDERS: dict[bytes, Literal["little", "big"]] = {b"\1": "little", b"\2": "big"}
_LONGEST, _LARGEST = 200, 1 << 53
_READ_S = 60.0
_SYSFS = (
    "cd / && for f in sys/block/*/dev sys/block/*/size sys/block/*/device/model"
    " sys/block/*/device/name sys/block/*/loop/backing_file sys/block/*/dm/name"
    " sys/block/*/slaves/*/dev"
    " sys/block/*/queue/read_ahead_kb sys/block/*/queue/scheduler sys/block/*/*/partition"
    " sys/block/*/*/dev sys/fs/btrfs/*/devices/*/dev; do"
    ' [ -r "$f" ] && read -r line <"$f" && echo "/$f:$line"; done; :'
)


@dataclass(frozen=True)
class _Facts:
    """The facts that a machine states, unchanged; empty where missing."""

    nodename: str
    machine: str
    release: str
    page_size: int | None
    cores: int | None
    byte_order: Literal["little", "big"] | None
    cpuinfo: str
    meminfo: str
    swappiness: str


def live_profile(devices: Devices | None = None, proc: Path = Path("/proc")) -> Profile:
    """Return the profile of this machine; ``proc`` and ``devices`` can be replaced in tests."""
    host = os.uname()
    facts = _Facts(
        nodename=host.nodename,
        machine=host.machine,
        release=host.release,
        page_size=os.sysconf("SC_PAGE_SIZE"),
        cores=os.cpu_count(),
        byte_order=sys.byteorder,
        cpuinfo=attribute(proc / "cpuinfo"),
        meminfo=attribute(proc / "meminfo"),
        swappiness=attribute(proc / "sys/vm/swappiness"),
    )
    return _profile(facts, devices or Devices(), LocalTransport())


def target_profile(target: Target, transport: Transport | UnsetType = UNSET) -> Profile:
    """Return the profile of a target; raises TargetError, and ProfileError on invalid replies."""
    names = [*_printed_lines(target, ["uname", "-n"]), *_printed_lines(target, ["uname", "-m"])]
    pages = _printed_lines(target, ["grep", "-m1", "KernelPageSize", "/proc/self/smaps"])
    elf = target.run(["dd", "if=/proc/self/exe", "bs=1", "skip=5", "count=1"], timeout_s=_READ_S)
    facts = _Facts(
        nodename=names[0] if len(names) == 2 else "",
        machine=names[1] if len(names) == 2 else "",
        release=_knob(target, "/proc/sys/kernel/osrelease"),
        page_size=_times(_amount("".join(pages).partition(":")[2].strip().partition(" ")[0]), KIB),
        cores=_cores(_knob(target, "/sys/devices/system/cpu/online")),
        byte_order=_ORDERS.get(elf.stdout),  # EI_DATA of the ELF header
        cpuinfo=_knob(target, "/proc/cpuinfo"),
        meminfo=_knob(target, "/proc/meminfo"),
        swappiness=_knob(target, "/proc/sys/vm/swappiness"),
    )
    sysfs = parse_sysfs(_printed_lines(target, ["sh", "-c", _SYSFS]))
    mounts = list(_mounts(_knob(target, "/proc/self/mountinfo")))
    with copied_devices(sysfs, mounts, {}) as devices:
        profile = _profile(facts, devices, transport)
    return decode_profile(encode_profile(profile).encode(), "reading the target's facts")


def _profile(facts: _Facts, devices: Devices, transport: Transport | UnsetType) -> Profile:
    machine, release = _word(facts.machine), _word(facts.release)
    kib = _amount(_first(facts.meminfo, ("MemTotal",)).partition(" ")[0])
    swappiness = _amount(facts.swappiness)
    return Profile(
        schema=1,
        name=profile_name(facts.nodename),
        title=f"{_word(facts.nodename) or 'a board'} ({machine or 'CPU not known'})",
        measured_here=True,
        cpu=Cpu(
            architecture=machine,
            model=_word(_first(facts.cpuinfo, _MODEL_KEYS)) or UNSET,
            cores=facts.cores or UNSET,
            byte_order=facts.byte_order or UNSET,
        )
        if machine
        else UNSET,
        memory=BoardMemory(size_mib=max(1, kib // KIB)) if kib else UNSET,
        kernel=Kernel(release=release, page_size_bytes=facts.page_size or UNSET)
        if release
        else UNSET,
        storage=list(_storages(devices)),
        defaults=UNSET if swappiness is None else Defaults(swappiness=swappiness),
        transport=transport,
        notes=["Read from the running machine: current values, without a cost model."],
    )


def _storages(devices: Devices) -> Iterator[Storage]:
    for name in devices.mounted():
        # A disk that has disappeared, or invalid text from a target.
        with suppress(DeviceError, ValueError, OSError):
            yield _storage(name, devices)


def _storage(name: str, devices: Devices) -> Storage:
    disk, queue = devices.disk(name), devices.queue(name)
    chosen = _SELECTED.search(queue.get("scheduler", ""))
    superblocks = devices.superblocks(name)
    fstypes = {mount.fstype for mount in devices.mounts if mount.dev in superblocks} - {"overlay"}
    read_ahead_kb = _amount(queue.get("read_ahead_kb", ""))
    size = disk.size_bytes
    return Storage(
        name=_word(name) or UNSET,
        kind=next((kind for start, kind in _KINDS.items() if name.startswith(start)), "block"),
        model=_word(disk.model) or UNSET,
        size_mib=size >> 20 if 0 <= size < _LARGEST else UNSET,
        file_systems=sorted(filter(None, map(_word, fstypes))),
        read_ahead_kb=UNSET if read_ahead_kb is None else read_ahead_kb,
        scheduler=_word(chosen[1] if chosen else "") or UNSET,
    )


def _printed_lines(target: Target, command: Sequence[str]) -> list[str]:
    """Return the lines that a command prints, empty if it fails."""
    done = target.run(command, timeout_s=_READ_S)
    return os.fsdecode(done.stdout).splitlines() if done.status == 0 else []


def _knob(target: Target, path: str) -> str:
    try:
        return target.read_knob(path)
    except OSError:
        return ""


def _mounts(mountinfo: str) -> Iterator[MountPoint]:
    for line in mountinfo.split("\n"):
        with suppress(ValueError, IndexError):
            yield parse_mount(line)


def _cores(online: str) -> int | None:
    """Return the number of CPUs in a list like ``0-3,5``."""
    spans = [part.split("-") for part in online.split(",")]
    if not all(0 < len(span) < 3 and all(map(_is_number, span)) for span in spans):
        return None
    count = sum(int(span[-1]) - int(span[0]) + 1 for span in spans)
    return count if 0 < count < _LARGEST else None


def _amount(text: str) -> int | None:
    return int(text) if _is_number(text) and int(text) < _LARGEST else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 20


def _times(number: int | None, factor: int) -> int | None:
    return None if not number or number * factor > _LARGEST else number * factor


def _word(text: str) -> str:
    """Return ``text`` if a kernel may show it as a value, otherwise ""."""
    return text.strip() if len(text) <= _LONGEST and text.isprintable() else ""


def _first(text: str, keys: tuple[str, ...]) -> str:
    """Return the value of the first of ``keys`` in a text of ``key: value`` lines."""
    pairs = [line.partition(":") for line in reversed(text.splitlines())]
    values = {key.strip(): value.strip() for key, _, value in pairs}
    return next((values[key] for key in keys if values.get(key)), "")
