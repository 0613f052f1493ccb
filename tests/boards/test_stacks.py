"""Whose window counts: the model against effects measured in a guest, and scratch stacks."""

from contextlib import contextmanager
from pathlib import Path

import pytest
from waiting import wait_until

from foreread.boards.device import Devices
from foreread.boards.mounts import MountPoint, parse_mount
from foreread.boards.stack import PREFETCH
from foreread.boards.stacks import file_stacks, stack_of_path, stacks
from foreread.boards.sysfs_copy import copied_devices, parse_links, parse_sysfs

MEASURED = Path(__file__).parent / "data/stacks-6.12"
UUID = "26c877ca-2d7d-47ef-ac87-622e60ee297d"
OTHER_UUID = "36c877ca-2d7d-47ef-ac87-622e60ee297d"


def lines_of(name, key):
    lines = (MEASURED / name).read_text().splitlines()
    return [line.removeprefix(f"{key} ") for line in lines if line.startswith(f"{key} ")]


@contextmanager
def guest():
    """The guest's disks, as the recorder of a busybox target describes them."""
    mounts = [parse_mount(line) for line in lines_of("machine.txt", "mount")]
    sysfs = parse_sysfs(lines_of("machine.txt", "sys"))
    with copied_devices(sysfs, mounts, parse_links(lines_of("machine.txt", "bdi"))) as devices:
        yield devices


@contextmanager
def machine(mounts, sysfs, bdis=()):
    """A machine with these mounts (lines of mountinfo after the ids) and files of sysfs."""
    points = [parse_mount(f"1 1 {line}") for line in mounts]
    lines = [f"/sys/{path}:{text}" for path, text in sysfs.items()]
    parsed = parse_sysfs(lines)
    assert len(parsed) == len(sysfs)
    with copied_devices(parsed, points, parse_links(bdis)) as devices:
        yield devices


def disk(name, dev, **files):
    own = {f"block/{name}/dev": dev, f"block/{name}/queue/read_ahead_kb": "128"}
    return {**own, **{f"block/{name}/{path}": text for path, text in files.items()}}


def bdi(name, kb="128"):
    return {f"class/bdi/{name}/read_ahead_kb": kb}


def backing_name(devices, stack):
    """The name in /sys/class/bdi of the device whose window the model says counts."""
    if stack.knob.startswith("/sys/block/"):
        return devices.disk(stack.device).dev
    return stack.device


def effects():
    """(file, name in /sys/class/bdi) of each window that changed how much of a file is read."""
    return [tuple(line.split()[:2]) for line in lines_of("effects.txt", "effect")]


# UBIFS reads ahead if its knob is set, but while the program waits: the model points elsewhere.
# sysfs does not say which 9p-N belongs to which of the two mounts.
NOT_NAMED = {"/m/ubifs/data", "/m/p9/data"}


@pytest.mark.parametrize(("file", "name"), [one for one in effects() if one[0] not in NOT_NAMED])
def test_the_window_that_had_an_effect_is_the_one_that_the_model_names(file, name):
    with guest() as devices:
        named = [one for one in file_stacks(devices, Path(file)) if one.knob]
        assert [backing_name(devices, one) for one in named][:1] == [name]
        assert not [one.unknown for one in named if one.unknown]


def test_each_file_of_the_guest_was_measured():
    measured = {file for file, _ in effects()}
    assert len(measured) == len(effects()) == 19  # one window each
    assert set(lines_of("effects.txt", "done")) - measured == {"/m/p9n/data"}


@pytest.mark.parametrize(
    ("file", "unknown", "remedy"),
    [
        ("/m/ubifs/data", "one page at a time", PREFETCH),
        ("/m/p9n/data", "without a cache", "cache="),
        ("/m/p9/data", "which of 9p-3, 9p-4 belongs to /m/p9", "unmount"),
        ("/m/up/x", "in memory", "on a disk"),
    ],
)
def test_stacks_without_a_known_window_say_why_and_what_to_do(file, unknown, remedy):
    with guest() as devices:
        stack = stack_of_path(devices, Path(file))
    assert unknown in stack.unknown
    assert remedy in stack.remedy
    assert (stack.knob, stack.device) == ("", "")


