"""The machines that can be emulated, as data."""

from __future__ import annotations

import os
from dataclasses import dataclass

from foreread.boards.emulated.error import BoardError

# The releases of Debian with each kernel, if this machine's sources lack it.
SUITES = {"5.10": "bullseye", "6.1": "bookworm", "6.12": "trixie", "7.2": "forky"}
# Debian's kernels for clouds lack f2fs, 9p, virtiofs and MTD; "6.12-generic" is the other flavour.
_GENERIC = "-generic"


@dataclass(frozen=True)
class Machine:
    """One architecture: its QEMU machine and its names in Debian.

    ``kernels`` are the versions that Debian packages for it. One instruction takes 2 to the power
    of ``icount_shift`` nanoseconds of guest time. ``idle_skips``: idle time may be skipped
    (``sleep=off``). ``suite``: the release of Debian of its packages, if not this machine's. With
    less than ``least_memory_mib`` in addition to its disk it hangs, or ends without a message.
    ``page_bytes`` is the page size of its kernels. ``generic`` is the flavour with all of Debian's
    modules, "" if ``flavour`` has them.
    """

    name: str
    debian: str
    flavour: str
    kernels: tuple[str, ...]
    qemu: str
    qemu_package: str
    options: tuple[str, ...]
    icount_shift: int
    idle_skips: bool
    bus: str
    console: str
    cross: str
    least_memory_mib: int
    suite: str = ""
    page_bytes: int = 4096
    generic: str = ""

    @property
    def default_kernel(self) -> str:
        """The kernel that it boots unless another is named."""
        return "6.1" if "6.1" in self.kernels else self.kernels[-1]

    @property
    def offered(self) -> tuple[str, ...]:
        """The names of its kernels: versions, and versions with ``-generic`` for all modules."""
        generic = tuple(f"{kernel}{_GENERIC}" for kernel in self.kernels if self.generic)
        return (*self.kernels, *generic)

    def package_of(self, kernel: str) -> tuple[str, str]:
        """Return the version and Debian's flavour of a kernel of ``offered``."""
        version = kernel.removesuffix(_GENERIC)
        return version, self.flavour if version == kernel else self.generic

    def icount(self, sleeps: bool) -> str:
        """Return QEMU's icount option; idle time passes at once, or ``sleeps``."""
        sleep = "on" if sleeps or not self.idle_skips else "off"
        return f"shift={self.icount_shift},sleep={sleep}"


MACHINES = {
    machine.name: machine
    for machine in (
        Machine(
            name="x86_64",
            debian="amd64",
            flavour="cloud-amd64",
            generic="amd64",
            kernels=("5.10", "6.1", "6.12", "7.2"),
            qemu="qemu-system-x86_64",
            qemu_package="qemu-system-x86",
            options=("-machine", "q35"),
            icount_shift=1,
            idle_skips=True,
            bus="pci",
            console="ttyS0",
            cross="x86_64-linux-gnu-",
            least_memory_mib=96,
        ),
        Machine(
            name="arm64",
            debian="arm64",
            flavour="cloud-arm64",
            generic="arm64",
            kernels=("5.10", "6.1", "6.12", "7.2"),
            qemu="qemu-system-aarch64",
            qemu_package="qemu-system-arm",
            options=("-machine", "virt", "-cpu", "cortex-a53"),
            icount_shift=1,
            idle_skips=True,
            bus="device",
            console="ttyAMA0",
            cross="aarch64-linux-gnu-",
            least_memory_mib=64,
        ),
        Machine(
            name="arm64-16k",
            debian="arm64",
            flavour="arm64-16k",
            kernels=("6.12", "7.2"),
            qemu="qemu-system-aarch64",
            qemu_package="qemu-system-arm",
            # A processor with pages of 16 KiB, which cortex-a53 lacks.
            options=("-machine", "virt", "-cpu", "cortex-a76"),
            icount_shift=1,
            idle_skips=True,
            bus="device",
            console="ttyAMA0",
            cross="aarch64-linux-gnu-",
            least_memory_mib=176,
            page_bytes=16384,
        ),
        Machine(
            name="armhf",
            debian="armhf",
            flavour="armmp",
            kernels=("6.1",),
            qemu="qemu-system-arm",
            qemu_package="qemu-system-arm",
            options=("-machine", "virt", "-cpu", "cortex-a15"),
            icount_shift=1,
            idle_skips=True,
            bus="device",
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
            icount_shift=3,
            idle_skips=False,  # it sometimes hangs while it boots (QEMU 7.2)
            bus="pci",
            console="ttyS0",
            cross="mipsel-linux-gnu-",
            least_memory_mib=48,
        ),
        Machine(
            name="s390x",
            debian="s390x",
            flavour="s390x",
            kernels=("6.1",),
            qemu="qemu-system-s390x",
            qemu_package="qemu-system-misc",
            options=("-machine", "s390-ccw-virtio"),
            icount_shift=1,
            idle_skips=True,
            bus="ccw",
            console="ttyS1",
            cross="s390x-linux-gnu-",
            least_memory_mib=128,
        ),
        Machine(
            name="riscv64",
            debian="riscv64",
            flavour="riscv64",
            kernels=("6.12", "7.2"),
            qemu="qemu-system-riscv64",
            qemu_package="qemu-system-misc",
            options=("-machine", "virt", "-cpu", "rv64"),
            icount_shift=1,
            idle_skips=True,
            bus="device",
            console="ttyS0",
            cross="riscv64-linux-gnu-",
            least_memory_mib=176,
            suite="forky",  # a later release than Debian's first for it: forky also has 7.2
        ),
    )
}


def machine(name: str, kernel: str = "") -> Machine:
    """Return the machine called ``name``; raises BoardError if it or its kernel is unknown."""
    board = MACHINES.get(name)
    if board is None:
        raise BoardError(
            f"no emulated board is called {name!r}", f"use one of {', '.join(MACHINES)}"
        )
    if kernel and kernel not in board.offered:
        offered = ", ".join(board.offered)
        raise BoardError(f"{name} has no kernel {kernel}", f"its kernels are: {offered}")
    return board


def host_is(debian: str) -> bool:
    """Return whether this machine runs programs of that Debian architecture."""
    names = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "armhf"}
    return names.get(os.uname().machine) == debian
