"""The time to unpack, measured on a target: what is done with its answers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from boards.target import LocalTarget, Result
from emulator.images.squashfs import read_squashfs
from tracer.calibrate.fio import CalibrateError
from tracer.calibrate.unpacking import measure_unpacking, sample_files

BLOCKS = [bytes(81_920)] * 5


class Answering:
    """A target whose measurement prints something."""

    def __init__(self, answer, mkdir=0):
        self.answer, self.mkdir, self.done = answer, mkdir, []

    def run(self, command, stdin=b"", timeout_s=None, stdout=None):
        self.done.append(command[0])
        if command[0] == "mkdir":
            return Result(self.mkdir, b"", b"")
        return Result(0, self.answer if command[0] == "sh" else b"", b"")

    def push(self, source, destination, mode=0o644):
        self.done.append(destination)


def measured(answer, mkdir=0):
    target = Answering(answer.encode(), mkdir)
    images = {"gzip": Path("a"), "xz": Path("b")}
    try:
        return measure_unpacking(target, images, BLOCKS, 0.5, "foreread-x", 1 << 17), target.done
    finally:
        assert target.done[-1] == ("mkdir" if mkdir else "rm")


def test_the_times_to_unpack_and_to_insert_are_separate():
    found, done = measured(
        "kernel 6.12\nnothing gzip 10 50\npages gzip 5 60\nblocks gzip 5 96\nrefused xz\n"
    )
    assert (found.kernel, found.missing) == ("6.12", ("xz",))
    (gzip,) = found.compressors
    # 5 blocks of 20 pages: 50 ms for nothing, 120 ms for a page of each, 192 ms for all pages.
    assert (gzip.compressor, gzip.pages, gzip.seconds) == ("gzip", 1000, 2.06)
    assert gzip.block_size == 1 << 17
    assert gzip.insert_ns == pytest.approx(72e6 / 95)
    assert gzip.page_ns == pytest.approx((70e6 - 5 * 72e6 / 95) / 100)
    assert done[1:3] == ["/tmp/foreread-x/gzip", "/tmp/foreread-x/xz"]


@pytest.mark.parametrize(
    "answer",
    ["", "kernel 6.12\nrefused gzip\nrefused xz\n", "pages gzip x y\n", "pages gzip 1 1\n"],
)
def test_a_target_that_mounts_nothing_is_an_error(answer):
    with pytest.raises(CalibrateError, match="mounts none") as caught:
        measured(answer)
    assert "modprobe loop" in caught.value.remedy


def test_a_target_without_room_is_an_error():
    with pytest.raises(CalibrateError, match="cannot be made"):
        measured("", mkdir=1)


def test_no_pass_is_no_division_by_zero():
    found, _ = measured("nothing gzip 0 0\npages gzip 0 0\nblocks gzip 0 0\n")
    assert (found.compressors[0].page_ns, found.compressors[0].insert_ns) == (0, 0)


def test_each_block_of_a_sample_is_a_fragment_of_its_own(tmp_path):
    from image_trees import contents, squashfs

    blocks = [contents(1 << 17, number) for number in range(5)]
    (tmp_path / "root").mkdir()
    for name, octets in sample_files(blocks).items():
        (tmp_path / "root" / name).write_bytes(octets)
    image = read_squashfs(squashfs(tmp_path / "root", tmp_path / "i", "-b", "128K").read_bytes())

    def fragment(name):
        return int(image.files["fragment"][image.names["file"][image.rows[name]]])

    places = [(fragment(f"/{n:03d}.head"), fragment(f"/{n:03d}.rest")) for n in range(5)]
    assert places == [(n, n) for n in range(5)]


@pytest.mark.kernel
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no image was mounted")
def test_this_kernel_unpacks_in_a_time_above_nothing(tmp_path):
    from image_trees import contents, squashfs

    (tmp_path / "root").mkdir()
    blocks = [contents(1 << 17, number) for number in range(8)]
    for name, octets in sample_files(blocks).items():
        (tmp_path / "root" / name).write_bytes(octets)
    image = squashfs(tmp_path / "root", tmp_path / "gzip")
    (tmp_path / "wrong").write_bytes(b"no image")
    images = {"gzip": image, "xz": tmp_path / "wrong"}
    name = f"foreread-unpacking-test-{os.getpid()}"
    found = measure_unpacking(LocalTarget(), images, blocks, 0.2, name, 1 << 17)
    assert found.missing == ("xz",)
    assert 0 < found.compressors[0].page_ns < 1e7
    assert found.kernel == os.uname().release
    assert not Path(f"/tmp/{name}").exists()
