"""The position of files on their device: FIEMAP (include/uapi/linux/fiemap.h)."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager

_FS_IOC_FIEMAP = 0xC020660B  # _IOWR('f', 11, struct fiemap)
_HEAD = struct.Struct("=QQIIII")  # start, length, flags, mapped, count, reserved
_EXTENT = struct.Struct("=QQQQQIIII")  # logical, physical, length, 2 reserved, flags, 3 reserved
_COUNT = 256
_LAST, _UNKNOWN, _DELALLOC, _UNWRITTEN = 1, 2, 4, 0x800


def extents_of(descriptor: int) -> Iterator[tuple[int, int, int, bool]]:
    """Yield (position in the file, position on the device, length, written) in bytes.

    An extent that is not written reads as zeros, without I/O. Raises OSError where the file
    system has no FIEMAP.
    """
    start = 0
    while True:
        request = bytearray(_HEAD.size + _COUNT * _EXTENT.size)
        _HEAD.pack_into(request, 0, start, (1 << 64) - 1 - start, 0, 0, _COUNT, 0)
        fcntl.ioctl(descriptor, _FS_IOC_FIEMAP, request)
        mapped = _HEAD.unpack_from(request)[3]
        if not mapped:
            return
        flags = 0
        for row in range(mapped):
            logical, physical, length, _, _, flags, *_ = _EXTENT.unpack_from(
                request, _HEAD.size + row * _EXTENT.size
            )
            if not flags & (_UNKNOWN | _DELALLOC):
                yield logical, physical, length, not flags & _UNWRITTEN
            start = logical + length
        if flags & _LAST:
            return


@contextmanager
def open_regular(path: str) -> Iterator[int]:
    """Open a file for reading; OSError if it has become a link or is not a regular file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "no regular file", path)
        yield descriptor
    finally:
        os.close(descriptor)
