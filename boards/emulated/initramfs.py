"""The initramfs of an emulated board: busybox, modules, init; and the job appended to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from boards.emulated.cpio import CONSOLE, DIRECTORY, FILE, LINK, PROGRAM, Entry, archive

INIT = Path(__file__).parent / "guest" / "init.sh"
APPLETS = ("cat", "chroot", "dd", "insmod", "mount", "reboot", "sh", "sync", "tar")


def base_initramfs(busybox: bytes, modules: Mapping[str, bytes], slowdisk: bytes) -> bytes:
    """Return the part that is the same for every run; ``modules`` in the order of loading."""
    folders = ("app", "bin", "dev", "job", "modules", "out", "proc", "sys")
    entries = {name: Entry(DIRECTORY) for name in folders}
    # Without /dev/console the first process has nowhere to complain before it mounts devtmpfs.
    entries["dev/console"] = Entry(CONSOLE, device=(5, 1))
    entries["init"] = Entry(PROGRAM, INIT.read_bytes())
    entries["bin/busybox"] = Entry(PROGRAM, busybox)
    entries |= {f"bin/{applet}": Entry(LINK, b"busybox") for applet in APPLETS}
    entries |= {f"modules/{name}.ko": Entry(FILE, data) for name, data in modules.items()}
    entries["modules/slowdisk.ko"] = Entry(FILE, slowdisk)
    order = "".join(f"{name}.ko\n" for name in modules)
    entries["modules/order"] = Entry(FILE, order.encode())
    return archive(entries)


def job_initramfs(settings: bytes, command: bytes) -> bytes:
    """Return the part that says what to run: two shell scripts."""
    return archive({"job/settings": Entry(FILE, settings), "job/command": Entry(FILE, command)})
