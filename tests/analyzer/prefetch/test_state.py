"""What another build did to listed files, and paths below a folder that has a board's files."""

import json

import pytest

from foreread.analyzer.prefetch import Listing, PrefetchError, Range
from foreread.analyzer.prefetch.rooted import rooted
from foreread.analyzer.prefetch.state import SUFFIX, changes, read_state, state_of

PAGE = 4096
LISTING = Listing((Range("/lib/a", 0, 2 * PAGE), Range("/lib/a", 3 * PAGE, 100)))


def page(letter):
    return letter.encode() * PAGE


@pytest.fixture
def root(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/a").write_bytes(page("0") + page("1") + page("2") + b"end" * 20)
    return tmp_path


def fates(root, state, sizes=None):
    (found,) = changes(root, LISTING, PAGE, state, sizes or {})
    return found.fates


def test_a_build_that_did_not_change_is_the_same(root):
    state = state_of(root, LISTING, PAGE)
    assert [sorted(one.pages) for one in state.files] == [["0", "1", "3"]]
    assert fates(root, state) == {0: "same", 1: "same", 3: "same"}


def test_moved_pages_are_distinguished_from_changed_ones(root):
    state = state_of(root, LISTING, PAGE)
    (root / "lib/a").write_bytes(page("9") + page("0") + page("1") + page("2") + b"end" * 20)
    assert fates(root, state) == {0: "moved", 1: "moved", 3: "moved"}
    (root / "lib/a").write_bytes(page("0") + page("8") + page("2"))
    assert fates(root, state) == {0: "same", 1: "changed", 3: "changed"}


def test_files_that_are_gone_or_are_no_files_are_missing(root):
    state = state_of(root, LISTING, PAGE)
    (root / "lib/a").unlink()
    assert set(fates(root, state).values()) == {"missing"}
    (root / "lib/a").mkdir()
    assert set(fates(root, state).values()) == {"missing"}


def test_without_a_state_the_size_decides(root):
    size = (root / "lib/a").stat().st_size
    assert set(fates(root, None, {"/lib/a": size}).values()) == {"unknown"}
    assert set(fates(root, None, {"/lib/a": size + 1}).values()) == {"changed"}


def test_a_state_is_read_back_as_written(root, tmp_path):
    state = state_of(root, LISTING, PAGE)
    path = tmp_path / f"list{SUFFIX}"
    assert read_state(path) is None
    path.write_text(state.to_json())
    assert read_state(path) == state


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 2}', '{"schema": 1, "files": 3}'])
def test_a_damaged_state_is_refused_with_a_remedy(tmp_path, text):
    path = tmp_path / f"list{SUFFIX}"
    path.write_text(text)
    with pytest.raises(PrefetchError) as refused:
        read_state(path)
    assert refused.value.remedy


def test_the_state_of_another_build_cannot_be_made(root):
    (root / "lib/a").rename(root / "lib/b")
    with pytest.raises(PrefetchError, match="/lib/a is not below"):
        state_of(root, LISTING, PAGE)


def test_links_stay_below_the_folder(tmp_path):
    root = tmp_path / "root"
    (root / "usr/lib").mkdir(parents=True)
    (root / "usr/lib/libc.so.6").write_text("libc")
    (root / "lib").symlink_to("/usr/lib")
    (root / "usr/lib/libc.so").symlink_to("../../../../lib/libc.so.6")
    (tmp_path / "secret").write_text("outside")
    (root / "out").symlink_to("../secret")
    (root / "circle").symlink_to("circle")
    for path in ("/lib/libc.so.6", "/lib/libc.so", "/usr/../lib/./libc.so.6"):
        assert rooted(root, path) == root / "usr/lib/libc.so.6", path
    for path in ("/out", "/../secret", "/circle", "/none/of/them", "/lib/nul\0"):
        assert rooted(root, path) is None, path


def test_a_state_is_json_with_the_schema(root):
    document = json.loads(state_of(root, LISTING, PAGE).to_json())
    assert (document["schema"], document["page_size"]) == (1, PAGE)
