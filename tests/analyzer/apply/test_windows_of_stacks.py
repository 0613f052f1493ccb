"""From the stacks of a capture to the windows that a boot script sets."""

from __future__ import annotations

import msgspec
import pytest
from capture_builder import capture_of, device_of, stack_of
from prediction_builder import curve_of as curve
from prediction_builder import prediction_of as prediction

from foreread.analyzer.apply import ApplyError, Disk, plan_from, write_scripts
from foreread.boards.stack import Image

UUID = "26c877ca-2d7d-47ef-ac87-622e60ee297d"
BY_UUID = f"/sys/fs/btrfs/{UUID}/bdi/read_ahead_kb"


def recorded(*stacks, devices=None, **changes):
    devices = devices or [device_of("179:0", "mmcblk0", filesystems=[one.dev for one in stacks])]
    return msgspec.structs.replace(
        capture_of(), stacks=list(stacks), devices=list(devices), **changes
    )


def test_btrfs_gets_its_own_window_by_its_uuid():
    btrfs = stack_of("0:30", "btrfs-1", file_system="btrfs", lasting=BY_UUID)
    (setting,) = plan_from(prediction(), recorded(btrfs)).settings
    assert (setting.path, setting.value, setting.disk) == (BY_UUID, "128", None)
    assert "files on / (btrfs)" in setting.reason


def test_two_file_systems_of_one_disk_get_both_of_their_windows_once():
    root, data = stack_of("179:2", "mmcblk0"), stack_of("179:3", "mmcblk0", mountpoint="/data")
    btrfs = stack_of(
        "0:30", "btrfs-1", lasting=BY_UUID, knob="/sys/class/bdi/btrfs-1/read_ahead_kb"
    )
    plan = plan_from(prediction(), recorded(root, data, btrfs))
    paths = [setting.path for setting in plan.settings]
    assert paths == ["/sys/block/mmcblk0/queue/read_ahead_kb", BY_UUID]
    assert plan.settings[0].mounted == "/"


def test_a_disk_under_a_mapped_one_is_not_set():
    verity = stack_of("253:1", "dm-1", layers=["dm-1", "mmcblk0"], disks=["mmcblk0"])
    devices = [device_of("253:1", "dm-1", filesystems=["253:1"], model="verity", size_bytes=512)]
    plan = plan_from(prediction(curve("253:1", "dm-1")), recorded(verity, devices=devices))
    assert [one.disk for one in plan.settings] == [Disk("dm-1", 512, "verity")]


@pytest.mark.parametrize("layers", [["dm-6", "mmcblk0"], ["dm-6", "dm-1", "sda"]])
def test_androids_init_sets_the_mapped_device_and_not_the_disk_below(layers, tmp_path):
    system = stack_of("254:6", "dm-6", layers=layers, disks=layers[-1:], mountpoint="/")
    devices = [device_of("254:6", "dm-6", filesystems=["254:6"]), device_of("8:0", layers[-1])]
    plan = plan_from(prediction(curve("254:6", "dm-6")), recorded(system, devices=devices))
    write_scripts(plan, tmp_path)
    lines = (tmp_path / "android/foreread.rc").read_text()
    assert lines.count("    write /sys/block/dm-6/queue/read_ahead_kb 128\n") == 4
    assert layers[-1] not in lines


def test_nfs_is_found_by_its_mount_point():
    nfs = stack_of("0:50", "0:50", lasting="window:/", file_system="nfs4")
    plan = plan_from(prediction(curve("0:50", "0:50")), recorded(nfs, devices=[device_of()]))
    assert [one.path for one in plan.settings] == ["window:/"]
    assert plan.finds_windows


@pytest.mark.parametrize("point", ["/a b", "/a/../b", "/$(id)", "/a\nb"])
def test_a_mount_point_that_a_script_cannot_look_for_is_refused(point):
    nfs = stack_of("0:50", "0:50", lasting=f"window:{point}", mountpoint=point)
    with pytest.raises(ApplyError, match="cannot look for") as error:
        plan_from(prediction(curve("0:50", "0:50")), recorded(nfs, devices=[device_of()]))
    assert error.value.remedy


def test_a_stack_without_a_window_is_refused_with_its_remedy():
    ubifs = stack_of("0:20", "", knob="", lasting="", unknown="UBIFS reads", remedy="use a list")
    with pytest.raises(ApplyError, match="no window counts for the files of /") as error:
        plan_from(prediction(curve("0:20", "0:20")), recorded(ubifs, devices=[device_of()]))
    assert error.value.remedy == "use a list"


def test_the_window_below_an_image_is_mentioned():
    image = Image(disk="loop0", file="/snap.img", knob="/sys/block/sda/queue/read_ahead_kb")
    snap = stack_of("7:0", "loop0", images=[image], facts=["loop0 reads /snap.img"])
    plan = plan_from(prediction(curve("179:0", "mmcblk0")), recorded(snap))
    assert "loop0 reads /snap.img" in plan.settings[0].reason


def test_two_disks_of_one_name_are_refused():
    one = device_of("8:0", "sda", filesystems=["8:0"])
    other = device_of("8:16", "sda", filesystems=["8:16"])
    found = prediction(
        curve("8:0", "sda", predicted_best=128), curve("8:16", "sda", predicted_best=32)
    )
    with pytest.raises(ApplyError, match="two disks have this name") as error:
        plan_from(found, recorded(devices=[one, other]))
    assert "--read-ahead-kb" in error.value.remedy
    same = plan_from(found, recorded(devices=[one, other]), read_ahead_kb=64)
    assert {setting.value for setting in same.settings} == {"64"}
