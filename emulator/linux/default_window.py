"""The readahead window that a kernel gives to a disk or file system that nobody has set.

Not 128 KiB everywhere: a disk with an optimal I/O size has twice that from 5.10 on, a rotational
disk without one twice its max_sectors_kb from 6.17 on, and some file systems have a window of
their own. How to call it, for a capture's disk on the kernel that it was recorded with:

    queue = DiskQueue.from_sysfs(device.queue)
    default_window(version_of(kernel), queue, fstype="ext4", page_size=4096).read_ahead_kb

and for the same disk under another kernel, whose max_sectors_kb has another default, too:

    default_window(version, queue.under(version), fstype="ext4", page_size=4096)

A dm or md device counts with its own queue: the kernel combines the limits of its members there.
What a program on the board has set since (udev rules, LVM, tuned) is not the kernel's default;
the capture has the window in force (``read_ahead_kb_before``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from foreread.emulator.linux.filesystems import WITHOUT_WINDOW
from foreread.emulator.linux.rules import Version, rules_for

KIB = 1024
READAHEAD_KB = 128  # VM_READAHEAD_PAGES (include/linux/pagemap.h), before 5.1 VM_MAX_READAHEAD
_BTRFS_KB = 4096  # SZ_4M in open_ctree, fs/btrfs/disk-io.c
_FROM_IO_OPT: Version = (5, 10)
_FROM_MAX_SECTORS: Version = (6, 17)
_IO_OPT_COUNTS: Version = (6, 11)  # blk_validate_limits: max_sectors is io_opt if that is larger
# Windows of the mount (s_bdi) that depend on what is at its other end, or on an option.
_OF_THE_MOUNT = {
    "9p": "9p: 0, or msize with a cache (v9fs_fill_super)",
    "bcachefs": "bcachefs: the sum of its disks' windows",
    "ceph": "ceph: the mount option rasize, 8 MiB if it is not set",
    "cifs": "cifs: once or twice rsize, or the mount option rasize",
    "fuse": "fuse: at most 128 KiB, less if the server asks for less (process_init_reply)",
    "smb3": "cifs: once or twice rsize, or the mount option rasize",
    "virtiofs": "virtiofs: at most 128 KiB, less if the server asks for less (process_init_reply)",
}
_NFS = ("nfs", "nfs4")
_NFS_FIXED: Version = (5, 4)
_DIGITS = 10
# Default of max_sectors_kb: the hardware's, but at most this (BLK_DEF_MAX_SECTORS).
_MAX_SECTORS_KB: tuple[tuple[Version, int], ...] = (
    ((2, 6, 11), 512),
    ((4, 3), 1280),
    ((6, 17), 4096),
)


@dataclass(frozen=True)
class DiskQueue:
    """What decides in /sys/block/DISK/queue: values after boot, before anything was set.

    ``io_opt`` is optimal_io_size (bytes, 0: unknown); ``max_hw_sectors_kb`` is the hardware's
    limit of ``max_sectors_kb``, None if unknown.
    """

    rotational: bool
    max_sectors_kb: int
    io_opt: int = 0
    max_hw_sectors_kb: int | None = None

    @classmethod
    def from_sysfs(cls, queue: Mapping[str, str]) -> DiskQueue | None:
        """Return the queue of a capture's device; None where attributes are missing or wrong."""
        names = ("rotational", "max_sectors_kb", "optimal_io_size", "max_hw_sectors_kb")
        rotational, sectors, io_opt, hardware = (_number(queue.get(name, "")) for name in names)
        if rotational is None or sectors is None or io_opt is None:
            return None
        return cls(rotational > 0, sectors, io_opt, hardware)

    def under(self, version: Version) -> DiskQueue:
        """Return the same disk's queue as another kernel sets it up (blk_validate_limits)."""
        if self.max_hw_sectors_kb is None:
            return self
        cap = max(kb for since, kb in _MAX_SECTORS_KB if since <= version)
        if version >= _IO_OPT_COUNTS:
            cap = max(cap, self.io_opt // KIB)
        return replace(self, max_sectors_kb=min(self.max_hw_sectors_kb, cap))


def _number(text: str) -> int | None:
    """Return an attribute of the kernel, which has 32 bits; None for any other text."""
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else None


@dataclass(frozen=True)
class DefaultWindow:
    """The window of a kernel: ``why`` is the rule, ``source`` the kernel's file and function.

    ``read_ahead_kb`` is None where it cannot be computed; ``why`` then says what it depends on.
    """

    read_ahead_kb: int | None
    why: str
    source: str


def default_window(
    version: Version,
    queue: DiskQueue | None,
    *,
    fstype: str = "",
    page_size: int = 4096,
    members: int = 1,
) -> DefaultWindow:
    """Return the window that a kernel gives to a file system of ``fstype`` on a disk.

    ``queue`` is None for a file system without a disk, or if the disk's limits are unknown;
    ``members`` is the number of disks of a btrfs. Raises KernelError before 2.6.11.
    """
    rules = rules_for(version)
    if fstype in WITHOUT_WINDOW:
        return DefaultWindow(0, f"{fstype} has no window", "ubifs_fill_super, mtd_bdi")
    if fstype == "squashfs" and not rules.block_window:
        return DefaultWindow(0, "squashfs has no window on this kernel", "squashfs_fill_super")
    if fstype == "btrfs":
        kb = max(READAHEAD_KB * members, _BTRFS_KB)
        return DefaultWindow(
            kb, "a btrfs has 128 KiB per disk, at least 4 MiB", "fs/btrfs/disk-io.c open_ctree"
        )
    if fstype in _OF_THE_MOUNT:
        return DefaultWindow(None, _OF_THE_MOUNT[fstype], "super_setup_bdi")
    if fstype in _NFS:
        return _of_nfs(version)
    return _of_disk(version, queue, page_size)


def _of_nfs(version: Version) -> DefaultWindow:
    if version < _NFS_FIXED:
        return DefaultWindow(None, "nfs: 15 times rsize", "fs/nfs/client.c nfs_server_set_fsinfo")
    return DefaultWindow(READAHEAD_KB, "nfs has the kernel's 128 KiB", "super_setup_bdi")


def _of_disk(version: Version, queue: DiskQueue | None, page_size: int) -> DefaultWindow:
    if version < _FROM_IO_OPT:
        return DefaultWindow(
            READAHEAD_KB, "every disk has 128 KiB before Linux 5.10", "VM_READAHEAD_PAGES"
        )
    source = "block/blk-settings.c blk_apply_bdi_limits (before 6.9 disk_update_readahead)"
    if queue is None:
        return DefaultWindow(None, "the disk's limits are unknown", source)
    if queue.io_opt:
        return _largest(2 * queue.io_opt, "twice the disk's optimal_io_size", page_size, source)
    if queue.rotational and version >= _FROM_MAX_SECTORS:
        why = "twice max_sectors_kb of a rotational disk, from Linux 6.17 on"
        source = "block/blk-settings.c blk_apply_bdi_limits, commit 459779d04ae8"
        return _largest(2 * KIB * queue.max_sectors_kb, why, page_size, source)
    return DefaultWindow(READAHEAD_KB, "the kernel's 128 KiB", source)


def _largest(size: int, why: str, page_size: int, source: str) -> DefaultWindow:
    """Return ``size`` bytes in whole pages, or 128 KiB if that is more."""
    kb = size // page_size * page_size // KIB
    if kb <= READAHEAD_KB:
        return DefaultWindow(READAHEAD_KB, "the kernel's 128 KiB", source)
    return DefaultWindow(kb, why, source)
