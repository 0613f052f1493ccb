"""Disks of a scratch sysfs that is laid out like the kernel's, and of a real loop device."""

import os

import pytest
from loop_image import WINDOW_KB, loop_image
from machine_lock import nobody_records
from waiting import wait_until

from foreread.boards.device import DeviceError, Devices
from foreread.boards.mounts import MountPoint, read_mounts


class Sysfs:
    """A sysfs with disks, partitions and slaves."""

    def __init__(self, root):
        self.root = root
        (root / "block").mkdir()
        (root / "dev/block").mkdir(parents=True)

    def disk(self, name, dev, slaves=(), **files):
        directory = self.root / "devices" / name
        for path, text in {"dev": dev, "size": "8", **files}.items():
            file = directory / path.replace("__", "/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text}\n")
        (directory / "slaves").mkdir()
        for slave in slaves:
            (directory / "slaves" / slave.name).symlink_to(slave)
        (self.root / "block" / name).symlink_to(directory)
        (self.root / "dev/block" / dev).symlink_to(directory)
        return directory

    def partition(self, disk, name, dev):
        directory = disk / name
        directory.mkdir()
        (directory / "dev").write_text(f"{dev}\n")
        (directory / "partition").write_text("1\n")
        (directory / "start").write_text("2048\n")
        (self.root / "dev/block" / dev).symlink_to(directory)
        return directory


@pytest.fixture
def sysfs(tmp_path):
    return Sysfs(tmp_path)


def mount(dev, mountpoint, fstype="ext4", source="none", super_options="rw"):
    return MountPoint(dev, "/", mountpoint, "rw", fstype, source, super_options)


def test_a_partition_belongs_to_its_disk(sysfs):
    disk = sysfs.disk("mmcblk0", "179:0", device__name="SD08G")
    sysfs.partition(disk, "mmcblk0p2", "179:2")
    devices = Devices(sysfs.root, [mount("179:2", "/")])
    assert devices.disk_of_dev("179:2") == "mmcblk0"
    assert devices.mounted() == ["mmcblk0"]
    assert devices.superblocks("mmcblk0") == ["179:2"]
    assert (devices.first_sector("179:2"), devices.first_sector("179:0")) == (2048, 0)
    assert (devices.disk("mmcblk0").model, devices.disk("mmcblk0").size_bytes) == ("SD08G", 4096)


def test_a_mapped_device_is_a_disk_above_its_slaves(sysfs):
    disks = [sysfs.disk(name, dev) for name, dev in (("sda", "8:0"), ("sdb", "8:16"))]
    partition = sysfs.partition(disks[0], "sda1", "8:1")
    sysfs.disk("md0", "9:0", slaves=[partition, disks[1]])
    sysfs.disk("dm-0", "253:0", slaves=[sysfs.root / "devices/md0"])
    devices = Devices(sysfs.root, [mount("253:0", "/")])
    assert devices.disks_of_superblock("253:0") == ["dm-0"]
    assert devices.below("dm-0") == ["md0", "sda", "sdb"]
    assert devices.mounted() == ["dm-0", "md0", "sda", "sdb"]


def test_a_loop_device_lies_above_the_disk_of_its_backing_file(sysfs, tmp_path):
    sysfs.disk("sda", "8:0")
    sysfs.disk("loop0", "7:0", loop__backing_file=str(tmp_path / "image"))
    devices = Devices(sysfs.root, [mount("8:0", "/"), mount("7:0", "/nonexistent")])
    assert devices.below("loop0") == ["sda"]
    assert devices.mounted() == ["sda", "loop0"]


def test_an_overlay_reads_from_the_disks_of_its_layers(sysfs):
    sysfs.disk("mtdblock3", "31:3")
    sysfs.disk("sda", "8:0")
    overlay = mount(
        "0:30",
        "/nonexistent/merged",
        "overlay",
        super_options="rw,lowerdir=/nonexistent/rom,upperdir=/nonexistent/rw/upper",
    )
    layers = [mount("31:3", "/nonexistent/rom"), mount("8:0", "/nonexistent/rw")]
    devices = Devices(sysfs.root, [mount("0:1", "/", "rootfs"), *layers, overlay])
    assert devices.disks_of_superblock("0:30") == ["mtdblock3", "sda"]


def test_an_overlay_that_hides_its_layers_has_no_disk(sysfs):
    overlay = mount("0:30", "/", "overlay", super_options="rw,lowerdir=/")
    assert Devices(sysfs.root, [overlay]).mounted() == []


def test_network_file_systems_have_a_knob_and_no_disk(sysfs):
    bdi = sysfs.root / "class/bdi/0:50"
    bdi.mkdir(parents=True)
    (bdi / "read_ahead_kb").write_text("128\n")
    devices = Devices(sysfs.root, [mount("0:50", "/", "nfs4"), mount("0:51", "/proc", "proc")])
    assert devices.mounted() == []
    assert devices.other_knobs() == ["/sys/class/bdi/0:50/read_ahead_kb"]


def test_a_disk_that_is_not_there_is_an_error_that_names_those_that_are(sysfs):
    sysfs.disk("sda", "8:0")
    with pytest.raises(DeviceError, match="sdb") as error:
        Devices(sysfs.root, []).disk("sdb")
    assert "sda" in error.value.remedy


@pytest.mark.kernel
@pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root for a loop device: real sysfs was not checked"
)
def test_a_real_loop_device(tmp_path):
    with loop_image(tmp_path) as image, nobody_records():
        devices = Devices()
        assert devices.disks_of_path(image.data) == [image.device]
        assert devices.below(image.device)[:1] == devices.disks_of_path(tmp_path)
        assert image.device in devices.mounted()
        assert devices.queue(image.device)["read_ahead_kb"] == str(WINDOW_KB)
        before = devices.counters(image.device)
        (dev,) = devices.superblocks(image.device)
        assert dev in {mount.dev for mount in read_mounts()}
        descriptor = os.open(f"/dev/{image.device}", os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.pread(descriptor, 4096, 20 << 20)
        os.close(descriptor)
        # The kernel wakes the reader before it counts the request; it has counted the sectors.
        assert devices.counters(image.device).sectors > before.sectors
        wait_until(lambda: devices.counters(image.device).requests > before.requests)
