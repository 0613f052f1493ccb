"""The kernel's default window of a board's disks, and what stands in for an unknown window."""

from __future__ import annotations

import pytest
from capture_builder import capture_of, device_of, host_of, recording_of, stack_of

from foreread.analyzer.predict.board_default import default_of
from foreread.analyzer.predict.linux import predict_linux
from foreread.analyzer.predict.prediction import IN_FORCE, KERNELS_DEFAULT, NO_READAHEAD, Reference
from foreread.analyzer.predict.window import predict

VIRTIO = {"rotational": "1", "max_sectors_kb": "4096", "optimal_io_size": "0"}


def board(kernel="6.18.44", found=8192, queue=VIRTIO):
    device = device_of(read_ahead_kb_before=found, queue=queue)
    capture = capture_of(host=host_of(kernel=kernel), devices=[device])
    return recording_of([(0, 1), (0, 40)], [1 << 20], capture=capture, kernel=kernel)


def notes_on_the_disk(recording):
    return [note for note in predict(recording).notes if note.startswith("loop0:")]


def test_default_of_the_boards_kernel_is_said_with_its_rule():
    [note] = notes_on_the_disk(board())
    assert note == (
        "loop0: 8,192 KiB now is the default of Linux 6.18 for this disk (twice max_sectors_kb of "
        "a rotational disk, from Linux 6.17 on)"
    )
    assert predict(board()).total.default_read_ahead_kb == 8192


def test_a_window_that_was_set_is_reported_beside_the_default():
    [note] = notes_on_the_disk(board(found=84))
    assert note.startswith(
        "loop0: 84 KiB now is not the default of Linux 6.18 for this disk, 8,192"
    )
    [note] = notes_on_the_disk(board("6.12.117", found=8192))
    assert "for this disk, 128 KiB" in note


def test_regrets_are_relative_to_the_window_found():
    assert predict(board(found=84)).reference == Reference(84, IN_FORCE)


def test_the_kernels_default_stands_in_for_a_window_not_found():
    old = recording_of([(0, 1)], [1 << 20], kernel="4.19.0")
    assert predict(old).reference == Reference(128, KERNELS_DEFAULT)


@pytest.mark.parametrize("kernel", ["6.18.0", None, "unknown"])
def test_no_window_is_assumed(kernel):
    recording = recording_of([(0, 1)], [1 << 20], kernel=kernel)
    prediction = predict(recording)
    assert prediction.reference == Reference(0, NO_READAHEAD)
    assert prediction.total.default_read_ahead_kb is None


def test_a_disk_without_recorded_limits_has_no_known_default():
    recording = board(queue={"rotational": "1"})
    assert default_of(recording, recording.capture.devices[0]) is None
    assert notes_on_the_disk(recording) == []


def test_a_disk_whose_window_does_not_count_has_no_default_that_matters():
    recording = board()
    btrfs = stack_of(device="btrfs-1", knob="/sys/class/bdi/btrfs-1/read_ahead_kb")
    recording.capture.stacks.append(btrfs)
    assert notes_on_the_disk(recording) == []
    assert predict(recording).total.default_read_ahead_kb is None
    recording.capture.stacks[:] = [stack_of()]
    assert len(notes_on_the_disk(recording)) == 1


@pytest.mark.parametrize(("kernel", "doubted"), [("7.3.1", False), ("7.4.0", True), ("8.0", True)])
def test_kernels_newer_than_the_rules_are_doubted(kernel, doubted):
    doubts = predict_linux(board(), f"linux-{kernel}", [0, 32]).doubts
    assert any("is newer than the newest kernel" in doubt for doubt in doubts) == doubted
