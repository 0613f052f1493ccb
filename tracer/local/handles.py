"""Paths of inodes by file handle, without a search: open_by_handle_at(2).

Right after a run the kernel still holds the directory entries that the run looked up, so that a
file opened by its inode number has its path. The handles of these file systems are the inode
number and its generation, of which 0 stands for any (ext4_nfs_get_inode in fs/ext4/super.c,
f2fs_nfs_get_inode in fs/f2fs/super.c, squashfs_export_iget in fs/squashfs/export.c).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import math
import os
import struct
import time
from collections.abc import Iterable
from pathlib import Path

_FILEID_INO32_GEN = 1  # include/linux/exportfs.h
_HANDLE = struct.Struct("=IiII")  # bytes of it, type, inode, generation
_ANY = 0
FILE_SYSTEMS = frozenset({"ext2", "ext3", "ext4", "f2fs", "squashfs"})
_SAY_WHAT_IS_GONE = frozenset({"ext2", "ext3", "ext4", "f2fs"})
_LIBC = ctypes.CDLL(None, use_errno=True)


def paths_by_handle(
    root: str, fstype: str, inodes: Iterable[int], limit_s: float = math.inf
) -> tuple[dict[int, str], set[int]]:
    """Return the paths below ``root`` of a file system's inodes, and which of them are deleted.

    No further inode is looked up after ``limit_s`` seconds.

    Inodes in neither have to be searched for: without the right (CAP_DAC_READ_SEARCH), on other
    file systems, and where the kernel no longer knows the path.
    """
    paths: dict[int, str] = {}
    gone: set[int] = set()
    if fstype not in FILE_SYSTEMS or not hasattr(_LIBC, "open_by_handle_at"):
        return paths, gone
    try:
        mount = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return paths, gone
    try:
        dev = os.fstat(mount).st_dev
        end_s = time.monotonic() + limit_s
        for ino in inodes:
            if time.monotonic() > end_s:
                break
            try:
                path = _path(mount, ino)
            except OSError as error:
                if error.errno == errno.ESTALE and fstype in _SAY_WHAT_IS_GONE:
                    gone.add(ino)
                elif error.errno in (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP):
                    break
                continue
            if _leads_to(path, dev, ino):
                paths[ino] = path
    finally:
        os.close(mount)
    return paths, gone


def _path(mount: int, ino: int) -> str:
    """Return the kernel's path of an inode; OSError if the inode does not exist."""
    if ino >= 1 << 32:
        raise OSError(errno.EINVAL, "no 32-bit inode")
    handle = ctypes.create_string_buffer(_HANDLE.pack(8, _FILEID_INO32_GEN, ino, _ANY))
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = _LIBC.open_by_handle_at(mount, handle, flags)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "open_by_handle_at")
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115  may hold any bytes
    finally:
        os.close(descriptor)


def _leads_to(path: str, dev: int, ino: int) -> bool:
    """Return whether the path leads to the inode, by way of the mounts that are seen here."""
    with contextlib.suppress(OSError, ValueError):
        status = Path(path).lstat()
        return (status.st_dev, status.st_ino) == (dev, ino)
    return False
