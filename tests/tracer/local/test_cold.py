from __future__ import annotations

import fcntl
import mmap
import os
import sys
from pathlib import Path

import pytest
from locked_files import is_locked

from foreread.boards.mounts import MountPoint
from foreread.tracer.local import cold
from foreread.tracer.local.cold import cached_pages, mapped_files, resident_pages

PAGE = os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("pages", [0, 1, 7, 300])
def test_a_file_just_written_is_resident(tmp_path, pages):
    file = tmp_path / "file"
    file.write_bytes(b"x" * (pages * PAGE))
    assert resident_pages(file) == list(range(pages))


def test_a_part_of_a_page_counts_as_one(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"x" * (PAGE + 1))
    assert resident_pages(file) == [0, 1]


def test_a_hole_that_nobody_read_is_not_resident(tmp_path):
    file = tmp_path / "sparse"
    with file.open("wb") as sparse:
        sparse.truncate(1 << 34)  # mapped chunk by chunk
    assert resident_pages(file) == []


def test_a_fifo_has_no_pages_and_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    assert resident_pages(tmp_path / "fifo") == []


def test_the_files_of_this_process_are_among_the_mapped():
    own = mapped_files([os.getpid()])
    executable = Path(sys.executable).resolve()
    assert str(executable) in own.values()
    (inode,) = [ino for (_, ino), path in own.items() if path == str(executable)]
    assert inode == executable.stat().st_ino
    assert mapped_files([2**22 + 1]) == {}


def test_the_page_cache_holds_something():
    assert cached_pages() > 0


def test_the_proof_keeps_this_process_s_locks_on_a_file_that_is_mapped(tmp_path, monkeypatch):
    monkeypatch.setattr(cold, "drop_caches", lambda: None)
    monkeypatch.setattr(cold, "_ATTEMPTS", 1)
    path = tmp_path / "shm"
    path.write_bytes(b"x" * PAGE)
    disk = MountPoint("8:1", "/", str(tmp_path), "rw", "ext4", "/dev/sda1", "rw")
    with path.open("r+b") as file, mmap.mmap(file.fileno(), PAGE) as mapped:
        assert mapped[0] == ord("x")  # others' drop_caches keeps a page that is mapped
        fcntl.lockf(file, fcntl.LOCK_EX)
        proof, _ = cold.drop_and_prove([], [disk])
        assert str(path) in {one.path for one in proof.resident}
        assert is_locked(path)
