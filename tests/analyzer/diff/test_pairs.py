"""Which file of one build is which of another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.diff.pairs import is_library, paired, without_versions

PATHS = st.lists(
    st.sampled_from([None, "/a", "/b", "/lib/x.so.1", "/lib/x.so.2", "/b/x.so.2", "/p3/y"])
)


def test_files_of_one_path_are_one_and_versions_pair_what_is_left():
    old = ["/bin/app", "/lib/libssl.so.1.1", "/lib/libz.so.1", "/only/old"]
    new = ["/lib/libz.so.1", "/bin/app", "/lib/libssl.so.3", "/only/new"]
    assert set(paired(old, new)) == {(0, 1), (2, 0), (1, 2), (3, None), (None, 3)}


def test_versions_pair_nothing_that_could_be_mistaken():
    """Two candidates on a side: neither is taken for the other."""
    old, new = ["/usr/lib/a-1.so"], ["/usr/lib/a-2.so", "/usr/lib/a-3.so"]
    assert set(paired(old, new)) == {(0, None), (None, 0), (None, 1)}


def test_a_library_that_moved_to_another_folder_is_the_same_one():
    old = ["/lib/x86_64-linux-gnu/libz.so.1.2.13", "/lib/a/libm.so.6", "/lib/data"]
    new = ["/usr/lib/x86_64-linux-gnu/libz.so.1.3", "/usr/lib/data", "/usr/lib/a/libm.so.6"]
    assert set(paired(old, new)) == {(0, 0), (1, 2), (2, None), (None, 1)}


def test_a_library_in_two_folders_is_taken_for_neither():
    old, new = ["/lib/libz.so.1"], ["/usr/lib/libz.so.1", "/opt/lib/libz.so.1"]
    assert set(paired(old, new)) == {(0, None), (None, 0), (None, 1)}


@given(PATHS, PATHS)
def test_every_file_is_in_one_pair(old, new):
    pairs = list(paired(old, new))
    for side, paths in ((0, old), (1, new)):
        assert sorted(pair[side] for pair in pairs if pair[side] is not None) == list(
            range(len(paths))
        )


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("/usr/lib/libssl.so.1.1", "/usr/lib/libssl.so.3"),
        ("/usr/lib/python3.11/re/__init__.py", "/usr/lib/python3.13/re/__init__.py"),
        ("/nix/0123456789abcdef0123-app/bin", "/nix/fedcba98765432100fed-app/bin"),
    ],
)
def test_paths_of_two_versions_have_one_name(one, two):
    assert without_versions(one) == without_versions(two)


def test_a_library_is_recognised_by_its_name():
    assert is_library("/lib/libz.so.1.3.1")
    assert is_library("/lib/x.so")
    assert not is_library("/etc/ld.so.cache")
    assert not is_library("/bin/so")
