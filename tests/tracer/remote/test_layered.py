"""Cached pages of files on an overlay belong to the inodes of its layers."""

from __future__ import annotations

from foreread.boards.mounts import parse_mount
from foreread.boards.sysfs_copy import copied_devices
from foreread.tracer.formats.capture import FileEntry
from foreread.tracer.remote.layered import of_layers

LAYERS = ["8:0 / /rom ro - squashfs /dev/sda ro", "0:9 / /up rw - tmpfs up rw"]
OVER = "0:30 / / rw - overlay over rw,lowerdir=/rom,upperdir=/up/upper"
LIBC = ("0:30", 77)


def file(dev, ino, path):
    return FileEntry(dev=dev, ino=ino, path=path, size_bytes=1 << 20)


def moved(cached, *files, mounts=(*LAYERS, OVER), path="/lib/libc.so.6"):
    points = [parse_mount(f"1 1 {line}") for line in mounts]
    with copied_devices({"block/sda/dev": "8:0"}, points, {}) as devices:
        return of_layers(cached, dict.fromkeys(cached, path), files, devices)


def test_pages_of_an_overlays_file_are_those_of_its_lower_layer():
    found = moved({LIBC: [(3, 2)]}, file("8:0", 319, "/rom/lib/libc.so.6"))
    assert found == {LIBC: [(3, 2)], ("8:0", 319): [(3, 2)]}


def test_pages_mapped_through_the_layer_itself_are_joined_to_them():
    lower = file("8:0", 319, "/rom/lib/libc.so.6")
    found = moved({LIBC: [(3, 2)], ("8:0", 319): [(4, 3)]}, lower)
    assert found["8:0", 319] == [(3, 4)]


def test_other_files_of_that_name_and_other_disks_are_not_taken():
    others = file("8:0", 5, "/rom/usr/mylib/libc.so.6"), file("8:16", 6, "/mnt/lib/libc.so.6")
    unnamed = file("8:0", 7, None)
    assert moved({LIBC: [(3, 2)]}, *others, unnamed) == {LIBC: [(3, 2)]}


def test_the_nearest_of_two_files_is_taken():
    far, near = file("8:0", 5, "/rom/old/lib/libc.so.6"), file("8:0", 6, "/rom/lib/libc.so.6")
    assert set(moved({LIBC: [(3, 2)]}, far, near)) == {LIBC, ("8:0", 6)}


def test_without_an_overlay_nothing_changes():
    cached = {("8:0", 319): [(3, 2)]}
    assert moved(cached, file("8:0", 319, "/lib/libc.so.6"), mounts=LAYERS[:1]) == cached
