"""The initramfs of an emulated board: busybox, modules, init; and the job appended to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from foreread.boards.emulated.cpio import (
    CONSOLE,
    DIRECTORY,
    FILE,
    LINK,
    PRIVATE,
    PROGRAM,
    Entry,
    archive,
)

GUEST = Path(__file__).parent / "guest"
# The first processes, by their names in the initramfs, and their common part.
SCRIPTS = {"init": "init.sh", "live": "live.sh", "lib.sh": "lib.sh"}
APPLETS = tuple(
    "cat chroot cp dd insmod mkdir mount reboot sh sleep switch_root sync tar".split()  # noqa: SIM905
)


def base_initramfs(
    busybox: bytes, disks: Mapping[str, bytes], live_modules: Mapping[str, bytes], slowdisk: bytes
) -> bytes:
    """Return the part that is the same for every run.

    ``disks`` are the modules that every run needs, ``live_modules`` the further modules of live
    boards, both in the order of loading.
    """
    folders = (
        "app",
        "bin",
        "dev",
        "job",
        "job/run",
        "job/run/ssh",
        "modules",
        "out",
        "proc",
        "root",
        "sys",
    )
    entries = {name: Entry(DIRECTORY) for name in folders}
    # Without /dev/console the first process cannot print errors before it mounts devtmpfs.
    entries["dev/console"] = Entry(CONSOLE, device=(5, 1))
    for name, script in SCRIPTS.items():
        entries[name] = Entry(PROGRAM, (GUEST / script).read_bytes())
    entries["bin/busybox"] = Entry(PROGRAM, busybox)
    entries |= {f"bin/{applet}": Entry(LINK, b"busybox") for applet in APPLETS}
    for order, modules in (("disks", disks), ("others", live_modules)):
        entries |= _modules(order, modules)
    entries["modules/slowdisk.ko"] = Entry(FILE, slowdisk)
    return archive(entries)


def more_initramfs(modules: Mapping[str, bytes]) -> bytes:
    """Return the part with modules that only some live boards load, in the order of loading."""
    return archive(_modules("more", modules))


def _modules(order: str, modules: Mapping[str, bytes]) -> dict[str, Entry]:
    entries = {f"modules/{name}.ko": Entry(FILE, data) for name, data in modules.items()}
    lines = "".join(f"{name}.ko\n" for name in modules)
    return entries | {f"modules/{order}": Entry(FILE, lines.encode())}


def job_initramfs(files: Mapping[str, bytes]) -> bytes:
    """Return the part with the job: the files of the folder ``job``, for root only."""
    return archive({f"job/{name}": Entry(PRIVATE, data) for name, data in files.items()})
