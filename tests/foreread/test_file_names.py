"""The names of files that are read: what is asked of the target, and what of its answers counts."""

from types import SimpleNamespace

import pytest

from foreread.boards.mounts import parse_mount
from foreread.machine.file_names import FileNames, search_roots

ROOT = parse_mount("25 1 8:0 /srv/root / rw - ext4 /dev/sda rw")
BIND = parse_mount("26 25 8:0 /data /mnt rw - ext4 /dev/sda rw")
TMP = parse_mount("27 25 0:30 / /tmp rw - tmpfs tmpfs rw")
HIDDEN_BY_TMP = parse_mount("28 27 8:0 /cache /tmp/cache rw - ext4 /dev/sda rw")
ONE = parse_mount("29 25 0:40 /@one /one rw - btrfs /dev/sdb rw,subvolid=256")
TWO = parse_mount("30 25 0:40 /@two /two rw - btrfs /dev/sdb rw,subvolid=257")
MOUNTS = [ROOT, BIND, TMP, HIDDEN_BY_TMP, ONE, TWO]
SDA, SDB = 8 << 20, 40


class Target:
    """Finds what it is given, at the second question."""

    def __init__(self, found=(), answers=2):
        self.machine = SimpleNamespace(mounts=MOUNTS)
        self.searches, self.ended = [], 0
        self._found, self._answers, self._asked = found, answers, 0

    def begin_search(self, roots, inodes, within_s):
        self.searches.append((roots, inodes))
        self._asked = 0

    def poll_search(self, within_s):
        self._asked += 1
        return self._asked >= self._answers, list(self._found)

    def end_search(self, within_s):
        self.ended += 1


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr("foreread.machine.file_names._POLL_S", 0.0)


def test_a_search_does_not_hold_up_the_watching(at_once):
    target = Target([(5, "/a"), (6, "/tmp/b"), (7, "/c")])
    names = FileNames(target, 1.0, False, True)
    names.name([(SDA, 5), (SDA, 6)])
    assert (names.paths, names.why()) == ({}, "the search goes on")
    names.name([(SDA, 5), (SDA, 6)])
    assert names.paths == {(SDA, 5): "/a"}  # what is on another file system is not this inode
    names.name([(SDA, 5), (SDA, 6)])
    assert "deleted" in names.why()
    assert [inodes for _, inodes in target.searches] == [[5, 6]]  # each inode is searched once


def test_the_last_figures_wait_for_all_searches(at_once):
    target = Target([(5, "/a"), (9, "/one/x")])
    names = FileNames(target, 1.0, False, True)
    names.name([(SDB, 9), (SDA, 5), (SDA, 6)], wait=True)
    assert names.paths == {(SDA, 5): "/a", (SDB, 9): "/one/x"}
    assert [inodes for _, inodes in target.searches] == [[5, 6], [9]]


def test_a_search_that_takes_too_long_is_ended(at_once, monkeypatch):
    monkeypatch.setattr("foreread.machine.file_names.SEARCH_S", -1.0)
    target = Target([(5, "/a")], answers=9)
    names = FileNames(target, 1.0, False, True)
    names.name([(SDA, 5), (SDA, 6)], wait=True)
    assert (names.paths, target.ended) == ({(SDA, 5): "/a"}, 1)


def test_a_search_that_has_found_everything_is_ended(at_once):
    target = Target([(5, "/a")], answers=9)
    names = FileNames(target, 1.0, False, True)
    names.name([(SDA, 5)], wait=True)
    assert (names.paths, target.ended) == ({(SDA, 5): "/a"}, 1)


def test_a_small_search_is_begun_anew_with_all_that_wait(at_once):
    target = Target([(5, "/a")], answers=9)
    names = FileNames(target, 1.0, False, True)
    names.name([(SDA, 5), (SDA, 6)])
    names.name([(SDA, 5), (SDA, 6), (SDA, 7), (SDA, 8)])  # no more wait than are looked for
    assert target.ended == 0
    names.name([(SDA, 5), (SDA, 6), (SDA, 7), (SDA, 8), (SDA, 9)])
    assert target.ended == 1
    assert [inodes for _, inodes in target.searches] == [[5, 6], [6, 7, 8, 9]]


def test_a_large_file_system_that_is_always_read_does_not_hold_up_the_others(at_once, monkeypatch):
    """Its searches end by their time, and others of it wait by then; the others have their turn."""
    monkeypatch.setattr("foreread.machine.file_names.SEARCH_S", -1.0)
    target = Target([(9, "/one/x")], answers=9)
    names = FileNames(target, 1.0, False, True)
    read = [(SDB, 9)]
    for step in range(1, 6):
        read += [(SDA, 100 * step + n) for n in range(10 * step)]
        names.name(read)
    assert names.paths == {(SDB, 9): "/one/x"}
    devs = ["one" if "/one" in roots else "root" for roots, _ in target.searches]
    assert devs[:2] == ["root", "one"]


def test_files_of_others_do_not_end_a_small_search(at_once):
    target = Target([(5, "/a")], answers=9)
    names = FileNames(target, 1.0, False, True)
    names.name([(SDA, 5), (SDA, 6)])
    names.name([(SDA, 5), (SDA, 6), *((SDB, number) for number in range(100))])
    assert target.ended == 0


def test_without_a_search_mapped_files_have_names():
    target = Target()
    names = FileNames(target, 1.0, False, False)
    names.learn({("8:0", 5): "/lib"})
    names.name([(SDA, 5), (SDA, 6)], wait=True)
    assert names.paths == {(SDA, 5): "/lib"}
    assert (target.searches, names.why()) == ([], "look for them with --names")


def test_an_inode_number_in_two_subvolumes_names_no_file(at_once):
    target = Target([(257, "/one/x"), (257, "/two/y"), (258, "/two/z")])
    names = FileNames(target, 1.0, False, True)
    names.name([(SDB, 257), (SDB, 258)], wait=True)
    assert names.paths == {(SDB, 258): "/two/z"}


def test_a_search_begins_where_find_would_not_come_by_itself():
    assert sorted(search_roots("8:0", MOUNTS)) == ["/", "/tmp/cache"]
    assert search_roots("0:40", MOUNTS) == ["/one", "/two"]
    assert search_roots("9:9", MOUNTS) == []
