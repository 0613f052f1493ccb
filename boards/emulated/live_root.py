"""What the root file system of a live board has besides its packages."""

from __future__ import annotations

import re
from pathlib import Path

from boards.emulated.error import BoardError, call, require_tool

PACKAGES = ("dropbear-bin",)
FREE_MIB = 16
_GUEST = Path(__file__).parent / "guest"
# Programs and their sources.
SCRIPTS = {
    "etc/init.d/rcS": _GUEST / "rcS.sh",
    "etc/init.d/rcK": _GUEST / "rcK.sh",
    "etc/init.d/S40network": _GUEST / "network.sh",
    "etc/init.d/S50dropbear": _GUEST / "dropbear.sh",
    "usr/sbin/board-save": _GUEST / "board-save.sh",
    "usr/sbin/board-console": _GUEST / "board-console.sh",
}
_FILES = {
    "etc/inittab": "::sysinit:/etc/init.d/rcS\n"
    "::respawn:/usr/sbin/board-console\n"
    "::shutdown:/etc/init.d/rcK\n",
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "etc/group": "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n",
    "etc/shells": "/bin/sh\n",
    "etc/hosts": "127.0.0.1 localhost\n",
    "etc/hostname": "board\n",
    "etc/fstab": "/dev/slow0 / auto defaults 0 0\n",
}
_FOLDERS = ("dev", "etc/init.d", "proc", "root", "run", "sys", "tmp", "usr/sbin", "var/tmp")
# Applets stand in busybox by name, sorted, each with a NUL at its end (applet_names).
_APPLETS = re.compile(rb"\0\[\0\[\[\0((?:[a-z0-9][a-z0-9_.-]*\0)+)")
_SWAP_UUID = "0f1e2d3c-4b5a-4697-8879-6a5b4c3d2e1f"


def add_live_files(tree: Path, swap_mib: int) -> None:
    """Add init, its scripts and the commands of busybox, which is there; raises BoardError."""
    for name in _FOLDERS:
        (tree / name).mkdir(parents=True, exist_ok=True)
    (tree / "root").chmod(0o700)
    for name, text in _FILES.items():
        (tree / name).write_text(text)
    for name, source in SCRIPTS.items():
        (tree / name).write_bytes(source.read_bytes())
        (tree / name).chmod(0o755)
    # The key that may log in is this start's, and not the image's.
    (tree / "root/.ssh").symlink_to("/run/board/ssh")
    _add_applets(tree)
    if swap_mib:
        _add_swap(tree / "swapfile", swap_mib)


def applets(busybox: bytes) -> list[str]:
    """Return the names under which busybox may be called; raises BoardError."""
    found = _APPLETS.search(busybox)
    if found is None:
        raise BoardError("the busybox package names no applets", "report its version")
    return ["[", "[[", *found[1].decode().split("\0")[:-1]]


def _add_applets(tree: Path) -> None:
    """Link the applets that no package has; init lives where the kernel looks for it."""
    folders = [tree / name for name in ("usr/sbin", "usr/bin", "sbin", "bin")]
    for name in applets((tree / "bin/busybox").read_bytes()):
        if not any((folder / name).is_symlink() or (folder / name).exists() for folder in folders):
            (tree / "bin" / name).symlink_to("busybox")
    (tree / "sbin").mkdir(exist_ok=True)
    if not (tree / "sbin/init").is_symlink():
        (tree / "sbin/init").symlink_to("/bin/busybox")


def _add_swap(file: Path, mib: int) -> None:
    """Make a swap file without holes: mke2fs makes one of whatever is zero."""
    file.write_bytes(b"\xff" * (mib << 20))
    file.chmod(0o600)
    tool = require_tool("mkswap", "util-linux")
    call([tool, "-U", _SWAP_UUID, file], "free some space in the cache's file system")
