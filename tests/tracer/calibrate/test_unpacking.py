"""The time to unpack, measured on a target: what is done with its answers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from foreread.boards.target import LocalTarget, Result
from foreread.emulator.images.squashfs import read_squashfs
from foreread.tracer.calibrate.fio import CalibrateError
from foreread.tracer.calibrate.unpacking import PackedSample, Sample, measure_unpacking

PAGES = 20  # of a block
SAMPLE = Sample((b"a" * PAGES * 4096,) * 3, (b"b" * PAGES * 4096,) * 2)
PACKED = (30 * 512,) * 3 + (10 * 512,) * 2


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


def measured(answer, mkdir=0, packed=PACKED):
    target = Answering(answer.encode(), mkdir)
    images = {"gzip": PackedSample(Path("a"), packed), "xz": PackedSample(Path("b"), packed)}
    try:
        found = measure_unpacking(target, images, SAMPLE, 0.5, "foreread-x", 1 << 17)
        return found, target.done
    finally:
        assert target.done[-1] == ("mkdir" if mkdir else "rm")


def answer(page_ms, sector_ms, insert_ms=0.5, nothing_ms=50):
    """Return what the script prints for passes of so many milliseconds, of which ten are made."""
    dense = nothing_ms + 3 * (PAGES * page_ms + 30 * sector_ms + insert_ms)
    light = nothing_ms + 2 * (PAGES * page_ms + 10 * sector_ms + insert_ms)
    blocks = dense + light - nothing_ms + 5 * (PAGES - 1) * insert_ms
    ways = {"nothing": nothing_ms, "dense": dense, "light": light, "blocks": blocks}
    lines = [f"{way} gzip 10 {round(ms)}" for way, ms in ways.items()]
    return "\n".join(["kernel 6.12", *lines, "refused xz", ""])


def test_the_times_of_pages_sectors_and_inserts_are_separate():
    found, done = measured(answer(2.0, 1.0))
    assert (found.kernel, found.missing) == ("6.12", ("xz",))
    (gzip,) = found.compressors
    assert (gzip.compressor, gzip.block_size) == ("gzip", 1 << 17)
    assert gzip.pages == 10 * 2 * 5 * PAGES
    assert gzip.insert_ns == pytest.approx(5e5, rel=0.02)
    assert gzip.page_ns == pytest.approx(2e6, rel=0.02)
    assert gzip.sector_ns == pytest.approx(1e6, rel=0.02)
    assert done[1:3] == ["/tmp/foreread-x/gzip", "/tmp/foreread-x/xz"]


@pytest.mark.parametrize("packed", [(20 * 512,) * 5, (20 * 512,) * 3])
def test_blocks_that_compress_alike_or_are_stored_once_give_a_time_by_page(packed):
    """The same time for all pages, whatever goes in; equal blocks are one in the image."""
    (gzip,) = measured(answer(3.0, 0.0), packed=packed)[0].compressors
    assert gzip.page_ns == pytest.approx(3e6, rel=0.02)
    assert gzip.sector_ns == 0


@pytest.mark.parametrize(("page_ms", "sector_ms"), [(2.0, -0.5), (-0.5, 2.0)])
def test_a_time_below_zero_becomes_the_other_s(page_ms, sector_ms):
    (gzip,) = measured(answer(page_ms, sector_ms))[0].compressors
    assert min(gzip.page_ns, gzip.sector_ns) == 0
    assert max(gzip.page_ns, gzip.sector_ns) > 0


def test_the_first_blocks_of_a_sample_compress_less_than_the_others():
    noise, text = os.urandom(4096), b"a line of text\n" * 273
    drawn = Sample.of([text, noise, text, noise, noise])
    assert drawn.dense == (noise, noise, noise)
    assert drawn.light == (text, text)
    assert drawn.blocks == (noise, noise, noise, text, text)


@pytest.mark.parametrize(
    "answer",
    ["", "kernel 6.12\nrefused gzip\nrefused xz\n", "dense gzip x y\n", "dense gzip 1 1\n"],
)
def test_a_target_that_mounts_nothing_is_an_error(answer):
    with pytest.raises(CalibrateError, match="mounts none") as caught:
        measured(answer)
    assert "modprobe loop" in caught.value.remedy


def test_a_target_without_room_is_an_error():
    with pytest.raises(CalibrateError, match="cannot be made"):
        measured("", mkdir=1)


def test_no_pass_is_no_division_by_zero():
    ways = ("nothing", "dense", "light", "blocks")
    found, _ = measured("".join(f"{way} gzip 0 0\n" for way in ways))
    assert (found.compressors[0].page_ns, found.compressors[0].insert_ns) == (0, 0)


def test_each_block_of_a_sample_is_a_fragment_of_its_own(tmp_path):
    from image_trees import contents, squashfs

    blocks = [contents(1 << 17, number) for number in range(5)]
    (tmp_path / "root").mkdir()
    drawn = Sample.of(blocks)
    for name, octets in drawn.files().items():
        (tmp_path / "root" / name).write_bytes(octets)
    image = read_squashfs(squashfs(tmp_path / "root", tmp_path / "i", "-b", "128K").read_bytes())

    def fragment(name):
        return int(image.files["fragment"][image.names["file"][image.rows[name]]])

    names = [*(f"d{n:03d}" for n in range(3)), *(f"l{n:03d}" for n in range(3, 5))]
    places = [(fragment(f"/{name}.head"), fragment(f"/{name}.rest")) for name in names]
    assert places == [(n, n) for n in range(5)]


@pytest.mark.thorough
@pytest.mark.kernel
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no image was mounted")
def test_this_kernel_unpacks_in_a_time_above_nothing(tmp_path):
    from image_trees import contents, squashfs

    (tmp_path / "root").mkdir()
    blocks = [contents(1 << 17, number) for number in range(8)]
    drawn = Sample.of(blocks)
    for name, octets in drawn.files().items():
        (tmp_path / "root" / name).write_bytes(octets)
    image = squashfs(tmp_path / "root", tmp_path / "gzip")
    (tmp_path / "wrong").write_bytes(b"no image")
    packed = tuple(read_squashfs(image.read_bytes()).fragments["length"].tolist())
    images = {"gzip": PackedSample(image, packed), "xz": PackedSample(tmp_path / "wrong", packed)}
    name = f"foreread-unpacking-test-{os.getpid()}"
    found = measure_unpacking(LocalTarget(), images, drawn, 0.2, name, 1 << 17)
    assert found.missing == ("xz",)
    assert found.compressors[0].page_ns + found.compressors[0].sector_ns > 0
    assert found.kernel == os.uname().release
    assert not Path(f"/tmp/{name}").exists()
