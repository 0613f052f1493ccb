"""Which commands may touch pages of compressed blocks unseen, and on which kernels probes help."""

from __future__ import annotations

import pytest

from foreread.boards.device import Devices
from foreread.boards.mounts import parse_mount
from foreread.tracer import touches

EXT4 = "1 1 8:1 / / rw - ext4 /dev/sda1 rw"
SQUASHFS = "2 1 7:0 / /rom ro - squashfs /dev/loop0 ro"
SNAP = "3 1 7:1 / /snap/editor/1 ro - squashfs /dev/loop1 ro"
EROFS = "4 1 8:2 / / ro - erofs /dev/sda2 ro,user_xattr"
OVERLAY = "5 1 0:9 / / rw - overlay over rw,lowerdir=/rom,upperdir=/data/up,workdir=/data/w"


def hidden(tmp_path, *mounts, command=("player",), directory="/"):
    devices = Devices(tmp_path, [parse_mount(line) for line in mounts])
    return touches.hidden(devices, command, directory)


@pytest.mark.parametrize(
    ("mounts", "found"),
    [
        ((EXT4,), ""),
        ((EROFS,), "erofs"),
        ((EXT4, SQUASHFS), ""),  # nothing of the command is there
        ((SQUASHFS, OVERLAY), "squashfs"),
        (("1 1 0:8 / / rw - btrfs /dev/sda1 rw,compress=zstd:3,space_cache",), "btrfs"),
        (("1 1 0:8 / / rw - btrfs /dev/sda1 rw,space_cache=v2",), ""),
        (("1 1 8:1 / / rw - f2fs /dev/sda1 rw,compress_algorithm=lz4",), "f2fs"),
        (("1 1 8:1 / / rw - f2fs /dev/sda1 rw,lazytime",), ""),
    ],
)
def test_the_root_and_its_layers_are_examined(mounts, found, tmp_path):
    assert hidden(tmp_path, *mounts) == found


def test_paths_in_the_command_and_its_directory_are_examined(tmp_path):
    assert hidden(tmp_path, EXT4, SNAP, command=("/snap/editor/1/bin/editor",)) == "squashfs"
    assert hidden(tmp_path, EXT4, SNAP, command=("/bin/sh", "-c", "true")) == ""
    assert hidden(tmp_path, EXT4, SNAP, command=("sh",), directory="/snap/editor/1") == "squashfs"


def test_an_overlay_over_itself_ends(tmp_path):
    around = OVERLAY.replace("lowerdir=/rom", "lowerdir=/")
    assert hidden(tmp_path, around) == ""


@pytest.mark.parametrize(
    ("release", "needed"),
    [("5.10.0-32-amd64", True), ("6.1.192", True), ("6.12.117", False), ("7.2.12", False)],
)
def test_kernels_without_events_of_faults_need_probes(release, needed):
    assert touches.need_probes(release) is needed


def test_a_release_without_numbers_needs_no_probes():
    assert not touches.need_probes("custom")
