"""What a squashfs is mounted from: block size, device block and compressor.

From its superblock (struct squashfs_super_block, fs/squashfs/squashfs_fs.h), and where it is
visible from statfs(2), whose f_bsize is the block, and stat(2), whose st_blksize is the unit of
reads from the device (msblk->devblksize, fs/squashfs/super.c).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from foreread.boards.device import Devices
from foreread.boards.mounts import MountPoint
from foreread.tracer.formats.capture import Squashfs, dev_text

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
    found: dict[str, list[MountPoint]] = {}
    for mount in mounts:
        if mount.fstype == "squashfs":
            found.setdefault(mount.dev, []).append(mount)
    return found


def local_images(devices: Devices) -> Mapping[str, Squashfs]:
    """Return what this machine's squashfs are mounted from, by device."""
    found = {}
    for dev, mounts in squashfs_devices(devices.mounts).items():
        block, unit = next(filter(any, map(_sizes, mounts)), (0, 0))
        of_superblock, compressor = parse_superblock(_head(devices.sys, dev))
        found[dev] = Squashfs(
            block_bytes=of_superblock or block, device_block_bytes=unit, compressor=compressor
        )
    return found


def _sizes(mount: MountPoint) -> tuple[int, int]:
    """Return the bytes of a block and of a device block; 0 if another mount hides this one."""
    try:
        status = os.stat(mount.mountpoint)  # noqa: PTH116  the path may hold any bytes
        if dev_text(os.major(status.st_dev) << 20 | os.minor(status.st_dev)) != mount.dev:
            return 0, 0
        return os.statvfs(mount.mountpoint).f_bsize, status.st_blksize
    except OSError:
        return 0, 0


def _head(sys: Path, dev: str) -> bytes:
    """Return the first bytes of a block device; none if it cannot be read."""
    try:
        lines = (sys / "dev/block" / dev / "uevent").read_text().split("\n")
        names = [line.removeprefix("DEVNAME=") for line in lines if line.startswith("DEVNAME=")]
        with Path("/dev", names[0]).open("rb", buffering=0) as node:
            return node.read(SUPERBLOCK_BYTES) or b""
    except (OSError, IndexError):
        return b""
