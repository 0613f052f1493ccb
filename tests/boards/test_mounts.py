from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.boards.mounts import MountPoint, mount_of, parse_mount, read_mounts

LINE = r"36 35 98:0 /mnt1 /mnt/a\040b\134c\012d rw,noatime master:1 shared:7 - ext3 /dev/root rw"


def test_a_line_with_escapes_and_optional_fields():
    assert parse_mount(LINE) == MountPoint(
        dev="98:0",
        root="/mnt1",
        mountpoint="/mnt/a b\\c\nd",
        options="rw,noatime",
        fstype="ext3",
        source="/dev/root",
        super_options="rw",
    )


def kernel_escape(text):
    return "".join(f"\\{ord(c):03o}" if c in " \t\n\\#" else c for c in text)


@given(st.text(st.characters(codec="ascii", exclude_characters="\0"), min_size=1))
def test_every_mount_point_survives_the_kernels_escapes(text):
    line = f"1 2 8:1 / /{kernel_escape(text)} rw - ext4 {kernel_escape(text)} rw"
    mount = parse_mount(line)
    assert (mount.mountpoint, mount.source) == (f"/{text}", text)


def mount(dev, mountpoint):
    return MountPoint(dev, "/", mountpoint, "rw", "ext4", "none", "rw")


@pytest.mark.parametrize(
    ("path", "dev"),
    [
        ("/nowhere", "8:1"),
        ("/nonexistent/x", "8:2"),
        ("/nonexistent", "8:2"),
        ("/nonexistentx", "8:1"),
        ("/nonexistent/deep/y", "8:4"),
    ],
)
def test_the_longest_and_latest_mount_covers_a_path(path, dev):
    mounts = [
        mount("8:1", "/"),
        mount("8:2", "/nonexistent"),
        mount("8:3", "/nonexistent/deep"),
        mount("8:4", "/nonexistent/deep"),
    ]
    assert mount_of(Path(path), mounts).dev == dev


def test_no_mount_covers_a_path():
    assert mount_of(Path("/x"), [mount("8:1", "/other")]) is None


def test_the_mounts_of_this_machine():
    root = mount_of(Path("/"), read_mounts())
    assert root is not None
    assert root.mountpoint == "/"
