"""Which parts of boards are the same, and so are built once."""

from __future__ import annotations

import pytest

from boards.emulated import parts
from boards.emulated.image import FILE_SYSTEMS


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
