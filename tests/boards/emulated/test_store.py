"""The cache: whole or not at all, and never silently changed."""

import pytest

from foreread.boards.emulated.error import BoardError
from foreread.boards.emulated.store import default_store, digest, folder, sums


def fill(into):
    (into / "a").write_bytes(b"one")
    (into / "b").write_bytes(b"two")


def refuse(into):
    raise AssertionError("filled twice")


def test_is_filled_once(tmp_path):
    place = folder(tmp_path / "x" / "y", fill)
    assert folder(place, refuse) == place
    assert (place / "a").read_bytes() == b"one"


def test_the_manifest_has_the_format_of_sha256sum(tmp_path):
    place = folder(tmp_path / "x", fill)
    first = sums(place).splitlines()[0]
    assert first == "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed  a"


def change(place):
    (place / "a").write_bytes(b"ONE")


def remove(place):
    (place / "b").unlink()


def add(place):
    (place / "c").write_bytes(b"")


def lose_the_manifest(place):
    (place / "sha256sums").unlink()


@pytest.mark.parametrize("damage", [change, remove, add, lose_the_manifest])
def test_a_changed_cache_is_refused_with_the_folder_to_remove(tmp_path, damage):
    place = folder(tmp_path / "x", fill)
    damage(place)
    with pytest.raises(BoardError, match="checksum") as caught:
        folder(place, refuse)
    assert str(place) in caught.value.remedy


def test_a_failed_filling_leaves_nothing(tmp_path):
    def fail(into):
        fill(into)
        raise BoardError("no network", "plug it in")

    with pytest.raises(BoardError, match="no network"):
        folder(tmp_path / "x", fail)
    assert list(tmp_path.iterdir()) == []


def test_the_second_to_fill_the_cache_uses_the_first_result(tmp_path):
    place = tmp_path / "x"

    def overtaken(into):
        fill(into)
        folder(place, fill)
        (into / "a").write_bytes(b"late")

    assert (folder(place, overtaken) / "a").read_bytes() == b"one"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_digest_depends_on_where_parts_end():
    assert digest("ab", "c") != digest("a", "bc")
    assert digest("ab", "c") == digest(b"ab", b"c")


def test_place_follows_xdg(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_store() == tmp_path / "foreread" / "boards"
