"""Advice about images: the same seconds as those of layouts, alone and with other changes."""

from __future__ import annotations

import pytest
from image_trees import ON_SQUASHFS, contents, squashfs, tree_of

from foreread import load
from foreread.analyzer.advise.advise import advise
from foreread.analyzer.advise.images import image_offers
from foreread.analyzer.advise.situation import situation_of
from foreread.analyzer.layout.compared import LayoutQuestion, compare_layouts
from foreread.analyzer.layout.order import LayoutError
from foreread.analyzer.layout.seconds import Unpacking
from foreread.cli.main import main
from foreread.emulator.devices.device import FixedCost

DEVICE = FixedCost(1e6, 50e3)
COSTS = {"gzip": Unpacking(2e5), "lz4": Unpacking(4e4)}
ASKED = LayoutQuestion(block_sizes=(131072, 1 << 20), compressors=("gzip", "lz4"), unpacking=COSTS)


@pytest.fixture(scope="module")
def recording():
    return load(ON_SQUASHFS)


@pytest.fixture(scope="module")
def image(recording, tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    return squashfs(tree_of(recording, folder / "root"), folder / "image")


@pytest.fixture(scope="module")
def found(recording, image):
    source = image_offers(image, asked=ASKED)
    return advise(recording, device_model=DEVICE, sources=[source]).document


@pytest.mark.thorough
def test_an_image_saves_as_much_as_layout_predicts(recording, image, found):
    present, *others = compare_layouts(
        [recording],
        image,
        asked=LayoutQuestion(ASKED.block_sizes, ASKED.compressors, COSTS, DEVICE),
    ).rows
    best = {
        one: min(row.seconds for row in others if row.compressor == one) for one in ("gzip", "lz4")
    }
    rows = {row.what: row for row in found.rows if row.kind == "layout"}
    assert rows
    for what, row in rows.items():
        expected = best["lz4" if "lz4" in what else "gzip"]
        if "gzip" in what:  # the order alone has a row, too
            continue
        assert row.saved == pytest.approx(present.seconds - expected, abs=1e-6)
        assert row.effort == "a new image"
        assert row.flash_bytes > 100_000
        assert any(f"-comp {'lz4' if 'lz4' in what else 'gzip'}" in line for line in row.how)
    assert any("lz4" in what for what in rows)


def test_images_are_combined_with_lists_and_windows(found):
    together = [row for row in found.rows if row.kind == "combination" and "image in" in row.what]
    assert together
    alone = min(row.seconds for row in found.rows if row.kind == "layout")
    assert together[0].seconds < alone
    assert together[0].flash_bytes > 100_000
    assert together[0].trial is None


def test_compressors_without_a_time_to_unpack_are_named(recording, image):
    situation = situation_of([recording], DEVICE)
    asked = LayoutQuestion(block_sizes=(131072,))
    found = list(image_offers(image, asked=asked)(situation))
    notes = [one for one in found if isinstance(one, str)]
    assert any("no seconds of images with" in note and "--unpacking" in note for note in notes)
    assert [one.what for one in found if not isinstance(one, str)] == [
        "image in the order of the start, blocks of 128 KiB with gzip"
    ]


def test_a_capture_of_another_image_is_refused(recording, tmp_path):
    for row, path in enumerate(recording.paths):
        place = tmp_path / f"root{path}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(contents(5000, row))
    image = squashfs(tmp_path / "root", tmp_path / "image")
    with pytest.raises(LayoutError, match="another image"):
        list(image_offers(image)(situation_of([recording], DEVICE)))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--image", "{folder}/text"), "not an image"),
        (("--image", "{folder}/none"), "No such file"),
        (("--unpacking", "{folder}/text"), "add --image IMAGE"),
        (("--mountpoint", "/"), "add --image IMAGE"),
    ],
)
def test_wrong_words_about_an_image_are_refused_and_nothing_is_written(
    words, message, tmp_path, capsys
):
    (tmp_path / "text").write_text("not an image")
    output = tmp_path / "advice"
    given = [word.format(folder=tmp_path) for word in words]
    status = main(["advise", str(ON_SQUASHFS), *given, "-o", str(output)])
    assert status in (1, 2)
    assert message in capsys.readouterr().err
    assert not output.exists()


def test_of_other_images_the_note_says_so(recording, tmp_path):
    image = tmp_path / "image"
    image.write_bytes(bytes(1024) + b"\xe2\xe1\xf5\xe0" + bytes(4096))
    (note,) = image_offers(image)(situation_of([recording], DEVICE))
    assert "EROFS" in note
