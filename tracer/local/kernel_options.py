"""The options of this machine's kernel that change what a start reads."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

from foreread.tracer.runs.kernel_options import parse_options, with_huge_pages

_MM = Path("/sys/kernel/mm")
_PLACES = ("/proc/config.gz", "/boot/config-{}")  # the latter with the kernel's release
_MOST_BYTES = 4 << 20


def local_options() -> dict[str, str]:
    """Return the options of this machine's kernel that can be read.

    sysfs has a folder of transparent huge pages only with that option (mm/huge_memory.c).
    """
    absent = _MM.is_dir() and not (_MM / "transparent_hugepage").is_dir()
    return with_huge_pages(_configured(), absent)


def _configured() -> dict[str, str]:
    """Return the options of the configuration; {} if it cannot be read."""
    for place in _PLACES:
        path = Path(place.format(os.uname().release))
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                return parse_options(file.read(_MOST_BYTES).decode(errors="replace").split("\n"))
        except (OSError, EOFError, zlib.error):
            continue
    return {}
