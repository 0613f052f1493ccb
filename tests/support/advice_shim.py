"""The preload shim of advice for single files, built and run with real programs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

SHIM = Path(__file__).parents[2] / "analyzer/advise/shim/foreread-advice.c"
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Werror")
# Preloaded after the shim, it prints the advice that is given, and passes it on.
_SPY = r"""
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void said(const char *call, long first, long advice)
{
    char text[100];
    int size = snprintf(text, sizeof text, "%s %ld %ld\n", call, first, advice);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, getenv("SPIED"), O_WRONLY | O_APPEND);
    if (write(fd, text, (size_t)size) != size)
        abort();
    close(fd);
}

int posix_fadvise(int fd, off_t at, off_t length, int advice)
{
    said("fadvise", at + length, advice);
    return (int)syscall(SYS_fadvise64, fd, at, length, advice);
}

int madvise(void *at, size_t length, int advice)
{
    if (advice <= 2)
        said("madvise", (long)length, advice);
    return (int)syscall(SYS_madvise, at, length, advice);
}
"""


def built(folder: Path, *flags: str, compiler: str = "cc") -> Path:
    """Return the shim, built with further flags."""
    library = folder / "foreread-advice.so"
    words = [compiler, *WARNINGS, "-O2", "-shared", "-fPIC", *flags, "-o", library, SHIM]
    subprocess.run(words, check=True)
    return library


def spy(folder: Path) -> Path:
    """Return the library that notes the advice which is given."""
    source, library = folder / "spy.c", folder / "spy.so"
    source.write_text(_SPY)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def run(
    words: Sequence[str | Path],
    libraries: Sequence[Path],
    listing: Path | None,
    **more: str,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command with preloaded libraries, and the list in its environment."""
    environment: Mapping[str, str] = {
        **os.environ,
        "LD_PRELOAD": " ".join(map(str, libraries)),
        **({} if listing is None else {"FOREREAD_ADVICE": str(listing)}),
        **more,
    }
    return subprocess.run(words, env=environment, capture_output=True, check=False)
