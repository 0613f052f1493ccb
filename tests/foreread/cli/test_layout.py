"""``foreread layout``: the folder for those who build images, and what it predicts."""

import json
import shutil
from pathlib import Path

import pytest
from image_trees import built, squashfs, tree_of

from foreread import load
from foreread.cli.main import main
from foreread.emulator.images import compressors
from foreread.emulator.images.squashfs import read_squashfs

CAPTURE = Path(__file__).parents[1] / "data/squashfs-madplay/squashfs-madplay.capture.tar.xz"
ONE_LAYOUT = ("--block-size", 1024, "--compressor", "gzip")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A root with the files of the recorded start, and others."""
    return tree_of(load(CAPTURE), tmp_path_factory.mktemp("layout") / "root")


@pytest.fixture(scope="module")
def image(root):
    return squashfs(root, root.with_name("image"))


def run(capsys, *words):
    code = main([str(word) for word in ("layout", *words)])
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


def refused(capsys, *words):
    code = main([str(word) for word in ("layout", *words)])
    assert code == 1
    return capsys.readouterr().err


def test_the_image_built_with_the_sort_file_reads_what_is_predicted(root, image, tmp_path, capsys):
    words = (CAPTURE, "--image", image, *ONE_LAYOUT, "-o", tmp_path / "out", "--json")
    document = json.loads(run(capsys, *words))
    present, alone, large = document["rows"]
    assert (document["schema"], document["files"] > 5) == (1, True)
    sort = tmp_path / "out/squashfs.sort"
    again = squashfs(root, tmp_path / "sorted", "-sort", sort)
    found = json.loads(
        run(capsys, CAPTURE, "--image", again, *ONE_LAYOUT, "-o", tmp_path, "--json")
    )
    for name in ("requests", "read_bytes"):
        assert found["rows"][0][name] == pytest.approx(alone[name], rel=0.02)
        assert alone[name] <= 1.01 * present[name]  # metadata lie elsewhere
    assert large["block_size"] == 1 << 20
    assert read_squashfs(again.read_bytes()).block_size == 131072


@pytest.mark.thorough
def test_a_root_stands_for_its_image(root, image, tmp_path, capsys):
    by_image = run(capsys, CAPTURE, "--image", image, *ONE_LAYOUT, "-o", tmp_path / "out")
    by_root = run(capsys, CAPTURE, "--root", root, *ONE_LAYOUT, "-o", tmp_path / "out")
    table = by_image.split("\n\n")[1].splitlines()[:4]
    assert "present image" in table[1]
    assert table == by_root.split("\n\n")[1].splitlines()[:4]


def test_the_best_layout_is_written_when_asked_for(image, tmp_path, capsys):
    words = (CAPTURE, "--image", image, "--block-size", 16, "--compressor", "xz")
    unpacking = tmp_path / "unpacking.json"
    one = {"pages": 1, "seconds": 1.0}
    costs = [{"compressor": "gzip", "page_ns": 9e5, "insert_ns": 0.0, **one}]
    costs += [{"compressor": "xz", "page_ns": 1.0, "insert_ns": 0.0, **one}]
    found = {"schema": 1, "kernel": "6.12", "page_size": 4096, "missing": ["lz4"]}
    unpacking.write_text(json.dumps(found | {"compressors": costs}))
    words += ("--unpacking", unpacking)
    told = run(capsys, *words, "-o", tmp_path / "out")
    assert "-comp xz" not in (tmp_path / "out/INSTALL.md").read_text()
    assert "foreread layout" in told
    assert "--best" in told
    assert "lz4: not compared; the board's kernel, or mksquashfs here, lacks it" in told
    run(capsys, *words, "--best", "-o", tmp_path / "out")
    assert "-b 16K -comp xz" in (tmp_path / "out/INSTALL.md").read_text()


def test_without_an_image_the_order_is_written(tmp_path, capsys):
    told = run(capsys, CAPTURE, CAPTURE, "--weights", "1,2", "-o", tmp_path / "out")
    assert "for 2 starts" in told
    assert "usr/bin/madplay 32767" in (tmp_path / "out/squashfs.sort").read_text()


def test_what_is_not_an_image_writes_nothing(tmp_path, capsys):
    text = tmp_path / "text"
    text.write_text("not an image")
    for wrong in (text, tmp_path / "none"):
        told = refused(capsys, CAPTURE, "--image", wrong, "-o", tmp_path / "out")
        assert str(wrong.name) in told or "is not an image" in told
        assert not (tmp_path / "out").exists()
    told = refused(capsys, CAPTURE, "--root", text, "-o", tmp_path / "out")
    assert "no folder" in told
    assert not (tmp_path / "out").exists()


def test_a_damaged_image_writes_nothing(image, tmp_path, capsys):
    cut = tmp_path / "cut"
    cut.write_bytes(image.read_bytes()[:-5000])
    assert "cut off" in refused(capsys, CAPTURE, "--image", cut, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def appimage(image, file, changed=b""):
    """An AppImage of an image: a program with the magic, then the image; not aligned."""
    program = bytearray(Path("/bin/true").read_bytes())
    program[8:11] = b"AI\2"
    file.write_bytes(program + changed + image.read_bytes())
    return file


@pytest.mark.thorough
def test_an_appimage_gives_what_its_squashfs_gives(image, tmp_path, capsys):
    whole = appimage(image, tmp_path / "App.AppImage")
    rows = []
    for file in (image, whole):
        words = (CAPTURE, "--image", file, *ONE_LAYOUT, "-o", tmp_path / "out", "--json")
        rows.append(json.loads(run(capsys, *words))["rows"])
    assert rows[0] == rows[1]


def test_a_damaged_appimage_writes_nothing(image, tmp_path, capsys):
    moved = appimage(image, tmp_path / "moved.AppImage", b"padding")
    words = (CAPTURE, "--image", moved, "-o", tmp_path / "out")
    assert "no squashfs at byte" in refused(capsys, *words)
    cut = appimage(image, tmp_path / "cut.AppImage")
    cut.write_bytes(cut.read_bytes()[:-5000])
    words = (CAPTURE, "--image", cut, "-o", tmp_path / "out")
    assert "cut off" in refused(capsys, *words)
    assert not (tmp_path / "out").exists()


def test_the_table_has_every_block_size_compressor_and_order(image, tmp_path, capsys):
    words = (CAPTURE, "--image", image, "--block-size", 64, "--block-size", 1024)
    words += ("--compressor", "gzip", "--compressor", "lz4", "--table", "-o", tmp_path / "out")
    document = json.loads(run(capsys, *words, "--json"))
    present, alone, *others = document["rows"]
    kinds = {(row["block_size"] >> 10, row["compressor"], row["ordered"]) for row in others}
    assert len(others) == len(kinds) == 2 * 2 * 2
    assert (present["present"], alone["ordered"]) == (True, True)
    assert document["best"] in [
        row for row, each in enumerate(document["rows"]) if each["present"] or each["ordered"]
    ]
    lines = run(capsys, *words).splitlines()
    assert sum("KiB  gzip" in line or "KiB  lz4" in line for line in lines) == 10
    assert sum(line.startswith("in the builder's order") for line in lines) == 4


@pytest.mark.thorough
def test_a_snap_keeps_its_files_in_blocks_of_their_own(root, tmp_path, capsys):
    snap = squashfs(root, tmp_path / "app_1.snap", "-no-fragments")
    words = (CAPTURE, "--image", snap, "--block-size", 128, "--compressor", "gzip", "--table")
    rows = json.loads(run(capsys, *words, "-o", tmp_path / "out", "--json"))["rows"]
    present, _, again = rows
    for name in ("requests", "read_bytes", "image_bytes"):
        assert again[name] == pytest.approx(present[name], rel=0.01)
    options = "mksquashfs ROOT IMAGE -noappend -sort squashfs.sort -no-fragments"
    assert options in (tmp_path / "out/INSTALL.md").read_text()


def test_an_image_of_another_root_writes_nothing(tmp_path, capsys):
    (tmp_path / "root").mkdir()
    (tmp_path / "root/file").write_bytes(b"1")
    other = squashfs(tmp_path / "root", tmp_path / "other")
    told = refused(capsys, CAPTURE, "--image", other, "-o", tmp_path / "out")
    assert "the image has none of them" in told
    assert not (tmp_path / "out").exists()


@pytest.mark.thorough
def test_an_image_of_lzo_is_compared_like_others(root, tmp_path, capsys, monkeypatch):
    lzo = tmp_path / "lzo"
    built("mksquashfs", root, lzo, "-quiet", "-no-progress", "-comp", "lzo")
    words = (CAPTURE, "--image", lzo, "--compressor", "lzo", "--compressor", "gzip")
    rows = json.loads(run(capsys, *words, "-o", tmp_path / "out", "--json"))["rows"]
    assert {row["compressor"] for row in rows} == {"lzo", "gzip"}
    present, ordered = rows[0], next(row for row in rows[1:] if row["compressor"] == "lzo")
    assert present["compressor"] == "lzo"
    assert 0 <= lzo.stat().st_size - present["image_bytes"] < 4096  # mksquashfs pads the image
    assert ordered["block_size"] == present["block_size"]
    monkeypatch.setattr(compressors, "_LZO", "liblzo-of-nobody.so")
    told = refused(capsys, *words, "-o", tmp_path / "other")
    assert "liblzo-of-nobody.so is not installed" in told
    assert "apt install liblzo2-2" in told
    assert not (tmp_path / "other").exists()


def test_without_mksquashfs_its_package_is_named(root, tmp_path, capsys, monkeypatch):
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "mksquashfs" else which(name))
    told = refused(capsys, CAPTURE, "--root", root, "-o", tmp_path / "out")
    assert "apt-get install squashfs-tools" in told
    assert not (tmp_path / "out").exists()


def test_a_wrong_unpacking_file_writes_nothing(image, tmp_path, capsys):
    wrong = tmp_path / "unpacking.json"
    wrong.write_text("{}")
    words = (CAPTURE, "--image", image, "--unpacking", wrong, "-o", tmp_path / "out")
    assert "Object missing required field" in refused(capsys, *words)
    assert not (tmp_path / "out").exists()


def test_a_compressor_that_was_asked_for_and_the_kernel_lacks_is_refused(image, tmp_path, capsys):
    one = {"compressor": "gzip", "page_ns": 9e5, "insert_ns": 0.0, "pages": 1, "seconds": 1.0}
    found = {"schema": 1, "kernel": "5.10", "page_size": 4096, "missing": ["zstd", "xz"]}
    unpacking = tmp_path / "unpacking.json"
    unpacking.write_text(json.dumps(found | {"compressors": [one]}))
    words = (CAPTURE, "--image", image, "--unpacking", unpacking, "--block-size", 128)
    told = refused(capsys, *words, "--compressor", "zstd", "-o", tmp_path / "out")
    assert "kernel (5.10), or mksquashfs here, lacks zstd" in told
    assert "CONFIG_SQUASHFS_ZSTD=y" in told
    assert not (tmp_path / "out").exists()
    rows = json.loads(run(capsys, *words, "-o", tmp_path / "out", "--json"))["rows"]
    assert {row["compressor"] for row in rows} == {"gzip", "lz4", "lzo"}


@pytest.mark.parametrize(
    "words", [("--weights", "1,x"), ("--target", "local"), ("--best",), ("--table",)]
)
def test_words_that_make_no_sense_are_wrong_usage(words, tmp_path, run):
    run("layout", CAPTURE, *words, "-o", tmp_path / "out", code=2)
    assert not (tmp_path / "out").exists()


def test_an_image_of_erofs_is_compared_with_others_and_its_options_are_written(
    root, tmp_path, capsys
):
    built("mkfs.erofs", "--quiet", tmp_path / "image", root)
    unpacking = {"compressor": "lz4", "page_ns": 1.0, "insert_ns": 0.0, "pages": 1, "seconds": 1.0}
    document = {"schema": 1, "kernel": "6.12", "page_size": 4096, "missing": []}
    (tmp_path / "costs").write_text(json.dumps(document | {"compressors": [unpacking]}))
    words = (CAPTURE, "--image", tmp_path / "image", "--compressor", "lz4", "--block-size", 16)
    words += ("--unpacking", tmp_path / "costs")
    found = run(capsys, *words, "--best", "-o", tmp_path / "out")
    assert "present image" in found
    assert "lz4" in found
    assert " -zlz4 -C16384\n" in (tmp_path / "out/INSTALL.md").read_text()
    assert (tmp_path / "out/compress.hints").read_text().startswith("16384 ^")


@pytest.mark.parametrize(
    ("kind", "words", "what"),
    [
        ("squashfs", ("--compressor", "lzma"), "squashfs has no lzma"),
        ("squashfs", ("--block-size", 4), "squashfs has no blocks of 4 KiB"),
        ("erofs", ("--compressor", "gzip"), "EROFS has no gzip"),
    ],
)
def test_what_a_file_system_does_not_have_is_refused(
    kind, words, what, root, image, tmp_path, capsys
):
    if kind == "erofs":
        image = tmp_path / "image"
        built("mkfs.erofs", "--quiet", image, root)
    line = ["layout", CAPTURE, "--image", image, *words, "-o", tmp_path / "out"]
    assert main([str(word) for word in line]) == 2
    assert what in capsys.readouterr().err
