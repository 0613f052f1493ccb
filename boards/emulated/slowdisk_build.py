"""Builds the slow disk's kernel module against a packaged kernel's headers."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from foreread.boards.emulated.error import call, require_tool
from foreread.boards.emulated.machines import Machine

SOURCES = sorted((Path(__file__).parent / "slowdisk").glob("*.[ch]"))
# Without ftrace's calls: an older compiler misaligns them for riscv's kernel, which patches them.
_KBUILD = """\
obj-m := slowdisk.o
ccflags-y := -std=gnu11
CFLAGS_REMOVE_slowdisk.o := $(CC_FLAGS_FTRACE)
"""
_VARIABLES = (
    "CONFIG_DEBUG_INFO_BTF_MODULES=",  # needs pahole
    # Set for a kernel of a newer compiler than this machine's.
    "CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=",
    "CONFIG_TOOLCHAIN_HAS_ZABHA=",
    "CONFIG_TOOLCHAIN_HAS_ZACAS=",
    "KCFLAGS=-Wno-attributes",
)


def build_slowdisk(machine: Machine, headers: Path, release: str, work: Path) -> bytes:
    """Return slowdisk.ko for a kernel; ``headers`` holds its unpacked header packages.

    The kbuild programs in them must be this machine's, the headers the target's. Raises BoardError,
    with the package to install where the compiler is missing.
    """
    compiler = f"{machine.cross}gcc"
    require_tool("make", "make")
    require_tool(compiler, f"gcc-{machine.cross.rstrip('-').replace('_', '-')}")
    tree = headers / "usr/src" / f"linux-headers-{release}"
    _relocate(tree / "Makefile", headers)
    _use_own_libraries(headers)
    work.mkdir(exist_ok=True)
    for source in SOURCES:
        shutil.copy(source, work)
    (work / "Kbuild").write_text(_KBUILD)
    variables = [f"M={work}", f"CROSS_COMPILE={machine.cross}", f"CC={compiler}"]
    call(
        ["make", "-s", "-C", tree, *variables, *_VARIABLES, "modules"],
        "the compiler may not fit this kernel: install the one of the kernel's Debian release",
    )
    call([f"{machine.cross}strip", "-g", work / "slowdisk.ko"], "apt-get install binutils")
    return (work / "slowdisk.ko").read_bytes()


def _use_own_libraries(headers: Path) -> None:
    """Make kbuild's programs use the C library that was unpacked with them, if there is one."""
    loader = next(headers.rglob("ld-linux-*.so.*"), None)
    if loader is None:
        return
    places = {str(library.parent) for library in headers.rglob("lib*.so.*")}
    words = [require_tool("patchelf", "patchelf"), "--set-interpreter", str(loader)]
    for file in filter(_is_program, headers.glob("usr/lib/linux-kbuild-*/**/*")):
        call([*words, "--set-rpath", ":".join(sorted(places)), file], "")


def _is_program(file: Path) -> bool:
    plain = file.is_file() and not file.is_symlink() and bool(file.stat().st_mode & 0o111)
    return plain and file.read_bytes()[:4] == b"\x7fELF"


def _relocate(makefile: Path, headers: Path) -> None:
    """Change absolute paths of includes to the place of the unpacked headers."""
    text = makefile.read_text()
    makefile.write_text(re.sub(r"(?<=[= ])/usr/src/", f"{headers}/usr/src/", text))
