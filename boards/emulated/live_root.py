"""The files of a live board's root file system in addition to its packages."""

from __future__ import annotations

import re
from pathlib import Path

from foreread.boards.emulated.error import BoardError, call, require_tool
from foreread.boards.emulated.systemd_root import add_systemd_files

FREE_MIB = 16
GUEST = Path(__file__).parent / "guest"
_OWN = "usr/lib/board"
# The board's own programs, and the names under which init finds them.
_PROGRAMS = ("console", "dropbear", "network", "save")
_BUSYBOX_SCRIPTS = {"etc/init.d/rcS": "rcS.sh", "etc/init.d/rcK": "rcK.sh"}
_BUSYBOX_LINKS = {"etc/init.d/S40network": "network", "etc/init.d/S50dropbear": "dropbear"}
PACKAGES = {
    "busybox": ("dropbear-bin",),
    "systemd": ("dash", "dropbear-bin", "systemd", "systemd-sysv"),
}
_INITTAB = """\
::sysinit:/etc/init.d/rcS
::respawn:/usr/lib/board/console
::shutdown:/etc/init.d/rcK
"""
_FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "etc/group": "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n",
    "etc/shells": "/bin/sh\n",
    "etc/hosts": "127.0.0.1 localhost\n",
    "etc/hostname": "board\n",
}
_FOLDERS = ("dev", "etc", "proc", "root", "run", "sys", "tmp", _OWN, "var/tmp")
# The busybox binary has the sorted names of its applets, each with a NUL (applet_names). Another
# table comes before them, which may end with any byte.
_APPLETS = re.compile(rb"\[\0\[\[\0((?:[a-z0-9][a-z0-9_.-]*\0)+)")
_BLOCK = 4096
_SIGNATURE = 10  # bytes, at the end of the header (include/linux/swap.h)
_SWAP_UUID = "0f1e2d3c-4b5a-4697-8879-6a5b4c3d2e1f"


def add_live_files(tree: Path, init: str, swap_mib: int, page_bytes: int = 4096) -> None:
    """Add init, its scripts and the commands of busybox, which the tree has; raises BoardError.

    A kernel accepts a swap file only for its own page size.
    """
    for name in _FOLDERS:
        (tree / name).mkdir(parents=True, exist_ok=True)
    (tree / "root").chmod(0o700)
    for name, text in _FILES.items():
        (tree / name).write_text(text)
    for name in _PROGRAMS:
        add_program(tree / _OWN / name, f"{name}.sh")
    # The login key belongs to this start, not to the image.
    (tree / "root/.ssh").symlink_to("/run/board/ssh")
    _add_applets(tree)
    if init == "busybox":
        _add_busybox_init(tree)
    else:
        add_systemd_files(tree)
    if swap_mib:
        _add_swap(tree / "swapfile", swap_mib, page_bytes)


def source_files() -> list[Path]:
    """Return all files of the root that do not come from its packages."""
    return [path for path in sorted(GUEST.rglob("*")) if path.is_file()]


def add_program(path: Path, script: str) -> None:
    """Write one of the guest's scripts to ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((GUEST / script).read_bytes())
    path.chmod(0o755)


def _add_busybox_init(tree: Path) -> None:
    (tree / "etc/inittab").write_text(_INITTAB)
    for name, script in _BUSYBOX_SCRIPTS.items():
        add_program(tree / name, script)
    for name, program in _BUSYBOX_LINKS.items():
        (tree / name).symlink_to(f"/{_OWN}/{program}")


def applets(busybox: bytes) -> list[str]:
    """Return the applet names of busybox; raises BoardError."""
    match = _APPLETS.search(busybox)
    if match is None:
        raise BoardError("the busybox package names no applets", "report its version")
    return ["[", "[[", *match[1].decode().split("\0")[:-1]]


def _add_applets(tree: Path) -> None:
    """Link the applets that no package provides, and init where the kernel expects it."""
    folders = [tree / name for name in ("usr/sbin", "usr/bin", "sbin", "bin")]
    for name in applets((tree / "bin/busybox").read_bytes()):
        if not any((folder / name).is_symlink() or (folder / name).exists() for folder in folders):
            (tree / "bin" / name).symlink_to("busybox")
    (tree / "sbin").mkdir(exist_ok=True)
    if not (tree / "sbin/init").is_symlink():
        (tree / "sbin/init").symlink_to("/bin/busybox")


def _add_swap(file: Path, mib: int, page_bytes: int) -> None:
    """Make a swap file without holes: mke2fs turns blocks of zeros into holes."""
    file.write_bytes(b"\xff" * (mib << 20))
    file.chmod(0o600)
    tool = require_tool("mkswap", "util-linux")
    words: list[str | Path] = [tool, "-p", str(page_bytes), "-U", _SWAP_UUID, file]
    call(words, "free some space in the cache's file system")
    with file.open("r+b") as data:  # the header is a page, of which nothing is used after a block
        data.seek(_BLOCK)
        data.write(b"\xff" * max(page_bytes - _SIGNATURE - _BLOCK, 0))
