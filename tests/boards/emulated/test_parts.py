"""Which parts of boards are the same, and so are built once."""

import pytest

from foreread.boards.emulated import parts
from foreread.boards.emulated.error import BoardError
from foreread.boards.emulated.image import FILE_SYSTEMS


@pytest.fixture
def board(monkeypatch):
    """A board whose images are not built: their place stands for them."""
    monkeypatch.setattr(parts.store, "folder", lambda place, build: place)
    return parts.Parts("x86_64")


@pytest.mark.parametrize("made", ["image", "live_image"])
def test_each_file_system_has_an_image_of_its_own_and_overlays_that_of_their_lower_layer(
    board, made
):
    options = ("busybox", 0) if made == "live_image" else ()
    images = {fs: getattr(board, made)(fs, *options) for fs in FILE_SYSTEMS}
    plain = [fs for fs in FILE_SYSTEMS if not fs.startswith("overlay-")]
    assert len({images[fs] for fs in plain}) == len(plain)
    assert images["overlay-erofs"] == images["erofs"]
    assert images["overlay-squashfs"] == images["squashfs"]


@pytest.mark.parametrize(
    ("name", "kernel", "remedy"),
    [
        ("x86_64", "6.12", "use --kernel 6.12-generic"),
        ("x86_64", "6.12-generic", "use another board"),
        ("armhf", "6.1", "use another board"),
    ],
)
def test_a_module_that_the_kernel_lacks_is_named_with_the_flavour_that_may_have_it(
    monkeypatch, tmp_path, name, kernel, remedy
):
    (tmp_path / "lib/modules/6.0/kernel").mkdir(parents=True)
    monkeypatch.setattr(parts.Parts, "_unpacked_kernel", lambda self, scratch: tmp_path)
    board = parts.Parts(name, kernel, cache=tmp_path / "cache")
    with pytest.raises(BoardError, match="has no module f2fs") as refused:
        board.more_modules(["crc32_generic", "f2fs"])
    assert refused.value.remedy == remedy
