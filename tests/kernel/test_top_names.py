"""The names that `foreread top` gives to files of btrfs and overlays, by their inodes alone."""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack, contextmanager

import pytest
from loop_image import loop_image, mounted
from rings import further
from waiting import wait_until

from foreread.boards.target import LocalTarget
from foreread.machine.reading_now import reading_now
from foreread.tracer.formats.capture import dev_text

BYTES = 64 * 4096

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no read was watched"),
]


class Elsewhere:
    """This machine as if it were another one: only its shell finds names."""

    def __init__(self):
        self._here = LocalTarget()

    def __getattr__(self, name):
        return getattr(self._here, name)


def run(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


def read_cold(*files):
    run("sync")
    for file in files:
        with file.open("rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.read_bytes()


def names_of(view, dev=None):
    """Return the names of the files read so far, by inode number, of one file system or all."""
    return {
        one.ino: one.name
        for one in view.next().files
        if one.read >= BYTES // 4096 and dev in (None, one.dev)
    }


@contextmanager
def subvolumes(folder):
    """Yield two subvolumes of a btrfs, each mounted."""
    image, whole = folder / "image", folder / "whole"
    run("truncate", "-s", "160M", image)
    run("mkfs.btrfs", "-q", image)
    with mounted(image, whole) as device, ExitStack() as stack:
        places = [folder / name for name in ("one", "two")]
        for place in places:
            place.mkdir()
            run("btrfs", "subvolume", "create", whole / place.name)
            run("mount", "-o", f"subvol={place.name}", f"/dev/{device}", place)
            stack.callback(run, "umount", "--lazy", place)
        yield places


@pytest.mark.thorough
def test_on_btrfs_a_number_names_a_file_unless_two_subvolumes_have_it(tmp_path):
    with subvolumes(tmp_path) as (one, two), reading_now(Elsewhere(), 1.0, 4096, True) as view:
        same, again, other = one / "same", two / "same", two / "other"
        for file in (same, again, other):
            file.write_bytes(os.urandom(BYTES))
        assert same.stat().st_ino == again.stat().st_ino
        read_cold(same, again, other)
        expected = {same.stat().st_ino: None, other.stat().st_ino: str(other)}
        wait_until(lambda: names_of(view).items() >= expected.items())


@pytest.mark.parametrize("target", further((LocalTarget, Elsewhere), [LocalTarget]))
def test_a_file_of_an_overlay_has_the_name_of_its_layer(target, tmp_path):
    with loop_image(tmp_path) as loop, ExitStack() as stack:
        merged, above = tmp_path / "merged", tmp_path / "above"
        merged.mkdir()
        above.mkdir()
        run("mount", "-t", "tmpfs", "above", above)
        stack.callback(run, "umount", "--lazy", above)
        for name in ("upper", "work"):
            (above / name).mkdir()
        layers = f"lowerdir={loop.mountpoint},upperdir={above}/upper,workdir={above}/work"
        run("mount", "-t", "overlay", "overlay", "-o", layers, merged)
        stack.callback(run, "umount", "--lazy", merged)
        with reading_now(target(), 1.0, 4096, True) as view:
            read_cold(merged / "data")
            number = loop.data.stat()
            dev = dev_text(os.major(number.st_dev) << 20 | os.minor(number.st_dev))
            wait_until(lambda: names_of(view, dev).get(number.st_ino) == str(loop.data))
