"""The description of the machine in a capture: kernel, CPU, memory, mounts, disks."""

from __future__ import annotations

import os
import platform
import struct
import sys
from collections.abc import Mapping
from pathlib import Path

from foreread.boards.device import Devices
from foreread.tracer.formats.capture import Device, Host, Mount, Squashfs
from foreread.tracer.local.kernel_options import local_options
from foreread.tracer.memory import meminfo

# "model name" on x86, "Processor" on older ARM, "cpu model" on MIPS, "uarch" on RISC-V
_CPU_KEYS = ("model name", "cpu model", "Processor", "uarch", "Hardware")


def host() -> Host:
    """Return this machine's description."""
    name = os.uname()
    return Host(
        kernel=name.release,
        version=name.version,
        machine=name.machine,
        nodename=name.nodename,
        page_size=os.sysconf("SC_PAGE_SIZE"),
        byte_order=sys.byteorder,
        long_size=_kernel_long_size(name.machine),
        cpu_model=local_cpu_model(),
        cpu_count=os.cpu_count() or 1,
        memory_kib=meminfo()["MemTotal"],
        kernel_options=local_options(),
    )


def mounts(devices: Devices, images: Mapping[str, Squashfs]) -> list[Mount]:
    """Return the mounts of ``devices`` as the capture keeps them; ``images`` are by device."""
    return [
        Mount(
            dev=point.dev,
            mountpoint=point.mountpoint,
            fstype=point.fstype,
            source=point.source,
            options=",".join(filter(None, (point.options, point.super_options))),
            first_sector=devices.first_sector(point.dev),
            squashfs=images.get(point.dev),
        )
        for point in devices.mounts
    ]


def device(devices: Devices, name: str) -> Device:
    """Return the description of disk ``name`` as it is now, ``read_ahead_kb`` included."""
    disk = devices.disk(name)
    queue = devices.queue(disk.name)
    return Device(
        dev=disk.dev,
        name=disk.name,
        filesystems=devices.superblocks(name),
        size_bytes=disk.size_bytes,
        read_ahead_kb_before=int(queue["read_ahead_kb"]),
        read_ahead_kb=int(queue["read_ahead_kb"]),
        queue=queue,
        model=disk.model,
    )


def _kernel_long_size(machine: str) -> int:
    """Return the size of the kernel's long; a 32-bit Python may have a smaller one."""
    return 8 if "64" in machine or machine == "s390x" else struct.calcsize("l")


def cpu_model(cpuinfo: str) -> str:
    """Return the CPU's name from a text of /proc/cpuinfo, or an empty string."""
    lines = cpuinfo.splitlines()
    pairs = [(key.strip(), value.strip()) for key, _, value in (x.partition(":") for x in lines)]
    named = dict(reversed(pairs))
    return next((named[key] for key in _CPU_KEYS if named.get(key)), "")


def local_cpu_model() -> str:
    """Return the CPU's name, or on 64-bit ARM, which reports none, that of the board."""
    texts = []
    for path in ("/proc/cpuinfo", "/proc/device-tree/model"):
        try:
            texts.append(Path(path).read_text(errors="surrogateescape"))
        except OSError:
            texts.append("")
    return cpu_model(texts[0]) or texts[1].rstrip("\0") or platform.processor()
