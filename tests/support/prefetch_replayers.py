"""The two replayers of prefetch lists, as they are run on a board, and what is cached after."""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import subprocess
from pathlib import Path

from shells import BASH, BUSYBOX, DASH

REPLAYERS = Path(__file__).parents[2] / "analyzer/apply/replayer"
SHELLS = (BUSYBOX, DASH, BASH)
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]


def compiled(folder: Path) -> list[str]:
    """Return the command of the C replayer, compiled with sanitizers."""
    program = folder / "foreread-prefetch"
    flags = ["-std=c11", "-g", "-O1", "-Wall", "-Wextra"]
    checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    source = REPLAYERS / "foreread-prefetch.c"
    subprocess.run(["cc", *flags, *checks, "-o", program, source], check=True)
    return [str(program)]


def scripted(shell: tuple[str, ...]) -> list[str]:
    """Return the command of the shell replayer under one of SHELLS."""
    name, *options = shell
    path = shutil.which(name)
    return [path, *options, str(REPLAYERS / "foreread-prefetch.sh")] if path else []


def cached_pages(path: Path) -> list[int]:
    """Return which pages of a file are in the page cache (mincore)."""
    size = path.stat().st_size
    pages = -(-size // mmap.PAGESIZE)
    vector = (ctypes.c_ubyte * pages)()
    with path.open("rb") as file:
        at = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0)
    try:
        assert _libc.mincore(ctypes.c_void_p(at), ctypes.c_size_t(size), vector) == 0
    finally:
        _libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(size))
    return [page for page in range(pages) if vector[page] & 1]


def forget(path: Path) -> None:
    """Drop a file's pages from the page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
