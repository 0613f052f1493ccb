"""Fill the caches that a squashfs has of its own with other files.

A squashfs keeps 8 blocks of metadata and 3 fragments, unpacked (fs/squashfs/squashfs_fs.h,
CONFIG_SQUASHFS_FRAGMENT_CACHE_SIZE). ``drop_caches`` leaves them, so that a second run reads fewer
blocks than the first after a boot. tracer/remote/lib.sh does the same on a target.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from foreread.boards.mounts import read_mounts

_TYPES = ("squashfs", "overlay")  # an overlay may have a squashfs below it that is not visible
_LOOKED_UP = 4096  # small files: their inodes fill far more than 8 blocks of metadata
_SMALL_BYTES = 32 << 10  # such a file ends in a fragment, or is in one


def displace_squashfs() -> None:
    """Look up small files of every squashfs, and read some from all over it."""
    if "squashfs" not in Path("/proc/filesystems").read_text().split():
        return
    # The first mount of each: later ones may be bind mounts, which show a part of it.
    first = {mount.dev: mount for mount in reversed(read_mounts()) if mount.fstype in _TYPES}
    for mount in first.values():
        read_spread(Path(mount.mountpoint))


def read_spread(top: Path) -> list[Path]:
    """Look up the first small files below a directory, read some; return the paths of these."""
    read, following = [], 0
    for number, path in enumerate(islice(_small_files(top), _LOOKED_UP)):
        if number == following:
            following += 1 + number // 4  # 30 of 4096, and the last ones far apart
            with suppress(OSError):
                path.read_bytes()
                read.append(path)
    return read


def _small_files(top: Path) -> Iterator[Path]:
    """Yield the small regular files below a directory, on its file system."""
    with suppress(OSError):
        dev = top.stat().st_dev
        for folder, folders, names in os.walk(top):
            here = Path(folder)
            folders[:] = [below for below in folders if _on(here / below, dev)]
            for name in names:
                with suppress(OSError):
                    status = (here / name).lstat()
                    if stat.S_ISREG(status.st_mode) and status.st_size <= _SMALL_BYTES:
                        yield here / name


def _on(folder: Path, dev: int) -> bool:
    try:
        return folder.lstat().st_dev == dev
    except OSError:
        return False
