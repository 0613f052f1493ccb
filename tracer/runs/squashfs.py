"""The superblock of a squashfs (struct squashfs_super_block, fs/squashfs/squashfs_fs.h)."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from foreread.boards.mounts import MountPoint

SUPERBLOCK_BYTES = 512
_SUPERBLOCK = struct.Struct("<I8xI4xHH4xHH")
_MAGIC, _MAJOR = 0x73717368, 4
_COMPRESSORS = {1: "gzip", 2: "lzma", 3: "lzo", 4: "xz", 5: "lz4", 6: "zstd"}


def parse_superblock(raw: bytes) -> tuple[int, str]:
    """Return the bytes of a block and the compressor; (0, "") if it is of no squashfs 4."""
    if len(raw) < _SUPERBLOCK.size:
        return 0, ""
    magic, block, compressor, log, major, _ = _SUPERBLOCK.unpack_from(raw)
    if magic != _MAGIC or major != _MAJOR or log > 20 or block != 1 << log:
        return 0, ""
    return block, _COMPRESSORS.get(compressor, "")


def squashfs_devices(mounts: Iterable[MountPoint]) -> dict[str, list[MountPoint]]:
    """Return the mounts of each squashfs, by device."""
    by_device: dict[str, list[MountPoint]] = {}
    for mount in mounts:
        if mount.fstype == "squashfs":
            by_device.setdefault(mount.dev, []).append(mount)
    return by_device
