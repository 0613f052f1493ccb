"""Builds the slow disk's kernel module against a packaged kernel's headers."""

from __future__ import annotations

import shutil
from pathlib import Path

from boards.emulated.error import call, require_tool
from boards.emulated.machines import Machine

SOURCE = Path(__file__).parent / "slowdisk" / "slowdisk.c"


def build_slowdisk(machine: Machine, headers: Path, release: str, work: Path) -> bytes:
    """Return slowdisk.ko for a kernel; ``headers`` holds its unpacked header packages.

    The kbuild programs among them must be this machine's, the headers the target's.
    Raises BoardError, with the package to install where the compiler is missing.
    """
    compiler = f"{machine.cross}gcc"
    require_tool("make", "make")
    require_tool(compiler, f"gcc-{machine.cross.rstrip('-').replace('_', '-')}")
    tree = headers / "usr/src" / f"linux-headers-{release}"
    _relocate(tree / "Makefile", headers)
    work.mkdir(exist_ok=True)
    shutil.copy(SOURCE, work)
    (work / "Kbuild").write_text("obj-m := slowdisk.o\n")
    variables = [f"M={work}", f"CROSS_COMPILE={machine.cross}", f"CC={compiler}"]
    variables.append("CONFIG_DEBUG_INFO_BTF_MODULES=")  # it would need pahole
    call(
        ["make", "-s", "-C", tree, *variables, "modules"],
        "the compiler may not fit this kernel: install the one of the kernel's Debian release",
    )
    call([f"{machine.cross}strip", "-g", work / "slowdisk.ko"], "apt-get install binutils")
    return (work / "slowdisk.ko").read_bytes()


def _relocate(makefile: Path, headers: Path) -> None:
    """Point the include of the common headers, an absolute path, to where they are unpacked."""
    text = makefile.read_text()
    makefile.write_text(text.replace("include /usr/src/", f"include {headers}/usr/src/"))
