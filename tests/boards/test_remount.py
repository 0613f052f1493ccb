"""Mount options as knobs: what their names may be, and which mounts have any."""

import pytest

from foreread.boards.mounts import MountPoint
from foreread.boards.remount import is_mount_option, remountable


def mount(at, options="rw,relatime", super_options="rw", dev="7:0"):
    return MountPoint(dev, "/", at, options, "ext4", "/dev/loop0", super_options)


@pytest.mark.parametrize("knob", ["mount:relatime,noatime:/", "mount:commit=:/mnt/a-b.c"])
def test_alternatives_and_a_number_are_mount_options(knob):
    assert is_mount_option(knob)


@pytest.mark.parametrize(
    "knob",
    [
        "/sys/block/sda/queue/scheduler",
        "mount:noatime",
        "mount:noatime:relative",
        "mount:noatime:/mnt/../etc",
        "mount:noatime:/mnt with space",
        "mount:no-atime:/mnt",
        "mount:noatime:/mnt\n",
        "mount:commit=5:/mnt",
        "mount::/mnt",
    ],
)
def test_other_paths_are_not_mount_options(knob):
    assert not is_mount_option(knob)


@pytest.mark.parametrize(
    "unfit",
    [
        mount("/a", options="ro,relatime"),  # a bind mount that is read-only by itself
        mount("/with space"),
        mount("/" + "a" * 200),
    ],
)
def test_a_mount_whose_options_cannot_be_changed_is_passed_over(unfit):
    fit = mount("/b")
    assert remountable([unfit, fit], [unfit]) == ""
    assert remountable([unfit, fit], [unfit, fit]) == "/b"


def test_a_mount_that_another_hides_is_passed_over():
    below, above = mount("/a", dev="7:0"), mount("/a", dev="7:1")
    assert remountable([below, above], [below]) == ""
    assert remountable([below, above], [above]) == "/a"
