"""Doctor's line for each disk: the rule or origin of its window, and whether it looks wrong."""

import pytest

from foreread.machine.disk_windows import set_windows, window_findings, with_windows
from foreread.tracer.doctor.disks import SeenDisk, SeenMount
from foreread.tracer.doctor.examine import Diagnosis
from foreread.tracer.doctor.tunable import Finding


def disk(name="sda", kb=128, model="", lowest=(), **queue):
    attributes = {"rotational": "0", "max_sectors_kb": "1280", "optimal_io_size": "0", **queue}
    return SeenDisk(name, model, kb, attributes, list(lowest) or [name])


def found(one, kernel="6.18.44", origins=None):
    (finding,) = window_findings(Diagnosis(kernel, "C3", "", [], [one]), origins or {})
    return finding


VIRTIO = {"rotational": "1", "max_sectors_kb": "4096"}
STRIPES = {"rotational": "1", "optimal_io_size": str(4 << 20)}
ROTATIONAL = "calls itself rotational"
FALSE = "is the largest value of a field"
WRONG = [
    (disk("vda", 8192, **VIRTIO), "6.18.1", "8,192 KiB, the default of Linux 6.18", ROTATIONAL),
    (disk("dm-2", 8192, lowest=["vda"], **VIRTIO), "6.17.3", "twice max_sectors_kb", "(vda)"),
    (disk("sda", 2560, "QEMU HARDDISK", rotational="1"), "6.18.1", "rotational disk", ROTATIONAL),
    (disk("sdb", 65532, optimal_io_size="33553920"), "6.8.0", "twice the disk's", FALSE),
    (
        disk("sdc", 524280, optimal_io_size="268431360", logical_block_size="4096"),
        "5.15.0",
        "524,280 KiB, the default of Linux 5.15",
        FALSE,
    ),
    (disk("md0", 8388576, optimal_io_size="4294950912"), "6.1.0", "optimal_io_size", FALSE),
    (disk("sdb", 65520, optimal_io_size="33553920"), "6.12.0", "the default of Linux", FALSE),
    (disk("sdb", 65528, optimal_io_size="33550336"), "6.18.0", "optimal_io_size", FALSE),
    (disk("md1", 32760, optimal_io_size="16773120"), "6.6.0", "optimal_io_size", FALSE),
    (
        disk("sda", 4096, "Virtual Disk", rotational="1", max_sectors_kb="2048"),
        "6.17.0",
        "4,096 KiB, the default of Linux 6.17",
        "virtual (Virtual Disk)",
    ),
    (disk("mmcblk0", 0), "6.1.0", "0 KiB, not the default", "nothing is read ahead"),
    (disk("sda", 65536), "6.1.0", "65,536 KiB, not the default", "as much memory"),
]


@pytest.mark.parametrize(("one", "kernel", "rule", "why"), WRONG)
def test_a_window_that_looks_wrong_is_marked_with_the_reason_and_the_command(
    one, kernel, rule, why
):
    finding = found(one, kernel)
    assert not finding.ok
    assert finding.name == f"window {one.name}"
    assert rule in finding.detail
    assert why in finding.detail
    assert f"echo 128 >/sys/block/{one.name}/queue/read_ahead_kb" in finding.remedy


RIGHT = [
    (disk("mmcblk0"), "6.12.0", "128 KiB, the default of Linux 6.12 for this disk"),
    (disk("sda", 2560, "ST4000DM004", rotational="1"), "6.18.1", "rotational disk"),
    (disk("md0", 8192, **STRIPES), "6.12.0", "twice the disk's optimal_io_size"),
    (disk("sdb", 128, optimal_io_size="33553920"), "5.4.0", "every disk has 128 KiB before"),
    (disk("vda", 128, **VIRTIO), "6.12.0", "the kernel's 128 KiB"),
    (disk("md0", 65536 // 4, optimal_io_size=str(8 << 20)), "6.12.0", "optimal_io_size"),
    (disk("nvme0n1", 256, optimal_io_size="131072"), "6.12.0", "twice the disk's"),
]


@pytest.mark.parametrize(("one", "kernel", "rule"), RIGHT)
def test_a_window_that_the_kernel_gives_for_a_reason_is_ok(one, kernel, rule):
    finding = found(one, kernel)
    assert finding.ok
    assert rule in finding.detail


def test_a_mapped_disk_is_as_virtual_as_the_disks_below():
    mapped = disk("dm-0", 2560, "vg-root", ["sda"], rotational="1")
    for model, ok in (("QEMU HARDDISK", False), ("ST4000DM004", True)):
        below = disk("sda", 2560, model, rotational="1")
        diagnosis = Diagnosis("6.18.0", "C3", "", [], [mapped, below])
        assert [one.ok for one in window_findings(diagnosis, {})] == [ok, ok]


def test_a_window_that_was_set_is_beside_the_default_and_what_set_it():
    one = disk("vda", 512, **VIRTIO)
    finding = found(one, origins={one.knob: ["udev rule /etc/udev/rules.d/60-a.rules:1 sets 512"]})
    assert finding.ok
    assert finding.detail == (
        "512 KiB, not the default of Linux 6.18 for this disk, 8,192 KiB (twice max_sectors_kb of "
        "a rotational disk, from Linux 6.17 on): udev rule /etc/udev/rules.d/60-a.rules:1 sets 512"
    )
    assert "after the board started" in found(one).detail


@pytest.mark.parametrize("kernel", ["unknown", ""])
def test_an_unknown_kernel_has_no_known_default(kernel):
    assert "the kernel's default for this disk is unknown" in found(disk(kb=512), kernel).detail


MOUNTS = [
    ("btrfs", 4096, 1, "4,096 KiB, the default of Linux 6.12 for this file system (a btrfs has"),
    ("nfs4", 128, 1, "128 KiB, the default of Linux 6.12 for this file system (nfs has"),
    ("nfs4", 15380, 1, "15,380 KiB, not the default of Linux 6.12 for this file system, 128 KiB"),
    ("fuse.sshfs", 64, 1, "64 KiB, the kernel's default is not a fixed one (fuse: at most 128"),
]


@pytest.mark.parametrize(("kind", "kb", "members", "said"), MOUNTS)
def test_a_mount_with_a_window_of_its_own_has_a_line(kind, kb, members, said):
    knob = "/sys/class/bdi/0:50/read_ahead_kb"
    mount = SeenMount("0:50", "/mnt", kind, knob, kb, members)
    diagnosis = Diagnosis("6.12.0", "C3", "", [], [], [mount])
    (finding,) = window_findings(diagnosis, {knob: ["udev rule /a.rules:1 sets it"]})
    assert finding.name == "window 0:50"
    assert finding.detail.startswith(f"{kind} on /mnt: {said}")
    is_default = ", the default of" in finding.detail
    assert ("udev rule" in finding.detail) != is_default
    assert (set_windows(diagnosis) == []) == is_default


def test_only_windows_that_are_not_the_default_are_looked_up():
    disks = [disk("sda"), disk("sdb", 512)]
    diagnosis = Diagnosis("6.12.0", "C3", "", [], disks)
    assert set_windows(diagnosis) == ["/sys/block/sdb/queue/read_ahead_kb"]


def test_windows_of_disks_follow_those_of_file_systems():
    names = ["kernel", "window of /", "BTF"]
    findings = [Finding(name, True, "") for name in names]
    windows = [Finding("window sda", True, "")]
    assert [one.name for one in with_windows(findings, windows)] == [
        *names[:2],
        "window sda",
        "BTF",
    ]
    assert with_windows(findings[:1], windows)[-1].name == "window sda"
