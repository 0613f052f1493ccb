"""What this machine's squashfs are mounted from: block size, device block and compressor.

From the superblock, and where the file system is visible from f_bsize of statfs(2), the
block, and st_blksize of stat(2), the unit of reads from the device (msblk->devblksize,
fs/squashfs/super.c).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from foreread.boards.device import Devices
from foreread.boards.mounts import MountPoint
from foreread.tracer.formats.capture import Squashfs, dev_text
from foreread.tracer.runs.squashfs import SUPERBLOCK_BYTES, parse_superblock, squashfs_devices


def local_images(devices: Devices) -> Mapping[str, Squashfs]:
    """Return what this machine's squashfs are mounted from, by device."""
    images = {}
    for dev, mounts in squashfs_devices(devices.mounts).items():
        block, unit = next(filter(any, map(_sizes, mounts)), (0, 0))
        of_superblock, compressor = parse_superblock(_head(devices.sys, dev))
        images[dev] = Squashfs(
            block_bytes=of_superblock or block, device_block_bytes=unit, compressor=compressor
        )
    return images


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
