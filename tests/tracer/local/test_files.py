from __future__ import annotations

import fcntl

import pytest
from locked_files import is_locked

from foreread.boards.mounts import MountPoint
from foreread.tracer.local import files
from foreread.tracer.local.files import find_files

NAMES = ["plain", "with space", 'quo"te', "new\nline", "<script>", "$(reboot)", "b\udcffd"]
DEV = "8:1"


def mount(path, dev=DEV, root="/"):
    return MountPoint(dev, root, str(path), "rw", "ext4", "/dev/sda1", "rw")


@pytest.fixture
def tree(tmp_path):
    deep = tmp_path / "a/b"
    deep.mkdir(parents=True)
    for name in NAMES:
        (deep / name).write_text(name.encode(errors="replace").decode())
    return tmp_path


def inode(path):
    return DEV, path.lstat().st_ino


def test_a_symbolic_link_is_distinguished_from_what_it_leads_to(tree):
    link = tree / "link"
    link.symlink_to(tree / "a/b/plain")
    entries, _ = find_files({inode(link), inode(tree / "a/b/plain")}, [mount(tree)], {})
    assert {entry.path: entry.link for entry in entries} == {
        str(link): True,
        str(tree / "a/b/plain"): False,
    }


def test_this_process_keeps_its_locks_on_a_file_that_was_read(tree):
    path = tree / "a/b/plain"
    with path.open("r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        find_files({inode(path)}, [mount(tree)], {})
        assert is_locked(path)


def test_every_name_is_found_with_its_size(tree):
    wanted = {inode(tree / "a/b" / name): name for name in NAMES}
    entries, complete = find_files(set(wanted), [mount(tree)], {})
    assert complete
    assert {entry.path for entry in entries} == {str(tree / "a/b" / name) for name in NAMES}
    assert all(
        entry.size_bytes == (tree / "a/b" / wanted[DEV, entry.ino]).stat().st_size
        for entry in entries
    )


def test_missing_inodes_have_no_path(tree):
    (entry,), complete = find_files({(DEV, 2**40)}, [mount(tree)], {})
    assert (entry.path, entry.size_bytes, complete) == (None, -1, True)


def test_a_known_path_that_was_deleted_has_none(tree):
    (entry,), _ = find_files({(DEV, 5)}, [mount(tree)], {(DEV, 5): str(tree / "gone")})
    assert (entry.path, entry.size_bytes) == (None, -1)


def test_other_mounts_are_not_searched(tree):
    wanted = inode(tree / "a/b/plain")
    (entry,), _ = find_files({wanted}, [mount(tree), mount(tree / "a/b", dev="8:2")], {})
    assert entry.path is None


def test_a_mount_hidden_by_a_later_one_is_not_searched(tree):
    wanted = inode(tree / "a/b/plain")
    (entry,), _ = find_files({wanted}, [mount(tree), mount(tree, dev="8:2")], {})
    assert entry.path is None


def test_the_search_ends_in_time_and_says_so(tree, monkeypatch):
    monkeypatch.setattr("foreread.tracer.local.files.paths_by_handle", lambda *_: ({}, set()))
    _, complete = find_files({inode(tree / "a/b/plain")}, [mount(tree)], {}, limit_s=0)
    assert not complete


def test_a_file_system_whose_search_is_cut_does_not_keep_another_waiting(tree, monkeypatch):
    """Of 4 s each has 2; a directory of the first file system takes one."""
    (tree / "small").mkdir()
    wanted = tree / "small/file"
    wanted.write_text("")
    large = tree / "a"
    clock = [0.0]
    scan = files._entries

    def slowly(directory):
        clock[0] += 1.0 if directory.startswith(str(large)) else 0.0
        return scan(directory) * (50 if directory.startswith(str(large)) else 1)

    monkeypatch.setattr(files.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(files, "_entries", slowly)
    mounts = [mount(large, dev="254:0"), mount(tree / "small", dev="7:4")]
    looked_for = {("254:0", 2**40), ("7:4", wanted.lstat().st_ino)}
    found, complete = find_files(looked_for, mounts, {}, limit_s=4.0)
    assert [entry.path for entry in found] == [None, str(wanted)]
    assert not complete


def test_the_search_by_walk_and_by_handle_find_the_same(tree, monkeypatch):
    wanted = {inode(tree / "a/b/plain"), inode(tree / "a")}
    by_handle = find_files(wanted, [mount(tree)], {})
    monkeypatch.setattr("foreread.tracer.local.files.paths_by_handle", lambda *_: ({}, set()))
    assert find_files(wanted, [mount(tree)], {}) == by_handle
