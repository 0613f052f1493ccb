"""The report names the device whose window it means."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from capture_builder import capture_of, device_of, recording_of, stack_of
from prediction_builder import curve_of, prediction_of

from foreread.analyzer.report.stacks import knobs_now, stack_facts, whose_window

BY_UUID = "/sys/fs/btrfs/26c877ca-2d7d-47ef-ac87-622e60ee297d/bdi/read_ahead_kb"
VERITY = stack_of("253:1", "dm-1", layers=["dm-1", "vda"], disks=["vda"], facts=["dm-1 counts"])


def subject_of(*stacks, curve=None):
    devices = [device_of("253:1", "dm-1", filesystems=[one.dev for one in stacks])]
    capture = capture_of(stacks=list(stacks), devices=devices)
    prediction = prediction_of(curve or curve_of("253:1", "dm-1"))
    recording = recording_of([(0, 0)], [4096], capture=capture)
    return SimpleNamespace(recording=recording, prediction=prediction)


def test_the_device_its_knob_and_what_lies_below_are_named():
    ((label, text),) = whose_window(subject_of(VERITY))
    assert label == "Window of /"
    assert text == (
        "ext4 on dm-1 on vda: that of dm-1 (/sys/block/dm-1/queue/read_ahead_kb, 128 KiB found)"
    )


def test_no_window_is_said_with_the_remedy():
    none = stack_of("0:20", "", knob="", unknown="one page at a time", remedy="use a list")
    ((_, text),) = whose_window(subject_of(none))
    assert "no window counts: one page at a time; use a list" in text
    assert knobs_now(subject_of(none), curve_of("253:1", "dm-1")) == []


def test_each_fact_once():
    data = stack_of("253:1", "dm-1", mountpoint="/data", facts=["dm-1 counts"])
    assert stack_facts(subject_of(VERITY, data)) == ["dm-1 counts"]


@pytest.mark.parametrize(
    ("knob", "lasting", "said"),
    [
        ("/sys/class/bdi/btrfs-1/read_ahead_kb", BY_UUID, BY_UUID),
        (
            "/sys/class/bdi/0:50/read_ahead_kb",
            "window:/",
            "/sys/class/bdi/0:50/read_ahead_kb",
        ),
    ],
)
def test_the_file_to_write_until_the_next_boot(knob, lasting, said):
    stack = stack_of("253:1", "other", knob=knob, lasting=lasting)
    assert knobs_now(subject_of(stack), curve_of("253:1", "dm-1")) == [said]


@pytest.mark.parametrize("knob", ["/etc/passwd", "/sys/block/a;reboot/queue/read_ahead_kb", "x"])
def test_a_forged_knob_is_not_written_into_a_command(knob):
    stack = stack_of("253:1", "dm-1", knob=knob, lasting=knob)
    assert knobs_now(subject_of(stack), curve_of("253:1", "dm-1")) == []


def test_an_older_capture_names_the_disk():
    assert whose_window(subject_of()) == []
    knob = "/sys/block/dm-1/queue/read_ahead_kb"
    assert knobs_now(subject_of(), curve_of("253:1", "dm-1")) == [knob]