@pytest.mark.parametrize(
    ("file", "layers", "disks", "fact"),
    [
        ("/m/verity/data", ["dm-1", "vdj", "vdk"], ["vdj", "vdk"], "dm-1 (dm-verity) counts"),
        ("/m/crypt/data", ["dm-2", "vdl"], ["vdl"], "max_read_size"),
        ("/m/lvm/data", ["dm-0", "vdi"], ["vdi"], "of the disks below (vdi) do not count"),
        ("/m/md/data", ["md0", "vdm", "vdn"], ["vdm", "vdn"], "md0 (md raid1) counts"),
        ("/m/part/data", ["vdh"], ["vdh"], "whole disk vdh"),
        ("/m/snap/data", ["loop0", "vdh"], ["vdh"], "/sys/block/vdh/queue/read_ahead_kb when"),
        ("/m/fileer/data", ["vdh"], ["vdh"], "/sys/block/vdh/queue/read_ahead_kb when"),
        ("/m/btrfs/data", ["vde"], ["vde"], "of its disks has no effect"),
    ],
)
def test_layers_down_to_the_disks_that_cost_time(file, layers, disks, fact):
    with guest() as devices:
        stack = stack_of_path(devices, Path(file))
    assert (stack.layers, stack.disks) == (layers, disks)
    assert any(fact in one for one in stack.facts)


@pytest.mark.parametrize("kind", ["loop", "erofs-file"])
def test_the_window_below_an_image_counted_as_of_its_attachment_only(kind):
    words = [dict(w.split("=") for w in line.split()) for line in lines_of("effects.txt", kind)]
    sectors = {(one["attach"], one["now"]): int(one["sectors"]) for one in words}
    for now in ("0", "4096"):
        assert sectors["4096", now] > 5 * sectors["0", now]
    for attach in ("0", "4096"):
        assert sectors[attach, "0"] == sectors[attach, "4096"]
    with guest() as devices:
        stack = stack_of_path(devices, Path("/m/snap/x" if kind == "loop" else "/m/fileer/x"))
    assert [one.knob for one in stack.images] == ["/sys/block/vdh/queue/read_ahead_kb"]


def test_a_file_that_was_open_kept_its_window():
    before, after = (
        int(lines_of("effects.txt", f"open-{when}")[0].partition("=")[2])
        for when in ("before", "after")
    )
    assert after > 5 * before


def test_all_mounted_stacks_are_listed_once_and_pseudo_file_systems_are_not():
    with guest() as devices:
        found = stacks(devices)
    kinds = {one.file_system for one in found}
    assert {"squashfs", "overlay", "btrfs", "9p", "ubifs", "fuse.squashfuse"} <= kinds | {"fuse"}
    assert not {"proc", "sysfs"} & kinds
    assert len({one.dev for one in found}) == len(found)


def test_the_name_of_the_knob_that_lasts_over_a_boot():
    with guest() as devices:
        lasting = {one.mountpoint: one.lasting for one in stacks(devices)}
    assert lasting["/m/btrfs"] == f"/sys/fs/btrfs/{UUID}/bdi/read_ahead_kb"
    assert lasting["/m/fileer"] == "window:/m/fileer"
    assert lasting["/m/lvm"] == "/sys/block/dm-0/queue/read_ahead_kb"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("0:50 / /r ro - nfs4 server:/x ro", "0:50"),
        ("0:50 / /r ro - virtiofs tag ro", "0:50"),
        ("0:50 / /r ro - fuse.sshfs me@there: ro", "0:50"),
        ("0:51 / /r ro - cifs //s/x ro", "cifs-7"),
        ("8:1 / /r ro - fuseblk /dev/sda1 ro", "8:1-fuseblk"),
        ("8:1 / /r ro - squashfs /dev/sda1 ro", "squashfs_8_1"),  # Linux 5.17 to 5.19
        ("0:51 / /r ro - erofs /image ro,inode_share,domain_id=a", "pseudo_erofs-1"),
    ],
)
def test_file_systems_with_a_backing_device_of_their_own(line, name):
    sysfs = {**disk("sda", "8:0"), "block/sda/sda1/dev": "8:1", "block/sda/sda1/partition": "1"}
    with machine([line], {**sysfs, **bdi(name), **bdi("8:0"), **bdi("erofs-3")}) as devices:
        stack = stack_of_path(devices, Path("/r/x"))
    assert (stack.unknown, stack.device) == ("", name)
    assert stack.knob == f"/sys/class/bdi/{name}/read_ahead_kb"
    assert stack.lasting == "window:/r"


