"""The modules of a packaged kernel that an initramfs needs, in the order of loading.

Read from the modules themselves (their .modinfo strings, include/linux/module.h), since a package
that is not installed has no modules.dep.
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterable
from pathlib import Path

# The modules that mount the disks; a kernel may have some of them built in.
DISKS = (
    "virtio_pci",
    "virtio_mmio",
    "virtio_ccw",
    "virtio_blk",
    "crc32c_generic",
    "ext4",
    "squashfs",
)
# Additional modules of a live board: its network, and the available schedulers.
OTHERS = ("virtio_net", "bfq", "kyber_iosched", "mq_deadline", "autofs4")


def folder(root: Path) -> Path:
    """Return lib/modules/RELEASE of an unpacked kernel package; in /usr/lib from Debian 14 on."""
    return next(path for lib in ("lib", "usr/lib") for path in (root / lib / "modules").glob("*"))


def kernel(root: Path) -> Path:
    """Return the kernel image, which Debian 14 keeps next to its modules."""
    return [*(root / "boot").glob("vmlinu[xz]-*"), *folder(root).glob("vmlinu[xz]")][0]


def load_order(modules: Path, names: Iterable[str] = DISKS) -> dict[str, bytes]:
    """Return module names and contents, each after its dependencies.

    ``modules`` is a kernel's lib/modules/RELEASE. Names without a file are left out.
    """
    files = {_name(file): file for file in modules.rglob("*.ko*")}
    order: dict[str, bytes] = {}

    def add(name: str) -> None:
        file = files.get(name)
        if file is None or name in order:
            return
        content = _content(file)
        for needed in dependencies(content):
            add(needed)
        order[name] = content

    for name in names:
        add(name)
    return order


def dependencies(content: bytes) -> list[str]:
    """Return the names in a module's ``depends=`` string, with underscores."""
    match = re.search(rb"\0depends=([^\0]*)\0", content)
    return match[1].decode().replace("-", "_").split(",") if match and match[1] else []


def _name(file: Path) -> str:
    return file.name.partition(".")[0].replace("-", "_")


def _content(file: Path) -> bytes:
    data = file.read_bytes()
    return lzma.decompress(data) if file.suffix == ".xz" else data
