"""The default window of kernels: values seen on machines, and what the sources require."""

from __future__ import annotations

import pytest

from foreread.emulator.linux.default_window import DiskQueue, default_window
from foreread.emulator.linux.rules import version_of

VIRTIO = DiskQueue(rotational=True, max_sectors_kb=4096, max_hw_sectors_kb=(1 << 31) - 1)
SCSI = DiskQueue(rotational=True, max_sectors_kb=1280, max_hw_sectors_kb=32767)
EMMC = DiskQueue(rotational=False, max_sectors_kb=512, max_hw_sectors_kb=512)
RAID = DiskQueue(rotational=True, max_sectors_kb=1280, io_opt=512 << 10)


def kb(release, queue, **more):
    return default_window(version_of(release), queue, **more).read_ahead_kb


@pytest.mark.parametrize(
    ("release", "queue", "expected"),
    [
        ("6.18.44", VIRTIO, 8192),  # seen: /sys/block/vda
        ("6.18.44", SCSI, 2560),  # seen: a loop device on vda
        ("6.18.44", EMMC, 128),
        ("6.12.117", VIRTIO, 128),
        ("6.14", SCSI, 128),
        ("2.6.32", RAID, 128),
        ("5.4", RAID, 128),
        ("5.10", RAID, 1024),
        ("6.18", RAID, 1024),
        ("6.18", DiskQueue(True, 4096, io_opt=4096), 128),  # an optimal size counts, if small, too
        ("6.18", DiskQueue(True, 32), 128),
    ],
)
def test_window_of_a_disk(release, queue, expected):
    assert kb(release, queue) == expected


def test_window_is_whole_pages():
    assert kb("6.18", DiskQueue(False, 1280, io_opt=(96 << 10) + 512), page_size=65536) == 192


@pytest.mark.parametrize(
    ("release", "fstype", "expected"),
    [
        ("6.18", "btrfs", 4096),
        ("6.18", "ubifs", 0),
        ("5.17", "squashfs", 0),
        ("6.18", "squashfs", 8192),
        ("6.18", "nfs4", 128),
        ("4.19", "nfs", None),
        ("6.18", "fuse", None),
    ],
)
def test_window_of_a_file_system(release, fstype, expected):
    assert kb(release, VIRTIO, fstype=fstype) == expected


def test_window_of_a_btrfs_of_many_disks():
    assert kb("6.18", VIRTIO, fstype="btrfs", members=40) == 5120


def test_unknown_limits_give_no_window():
    found = default_window((6, 18), None)
    assert found.read_ahead_kb is None
    assert "unknown" in found.why


def test_another_kernel_sets_max_sectors_of_its_own():
    assert SCSI.under((6, 18)).max_sectors_kb == 4096
    assert VIRTIO.under((6, 12)).max_sectors_kb == 1280
    assert EMMC.under((6, 18)) == EMMC
    assert RAID.under((6, 18)) == RAID  # the hardware's limit is unknown
    assert kb("7.2", SCSI.under((7, 2))) == 8192


def test_queue_of_a_capture():
    queue = {"rotational": "1", "max_sectors_kb": "1280", "optimal_io_size": "0"}
    assert DiskQueue.from_sysfs(queue) == DiskQueue(True, 1280)
    assert DiskQueue.from_sysfs({**queue, "max_hw_sectors_kb": "32767"}) == SCSI
    assert DiskQueue.from_sysfs({"rotational": "1"}) is None
    for wrong in ("many", "", "-1", "9" * 5000):
        assert DiskQueue.from_sysfs({**queue, "max_sectors_kb": wrong}) is None, wrong[:9]
