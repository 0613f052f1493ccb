"""Which window counts for what was read from a disk, and the verdict where none does."""

from __future__ import annotations

import pytest
from capture_builder import capture_of, device_of, recording_of, stack_of
from prediction_builder import curve_of

from foreread.analyzer.predict.stacks import current_kb, deciding, stacks_of
from foreread.analyzer.predict.verdict import windowless
from foreread.analyzer.predict.window import predict
from foreread.boards.stack import PREFETCH
from foreread.tracer.formats.capture import NO_METADATA

UBIFS = stack_of(
    "0:20", "", knob="", lasting="", file_system="ubifs", unknown="UBIFS reads", remedy=PREFETCH
)
ROOT = stack_of("179:2", "mmcblk0", read_ahead_kb=64)
OVERLAY = stack_of("0:30", "", knob="", file_system="overlay", over=["179:2"])
DISK = device_of("179:0", "mmcblk0", filesystems=["179:2", "0:30"], read_ahead_kb_before=512)


def recorded(*stacks, **changes):
    capture = capture_of(stacks=list(stacks), devices=[DISK])
    return recording_of([(0, 0)], [4096], **{"capture": capture, **changes})


def test_an_overlay_has_no_window_and_its_layer_has():
    capture = recorded(OVERLAY, ROOT).capture
    assert stacks_of(capture, "179:0") == deciding(capture, "179:0") == [ROOT]
    assert stacks_of(NO_METADATA, "179:0") == []


def test_the_present_window_is_that_of_the_device_that_counts():
    recording = recorded(ROOT, devices={7 << 20: 179 << 20})
    (curve,) = predict(recording, [0, 16]).devices
    assert curve.current_read_ahead_kb == 64
    old = recorded(devices={7 << 20: 179 << 20})
    assert predict(old, [0, 16]).devices[0].current_read_ahead_kb == 512


def test_two_windows_that_differ_are_not_taken_for_one():
    other = stack_of("0:30", "btrfs-1", read_ahead_kb=4096, file_system="btrfs", knob="/other")
    assert current_kb(recorded(ROOT, other).capture, "179:0") is None
    assert current_kb(recorded(ROOT).capture, "179:0") == 64


def test_without_a_window_the_verdict_points_to_the_prefetch_list():
    verdict, notes = windowless(recorded(UBIFS, path="a.capture"), [curve_of("0:20", "0:20")])
    assert notes == ()
    assert (verdict.action, verdict.read_ahead_kb) == ("none", None)
    assert "the files of / (ubifs): UBIFS reads" in verdict.why
    assert verdict.remedy == "foreread prefetch a.capture -o start.list"


def test_an_unknown_stack_says_what_to_do_instead():
    unknown = stack_of("0:20", "", knob="", unknown="which of a, b", remedy="unmount the other")
    verdict, _ = windowless(recorded(unknown), [curve_of("0:20", "0:20")])
    assert verdict.why.endswith("which of a, b; unmount the other")
    assert verdict.remedy is None


def test_a_disk_without_a_window_beside_one_that_has_is_noted():
    verdict, (note,) = windowless(recorded(UBIFS, ROOT), [curve_of(), curve_of("0:20", "0:20")])
    assert verdict is None
    assert "UBIFS reads" in note


@pytest.mark.parametrize("stacks", [(), (ROOT,), (OVERLAY, ROOT)])
def test_a_known_window_or_an_older_capture_changes_nothing(stacks):
    assert windowless(recorded(*stacks), [curve_of()]) == (None, ())