@pytest.mark.parametrize("source", ["/dev/root", "/dev/sda", "/dev/mapper/vg-a--b", "/dev/vg/a-b"])
def test_btrfs_by_whatever_name_it_was_mounted(source):
    sysfs = {**disk("sda", "8:0"), **disk("dm-0", "253:0", **{"dm/name": "vg-a--b"})}
    members = ["sda"] if source in ("/dev/root", "/dev/sda") else ["dm-0"]
    devs = {"sda": "8:0", "dm-0": "253:0"}
    sysfs |= {f"fs/btrfs/{UUID}/devices/{one}/dev": devs[one] for one in members}
    link = f"/sys/fs/btrfs/{UUID}/bdi /sys/devices/virtual/bdi/btrfs-3"
    mounts = [f"0:40 / / rw - btrfs {source} rw"]
    with machine(mounts, {**sysfs, **bdi("btrfs-3", "4096")}, [link]) as devices:
        stack = stack_of_path(devices, Path("/x"))
        assert devices.read_ahead_knobs(members)[1:] == [stack.knob]
    assert (stack.device, stack.read_ahead_kb, stack.layers) == ("btrfs-3", 4096, members)


def test_two_btrfs_of_which_the_kernel_mounted_one_are_ambiguous():
    sysfs = {**disk("sda", "8:0"), **disk("sdb", "8:16"), **bdi("btrfs-1"), **bdi("btrfs-2")}
    sysfs |= {f"fs/btrfs/{UUID}/devices/sda/dev": "8:0"}
    sysfs |= {f"fs/btrfs/{OTHER_UUID}/devices/sdb/dev": "8:16"}
    links = [
        f"/sys/fs/btrfs/{uuid}/bdi /sys/devices/virtual/bdi/btrfs-{n}"
        for n, uuid in enumerate((UUID, OTHER_UUID), 1)
    ]
    with machine(["0:40 / / rw - btrfs /dev/root rw"], sysfs, links) as devices:
        stack = stack_of_path(devices, Path("/x"))
    assert "which of btrfs-1, btrfs-2" in stack.unknown
    assert stack.remedy


def test_a_mapped_device_with_the_name_of_a_disk_is_not_that_disk():
    sysfs = {**disk("sda", "8:0"), **disk("dm-0", "253:0", **{"dm/name": "sda"})}
    sysfs |= {f"fs/btrfs/{UUID}/devices/dm-0/dev": "253:0", **bdi("btrfs-1")}
    link = f"/sys/fs/btrfs/{UUID}/bdi /sys/devices/virtual/bdi/btrfs-1"
    with machine(["0:40 / / rw - btrfs /dev/mapper/sda rw"], sysfs, [link]) as devices:
        assert stack_of_path(devices, Path("/x")).layers == ["dm-0"]


