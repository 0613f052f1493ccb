"""The window that the model names is the only one that changes how much of a file is read here."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from loop_image import mounted
from machine_lock import nobody_records
from rings import further
from waiting import wait_until

from foreread.boards.device import Devices
from foreread.boards.stacks import file_stacks, stacks

_libc = ctypes.CDLL(None, use_errno=True)
_CACHESTAT = 451  # include/uapi/asm-generic/unistd.h, Linux 6.5
PAGE = os.sysconf("SC_PAGE_SIZE")
PAGES, READ, LARGE_KB = 1024, 32, 4096
MAKERS = {
    "ext4": (["mkfs.ext4", "-q", "-F"], "64M"),
    "xfs": (["mkfs.xfs", "-q"], "320M"),
    "btrfs": (["mkfs.btrfs", "-q"], "160M"),
}

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no stack was mounted and measured"),
]


def cached_pages(file):
    """Return how many pages of ``file`` are cached, those that are still being read included."""
    span, found = (ctypes.c_uint64 * 2)(0, 0), (ctypes.c_uint64 * 5)()
    with holder_of(file).open("rb") as opened:
        if _libc.syscall(_CACHESTAT, opened.fileno(), span, found, 0) != 0:
            assert ctypes.get_errno() == errno.ENOSYS
            pytest.skip("this kernel has no cachestat: effects of windows were not measured")
    return found[0]


def holder_of(file):
    """Return the file whose inode has the cached pages: for an overlay's file, the lower one."""
    return file.parents[1] / "mounted/data" if file.parent.name == "merged" else file


def run(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


@contextmanager
def on_loop(kind, place: Path) -> Iterator[Path]:
    """Yield a file on a file system of that kind, on a loop device with direct I/O."""
    image, source = place / "image", place / "source"
    source.mkdir(parents=True)
    (source / "data").write_bytes(os.urandom(PAGES * PAGE))
    if kind == "squashfs":
        run("mksquashfs", source, image, "-quiet", "-noappend")
    else:
        maker, size = MAKERS[kind]
        run("truncate", "-s", size, image)
        run(*maker, image)
    with mounted(image, place / "mounted"):
        if kind != "squashfs":
            shutil.copy(source / "data", place / "mounted/data")
            os.sync()
        yield place / "mounted/data"


@contextmanager
def overlay(place: Path) -> Iterator[Path]:
    with on_loop("squashfs", place) as file, ExitStack() as stack:
        for name in ("upper", "work", "merged"):
            (place / name).mkdir()
        options = f"lowerdir={file.parent},upperdir={place}/upper,workdir={place}/work"
        run("mount", "-t", "overlay", "-o", options, "overlay", place / "merged")
        stack.callback(run, "umount", "--lazy", place / "merged")
        yield place / "merged/data"


def read_ahead(file, knob, kb):
    """Return how many pages of ``file`` are cached after READ were read, with that window."""
    found = knob.read_text()
    try:
        knob.write_text(f"{kb}")
        wait_until(lambda: is_cold(file))
        with file.open("rb", buffering=0) as reader:
            for _ in range(READ):
                reader.read(PAGE)
        return cached_pages(file)
    finally:
        knob.write_text(found)


def is_cold(file):
    """Forget the pages of ``file``; pages that are still being read ahead cannot be forgotten."""
    with file.open("rb", buffering=0) as cold:
        os.posix_fadvise(cold.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return not cached_pages(file)


def knobs_with_effect(file, names):
    places = [Path(f"/sys/class/bdi/{name}/read_ahead_kb") for name in names]
    return [
        place.parent.name
        for place in places
        if read_ahead(file, place, LARGE_KB) > 2 * read_ahead(file, place, 0)
    ]


@pytest.mark.parametrize("kind", further([*MAKERS, "squashfs", "overlay"], ["overlay"]))
def test_one_window_has_an_effect_and_it_is_the_one_that_is_named(kind, tmp_path):
    place = tmp_path / "stack"
    with overlay(place) if kind == "overlay" else on_loop(kind, place) as file:
        devices = Devices()
        named = [one for one in file_stacks(devices, file) if str(place) in one.mountpoint]
        named = named or file_stacks(devices, file)[:1]
        below = {name for one in named for disk in one.layers for name in [devices.disk(disk).dev]}
        own = {name for mount in devices.mounts for name in devices.backing(mount).names}
        with nobody_records():
            effective = knobs_with_effect(file, sorted(below | own))
        (stack,) = named
        of_disk = stack.knob.startswith("/sys/block/")
        assert effective == [devices.disk(stack.device).dev if of_disk else stack.device]
        assert not stack.images  # direct I/O
        assert stack in stacks(devices)


@pytest.mark.thorough
def test_a_loop_device_keeps_the_window_that_its_image_had_when_it_was_attached(tmp_path):
    with on_loop("ext4", tmp_path / "stack") as file:
        image = file.with_name("image")
        image.write_bytes(os.urandom(PAGES * PAGE))
        holder = Path(file_stacks(Devices(), image)[0].knob)
        with nobody_records():
            first = read_through_loop(image, holder, attached_kb=LARGE_KB, now_kb=0)
            assert first > 2 * read_through_loop(image, holder, attached_kb=0, now_kb=LARGE_KB)


def read_through_loop(image, holder, attached_kb, now_kb):
    """Return how many pages of the image are cached after READ were read through a loop device."""
    found = holder.read_text()
    try:
        holder.write_text(f"{attached_kb}")
        words = ["losetup", "--find", "--show", "--read-only", str(image)]
        loop = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
        try:
            Path(f"/sys/block/{Path(loop).name}/queue/read_ahead_kb").write_text("0")
            holder.write_text(f"{now_kb}")
            os.sync()
            wait_until(lambda: is_cold(image))
            with Path(loop).open("rb", buffering=0) as reader:
                os.posix_fadvise(reader.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                for _ in range(READ):
                    reader.read(PAGE)
            return cached_pages(image)
        finally:
            run("losetup", "--detach", loop)
    finally:
        holder.write_text(found)
