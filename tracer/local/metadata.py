"""The description of the machine in a capture: kernel, CPU, memory, mounts, disks."""

from __future__ import annotations

import os
import platform
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from foreread.boards.base.child import completed
from foreread.tracer.formats.capture import Host
from foreread.tracer.local.kernel_options import local_options
from foreread.tracer.memory import meminfo
from foreread.tracer.runs.metadata import cpu_model


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
        sequential_cat=_is_cat_gnu(),
        kernel_options=local_options(),
    )


def _is_cat_gnu() -> bool | None:
    """Return whether cat is GNU's, which asks for sequential reading; None without a cat."""
    with suppress(OSError):
        done = completed(["cat", "--version"], subprocess.DEVNULL)
        return b"GNU" in done.stdout
    return None


def _kernel_long_size(machine: str) -> int:
    """Return the size of the kernel's long; a 32-bit Python may have a smaller one."""
    return 8 if "64" in machine or machine == "s390x" else struct.calcsize("l")


def local_cpu_model() -> str:
    """Return the CPU's name, or the board's on 64-bit ARM, which reports no CPU name."""
    texts = []
    for path in ("/proc/cpuinfo", "/proc/device-tree/model"):
        try:
            texts.append(Path(path).read_text(errors="surrogateescape"))
        except OSError:
            texts.append("")
    return cpu_model(texts[0]) or texts[1].rstrip("\0") or platform.processor()
