"""Every layout of an image compared, for the starts of captures."""

from dataclasses import replace
from pathlib import Path

import pytest
from image_trees import ON_SQUASHFS, built, contents, squashfs, tree_of
from msgspec import structs

from foreread import load
from foreread.analyzer.layout.compared import LayoutQuestion, compare_layouts, layouts_of
from foreread.analyzer.layout.opened_image import opened
from foreread.analyzer.layout.order import LayoutError
from foreread.analyzer.layout.seconds import Unpacking
from foreread.analyzer.layout.support import support_of
from foreread.boards.base.note import NoteKind, kind_of
from foreread.emulator.images import compressors
from foreread.emulator.images.source import ImageError
from foreread.emulator.images.squashfs import read_squashfs

DATA = Path(__file__).parents[2] / "foreread/data"
ON_EXT4 = DATA / "arm64-madplay/arm64-madplay.capture.tar.xz"
ASKED = LayoutQuestion(block_sizes=(131072, 1 << 20), compressors=("gzip", "xz"))


@pytest.fixture(scope="module")
def recording():
    return load(ON_SQUASHFS)


@pytest.fixture(scope="module")
def image(recording, tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    return squashfs(tree_of(recording, folder / "root"), folder / "image")


@pytest.fixture(scope="module")
def found(recording, image):
    return compare_layouts([recording], image, asked=ASKED)


def test_rows_are_the_present_image_the_order_alone_and_the_others(found):
    present, alone, *others = found.rows
    assert present.present
    assert not present.ordered
    assert (alone.block_size, alone.compressor, alone.ordered) == (131072, "gzip", True)
    kinds = [(row.block_size, row.compressor) for row in others]
    assert kinds == [(1 << 20, "gzip"), (131072, "xz"), (1 << 20, "xz")]
    assert [row.name for row in found.rows[:2]] == ["present image", "in the new order"]
    assert alone.image_bytes == pytest.approx(present.image_bytes, rel=0.01)
    assert all(row.image_bytes > alone.image_bytes / 2 for row in others)


def test_seconds_are_known_for_the_recorded_compressor(found):
    assert all((row.seconds is not None) == (row.compressor == "gzip") for row in found.rows)
    assert found.rows[found.rows.index(found.best)].seconds is not None


@pytest.mark.thorough
def test_a_measured_compressor_has_seconds(recording, image, found):
    cheap = {"gzip": Unpacking(1e5), "xz": Unpacking(1e5)}
    dear = cheap | {"xz": Unpacking(9e5)}
    by_cost = []
    for unpacking in (cheap, dear):
        asked = LayoutQuestion(ASKED.block_sizes, ASKED.compressors, unpacking)
        rows = compare_layouts([recording], image, asked=asked).rows
        by_cost.append(rows[3].seconds)
    assert by_cost[0] is not None
    assert by_cost[1] - by_cost[0] == pytest.approx(
        8e5 * found.rows[3].starts[0].unpacked_bytes / 4096 / 1e9, rel=1e-6
    )


@pytest.mark.thorough
def test_weights_decide_the_means(recording, image, found):
    asked = LayoutQuestion(block_sizes=(131072,), compressors=("gzip",))
    twice = compare_layouts([recording, recording], image, weights=(1, 3), asked=asked)
    assert twice.rows[0].requests == found.rows[0].requests
    assert len(twice.rows[0].starts) == 2
    with pytest.raises(LayoutError, match="1 weights for 2 captures"):
        compare_layouts([recording, recording], image, weights=(1,), asked=asked)


def test_without_an_image_there_is_the_order_alone(recording):
    found = compare_layouts([recording])
    assert found.rows == ()
    assert found.best is None
    assert "/usr/bin/madplay" in [one.path for one in found.order]


@pytest.mark.thorough
def test_a_capture_from_ext4_predicts_an_image_without_seconds(tmp_path):
    recording = load(ON_EXT4)
    image = squashfs(tree_of(recording, tmp_path / "root"), tmp_path / "image")
    found = compare_layouts([recording], image, asked=ASKED)
    assert found.rows[0].requests > 0
    assert found.rows[0].seconds is None
    assert not any("hide what is touched" in note for note in found.notes)


def test_a_capture_of_another_image_is_refused(recording, tmp_path):
    (tmp_path / "root").mkdir()
    for row, path in enumerate(recording.paths):
        place = tmp_path / f"root{path}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(contents(5000, row))
    image = squashfs(tmp_path / "root", tmp_path / "image")
    with pytest.raises(LayoutError, match="was recorded on another image: 100%") as caught:
        compare_layouts([recording], image)
    assert "--mountpoint" in caught.value.remedy


@pytest.mark.thorough
def test_missing_files_are_counted(recording, tmp_path):
    root = tree_of(recording, tmp_path / "root")
    (root / "usr/lib/x86_64-linux-gnu/libid3tag.so.0.3.0").unlink()
    image = squashfs(root, tmp_path / "image")
    asked = LayoutQuestion(block_sizes=(131072,), compressors=("gzip",))
    found = compare_layouts([recording], image, asked=asked)
    assert any(note.startswith("1 file is not in the image, of ") for note in found.notes)


def test_a_start_through_fuse_has_a_doubt_about_all_rows(image, recording):
    mounts = [
        structs.replace(mount, fstype="fuse.App.AppImage") if mount.mountpoint == "/" else mount
        for mount in recording.capture.mounts
    ]
    capture = structs.replace(recording.capture, mounts=mounts)
    asked = LayoutQuestion(block_sizes=(131072,), compressors=("gzip",))
    found = compare_layouts([replace(recording, capture=capture)], image, asked=asked)
    (doubt,) = (note for note in found.notes if "FUSE (fuse.App.AppImage)" in note)
    assert kind_of(doubt) is NoteKind.ANSWER
    assert "mount -o loop" in doubt


@pytest.mark.parametrize("octets", [b"", b"not an image", b"\0" * 5000])
def test_a_file_that_is_not_an_image_is_refused(octets, recording, tmp_path):
    (tmp_path / "image").write_bytes(octets)
    with pytest.raises(ImageError, match=r"image: not an image|is empty"):
        compare_layouts([recording], tmp_path / "image")


def test_an_image_of_erofs_gets_the_order_alone(recording, tmp_path):
    tree_of(recording, tmp_path / "root")
    built("mkfs.erofs", tmp_path / "image", tmp_path / "root")
    found = compare_layouts([recording], tmp_path / "image")
    assert found.order
    assert found.rows == ()
    assert "EROFS" in found.notes[-1]


def test_a_compressor_whose_package_is_missing_is_left_out(recording, image, monkeypatch):
    def missing(*_):
        raise compressors.MissingCompressor("the Python package lz4 is not installed", "pip")

    monkeypatch.setitem(compressors._PACK, "lz4", missing)
    asked = LayoutQuestion(block_sizes=(131072,), compressors=("gzip", "lz4"))
    found = compare_layouts([recording], image, asked=asked)
    assert {row.compressor for row in found.rows} == {"gzip"}
    assert any("lz4 is not compared" in note for note in found.notes)


def test_blocks_that_a_kernel_with_larger_pages_does_not_mount_are_left_out(recording, image):
    with opened(image) as octets:
        tables = read_squashfs(octets)
    board = support_of("squashfs", [replace(recording, page_size=65536)], "gzip")
    asked = LayoutQuestion(block_sizes=(16384, 65536, 131072), compressors=("gzip",))
    layouts, notes = layouts_of(tables, asked, board)
    assert {layout.block_size for layout in layouts} == {65536, 131072}
    assert [note for note in notes if note.startswith("blocks of 16 KiB are not compared: ")]
    usual = support_of("squashfs", [recording], "gzip")
    assert {one.block_size for one in layouts_of(tables, asked, usual)[0]} == {16384, 65536, 131072}
