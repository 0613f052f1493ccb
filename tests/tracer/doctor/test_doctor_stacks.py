"""What doctor says of the root file system: whose window counts, or why none does."""

from __future__ import annotations

import pytest

from foreread.boards.mounts import parse_mount
from foreread.boards.sysfs_copy import copied_devices
from foreread.tracer.doctor.disks import seen_mounts, stack_findings

SDA = {"block/sda/dev": "8:0", "block/sda/queue/read_ahead_kb": "128"}
VERITY = {
    "block/dm-0/dev": "253:0",
    "block/dm-0/dm/uuid": "CRYPT-VERITY-1-root",
    "block/dm-0/queue/read_ahead_kb": "64",
    "block/dm-0/slaves/sda/dev": "8:0",
}


def found(sysfs, *mounts):
    points = [parse_mount(f"1 1 {line}") for line in mounts]
    with copied_devices(sysfs, points, {}) as devices:
        return stack_findings(devices)


def test_the_device_that_counts_and_its_window():
    (finding,) = found({**SDA, **VERITY}, "253:0 / / ro - squashfs /dev/dm-0 ro")
    assert (finding.name, finding.ok) == ("window of /", True)
    assert "squashfs on dm-0 on sda: /sys/block/dm-0/queue/read_ahead_kb, now 64" in finding.detail
    assert "dm-verity" in finding.detail


def test_each_layer_of_an_overlay():
    layers = ["8:0 / /rom ro - squashfs /dev/sda ro", "0:9 / /up rw - ubifs ubi0:data rw"]
    options = "rw,lowerdir=/rom,upperdir=/up/x"
    names = {one.name: one.ok for one in found(SDA, *layers, f"0:8 / / rw - overlay o {options}")}
    assert names == {"window of /rom": True, "window of /up": False}


def test_an_upper_layer_in_memory_is_no_problem_and_a_root_in_memory_is():
    layers = ["8:0 / /rom ro - squashfs /dev/sda ro", "0:9 / /up rw - tmpfs up rw"]
    options = "rw,lowerdir=/rom,upperdir=/up/x"
    names = {one.name: one.ok for one in found(SDA, *layers, f"0:8 / / rw - overlay o {options}")}
    assert names == {"window of /rom": True, "window of /up": True}
    assert [one.ok for one in found(SDA, "0:9 / / rw - tmpfs root rw")] == [False]


@pytest.mark.parametrize("line", ["0:9 / / rw - ubifs ubi0:root rw", "0:9 / / rw - foofs x rw"])
def test_no_window_ends_with_the_command_to_type(line):
    (finding,) = found(SDA, line)
    assert not finding.ok
    assert "foreread prefetch" in finding.remedy


def test_mounts_with_windows_of_their_own_are_seen():
    sysfs = {**SDA, "class/bdi/0:50/read_ahead_kb": "128"}
    points = [
        parse_mount("1 1 8:0 / / rw - ext4 /dev/sda rw"),
        parse_mount("1 1 0:50 / /nfs rw - nfs4 server:/x rw"),
    ]
    with copied_devices(sysfs, points, {}) as devices:
        (mount,) = seen_mounts(devices)
    assert (mount.name, mount.mountpoint, mount.file_system) == ("0:50", "/nfs", "nfs4")
    assert (mount.knob, mount.read_ahead_kb) == ("/sys/class/bdi/0:50/read_ahead_kb", 128)
