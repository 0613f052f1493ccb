"""The machines that can be emulated, as data."""

from __future__ import annotations

import os
from dataclasses import dataclass

from boards.emulated.error import BoardError


@dataclass(frozen=True)
class Machine:
    """One architecture: its QEMU machine and the names Debian gives it.

    ``kernels`` are the versions that Debian packages for it; ``icount`` are the words that
    make guest time count instructions. With less than
    ``least_memory_mib`` besides its disk it hangs or ends before it can say why.
    """

    name: str
    debian: str
    flavour: str
    kernels: tuple[str, ...]
    qemu: str
    qemu_package: str
    options: tuple[str, ...]
    icount: tuple[str, ...]
    disk_device: str
    console: str
    cross: str
    least_memory_mib: int


# One instruction is two nanoseconds of guest time; sleep=off lets idle time pass at once.
_ICOUNT = ("-icount", "shift=1,sleep=off")
# Eight nanoseconds; with sleep=off this machine sometimes hangs while it boots (QEMU 7.2).
_ICOUNT_MALTA = ("-icount", "shift=3,sleep=on")

MACHINES = {
    one.name: one
    for one in (
        Machine(
            name="x86_64",
            debian="amd64",
            flavour="cloud-amd64",
            kernels=("6.1", "6.12"),
            qemu="qemu-system-x86_64",
            qemu_package="qemu-system-x86",
            options=("-machine", "q35"),
            icount=_ICOUNT,
            disk_device="virtio-blk-pci",
            console="ttyS0",
            cross="x86_64-linux-gnu-",
            least_memory_mib=96,
        ),
        Machine(
            name="arm64",
            debian="arm64",
            flavour="cloud-arm64",
            kernels=("6.1", "6.12"),
            qemu="qemu-system-aarch64",
            qemu_package="qemu-system-arm",
            options=("-machine", "virt", "-cpu", "cortex-a53"),
            icount=_ICOUNT,
            disk_device="virtio-blk-device",
            console="ttyAMA0",
            cross="aarch64-linux-gnu-",
            least_memory_mib=64,
        ),
        Machine(
            name="armhf",
            debian="armhf",
            flavour="armmp",
            kernels=("6.1",),
            qemu="qemu-system-arm",
            qemu_package="qemu-system-arm",
            options=("-machine", "virt", "-cpu", "cortex-a15"),
            icount=_ICOUNT,
            disk_device="virtio-blk-device",
            console="ttyAMA0",
            cross="arm-linux-gnueabihf-",
            least_memory_mib=64,
        ),
        Machine(
            name="mipsel",
            debian="mipsel",
            flavour="4kc-malta",
            kernels=("6.1",),
            qemu="qemu-system-mipsel",
            qemu_package="qemu-system-mips",
            options=("-machine", "malta", "-cpu", "24Kf"),
            icount=_ICOUNT_MALTA,
            disk_device="virtio-blk-pci",
            console="ttyS0",
            cross="mipsel-linux-gnu-",
            least_memory_mib=48,
        ),
    )
}


def machine(name: str, kernel: str) -> Machine:
    """Return the machine called ``name``; raises BoardError if it or its kernel is unknown."""
    known = MACHINES.get(name)
    if known is None:
        raise BoardError(f"no emulated board is called {name!r}", f"say {', '.join(MACHINES)}")
    if kernel not in known.kernels:
        offered = ", ".join(known.kernels)
        raise BoardError(f"{name} has no kernel {kernel}", f"its kernels are: {offered}")
    return known


def host_is(debian: str) -> bool:
    """Return whether this machine runs programs of that Debian architecture."""
    names = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "armhf"}
    return names.get(os.uname().machine) == debian