@pytest.mark.parametrize(
    ("line", "unknown", "remedy"),
    [
        ("0:60 / / rw - foofs somewhere rw", "does not know which device foofs", PREFETCH),
        ("0:60 / / rw - zfs pool/root rw", "own cache", PREFETCH),
        ("31:3 / / rw - jffs2 mtd3 rw", "one page at a time", PREFETCH),
        ("8:0 / / rw - ext4 /dev/sda rw,dax=always", "dax", "without dax"),
        ("0:60 / / rw - overlay overlay rw,lowerdir=/rom,upperdir=/up", "layers", "--device"),
        ("0:60 / / rw - overlay overlay rw,lowerdir=rom", "layers", "--device"),
    ],
)
def test_stacks_that_are_refused_with_a_remedy(line, unknown, remedy):
    sysfs = {**disk("sda", "8:0"), **disk("mtdblock3", "31:3"), **bdi("mtd-0", "0")}
    with machine([line], sysfs) as devices:
        (stack,) = stacks(devices)
    assert unknown in stack.unknown
    assert remedy in stack.remedy
    assert not stack.knob


def test_layers_of_an_overlay_with_colons_commas_and_data_only_layers():
    mounts = [
        "8:1 / /a:b ro - ext4 /dev/sda1 rw",
        "8:2 / /c,d ro - ext4 /dev/sda2 rw",
        "8:3 / /e ro - erofs /dev/sda3 ro",
        r"0:60 / / rw - overlay o rw,lowerdir=/a\134:b:/c\054d",
        "0:61 / /m rw - overlay o rw,lowerdir+=/e,datadir+=/a:b/data",
    ]
    sysfs = dict(disk("sda", "8:0"))
    for n in (1, 2, 3):
        sysfs |= {f"block/sda/sda{n}/dev": f"8:{n}", f"block/sda/sda{n}/partition": f"{n}"}
    with machine(mounts, sysfs) as devices:
        assert [one.dev for one in file_stacks(devices, Path("/x"))] == ["8:1", "8:2"]
        assert [one.dev for one in file_stacks(devices, Path("/m/x"))] == ["8:3", "8:1"]
        overlay = stack_of_path(devices, Path("/x"))
    assert (overlay.over, overlay.knob, overlay.unknown) == (["8:1", "8:2"], "", "")
    assert overlay.facts


def test_an_image_that_lies_on_the_overlay_above_it_ends_the_search():
    mounts = [
        "0:33 / /lower ro - erofs /image ro",
        "0:34 / / rw - overlay o rw,lowerdir=/lower",
    ]
    with machine(mounts, {**disk("sda", "8:0"), **bdi("erofs-1")}) as devices:
        assert devices.mounted() == []
        (stack,) = file_stacks(devices, Path("/x"))
    assert (stack.device, stack.images[0].knob) == ("erofs-1", "")
    assert "not known" in stack.facts[-1]


def test_a_loop_device_with_direct_io_has_no_second_window():
    sysfs = disk("loop0", "7:0", **{"loop/backing_file": "/image", "loop/dio": "1"})
    sysfs |= disk("sda", "8:0")
    mounts = ["8:0 / / rw - ext4 /dev/sda rw", "7:0 / /m ro - squashfs /dev/loop0 ro"]
    with machine(mounts, sysfs) as devices:
        assert stack_of_path(devices, Path("/m/x")).images == []
        assert stack_of_path(devices, Path("/m/x")).disks == ["sda"]


def test_this_machine_s_root_has_a_stack():
    devices = Devices()
    found = file_stacks(devices, Path("/"))
    assert found
    assert all(bool(stack.knob) != bool(stack.unknown) for stack in found)

    def has_its_window(knob):
        """Return whether a stack has the window of its knob: others may set that meanwhile."""
        (stack,) = (one for one in file_stacks(devices, Path("/")) if one.knob == knob)
        return devices.window(knob) == stack.read_ahead_kb

    for stack in found:
        wait_until(lambda knob=stack.knob: not knob or has_its_window(knob))


def test_no_stack_without_a_mount():
    with machine([], disk("sda", "8:0")) as devices:
        assert stack_of_path(devices, Path("/x")) is None
        assert file_stacks(devices, Path("/x")) == []
        devices.mounts = [MountPoint("8:0", "/", "/", "rw", "ext4", "/dev/sda", "rw")]
        assert stack_of_path(devices, Path("/x")).device == "sda"
