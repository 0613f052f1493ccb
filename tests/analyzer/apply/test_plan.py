"""From a prediction to a plan."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from capture_builder import capture_of, device_of, host_of
from prediction_builder import curve_of as curve
from prediction_builder import prediction_of as prediction

from foreread.analyzer.apply import ApplyError, Board, Disk, plan_from
from foreread.tracer.formats.capture import Boot, Mount


def capture(**changes):
    made = capture_of(
        host=host_of(
            kernel="6.1.25-vendor",
            machine="armv7l",
            long_size=4,
            cpu_model="Some Board",
            cpu_count=4,
        ),
        command=["app", "--now"],
        end_ns=1,
        devices=[
            device_of("179:0", "mmcblk0", filesystems=["179:2"], size_bytes=1024, model="SD8GB")
        ],
        mounts=[],
    )
    return msgspec.structs.replace(made, **changes)


def test_window_of_the_verdict_with_board_and_disk():
    plan = plan_from(prediction(), capture())
    (setting,) = plan.settings
    assert (setting.knob, setting.value, setting.phase) == ("queue/read_ahead_kb", "128", "boot")
    assert setting.reason == "it reads less"
    assert setting.disk == Disk("mmcblk0", 1024, "SD8GB")
    assert plan.board == Board("armv7l", "6.1", "Some Board")
    assert "app --now" in plan.created_from


def test_foreign_trace_knows_kernel_and_name_only():
    plan = plan_from(prediction())
    assert plan.board == Board(kernel="6.1")
    assert plan.settings[0].disk == Disk("mmcblk0")


def test_foreign_trace_with_a_number_in_place_of_a_name():
    with pytest.raises(ApplyError, match="has the number of its disk only") as error:
        plan_from(prediction(curve("254:6", "254:6")))
    assert "--disk 254:6=NAME" in error.value.remedy


def test_foreign_trace_of_a_file_system_without_a_disk_needs_its_mount_point():
    with pytest.raises(ApplyError) as error:
        plan_from(prediction(curve("0:50", "0:50")))
    assert "--disk 0:50=DIRECTORY" in error.value.remedy
    assert "NAME" not in error.value.remedy
    (setting,) = plan_from(prediction(curve("0:50", "0:50")), disks={"0:50": "/nfs"}).settings
    assert (setting.path, setting.mounted) == ("window:/nfs", "/nfs")


def test_boot_capture_keeps_the_window_that_was_found_after_the_boot():
    boot = Boot(processes=[1], read_before=[])
    plan = plan_from(prediction(), capture(boot=boot))
    assert [(s.phase, s.value) for s in plan.settings] == [("boot", "128"), ("after", "128")]
    assert plan.settings[1].reason == "as found: only the boot was recorded"
    asked = plan_from(prediction(), capture(boot=boot), after_boot_read_ahead_kb=16)
    assert [(s.phase, s.value) for s in asked.settings] == [("boot", "128"), ("after", "16")]


def test_after_boot_window():
    plan = plan_from(prediction(), after_boot_read_ahead_kb=64, boot_done_seconds=20)
    assert [(s.phase, s.value) for s in plan.settings] == [("boot", "128"), ("after", "64")]
    assert plan.has_after
    assert plan.boot_done_seconds == 20


def test_every_disk_that_was_read_gets_its_own_best():
    first = curve(predicted_best=128, smallest_within=32)
    read = curve("8:0", "sda", predicted_best=128)
    unread = curve("8:16", "sdb", tap=0)
    plan = plan_from(prediction(first, read, unread))
    assert [(s.disk.name, s.value) for s in plan.settings] == [("mmcblk0", "128"), ("sda", "512")]


def test_a_disk_without_predicted_seconds_keeps_its_window():
    timed, untimed = curve(predicted_best=128), curve("8:0", "sda")
    plan = plan_from(prediction(timed, untimed), after_boot_read_ahead_kb=64)
    of_boot = [(s.disk.name, s.value) for s in plan.settings if s.phase == "boot"]
    assert of_boot == [("mmcblk0", "512")]
    assert [s.disk.name for s in plan.settings if s.phase == "after"] == ["mmcblk0", "sda"]
    asked = plan_from(prediction(timed, untimed), read_ahead_kb=16).settings
    assert [(s.disk.name, s.value) for s in asked] == [("mmcblk0", "16"), ("sda", "16")]


def test_the_published_criterion_sets_every_disk_when_asked_for():
    found = prediction(curve(predicted_best=128), curve("8:0", "sda"))
    published = msgspec.structs.replace(found.verdict, by="criterion")
    settings = plan_from(replace(found, published=published).by_criterion()).settings
    assert [(s.disk.name, s.value) for s in settings] == [("mmcblk0", "128"), ("sda", "128")]


@pytest.mark.parametrize("action", ["keep", "none"])
def test_verdict_to_change_nothing_makes_no_script(action):
    with pytest.raises(ApplyError, match="it reads less") as error:
        plan_from(prediction(action=action, read_ahead_kb=None))
    assert error.value.remedy


def test_asked_window_overrides_the_verdict():
    (setting,) = plan_from(prediction(action="keep"), read_ahead_kb=64).settings
    assert setting.value == "64"
    assert "asked for" in setting.reason


def test_negative_delay_is_refused():
    with pytest.raises(ApplyError, match="is negative"):
        plan_from(prediction(), after_boot_read_ahead_kb=64, boot_done_seconds=-1)


def test_btrfs_window_is_said_to_be_elsewhere():
    mount = Mount(dev="179:2", mountpoint="/", fstype="btrfs", source="/dev/mmcblk0p2", options="")
    (setting,) = plan_from(prediction(), capture(mounts=[mount])).settings
    assert "/sys/class/bdi/btrfs-" in setting.reason
