"""Files opened apart: this process keeps its locks on them."""

import fcntl
import os
from pathlib import Path

import pytest
from locked_files import is_locked

from foreread.boards.base import apart as module
from foreread.boards.base.apart import apart


@pytest.fixture
def locked(tmp_path):
    path = tmp_path / "locked"
    path.write_bytes(b"content")
    with path.open("r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        yield path


def test_a_lock_outlasts_a_read_of_its_file(locked):
    assert apart(locked.read_bytes) == b"content"
    assert is_locked(locked)


def test_what_is_left_open_is_closed(tmp_path):
    folder = Path("/proc/self/fd")
    before = [one.name for one in folder.iterdir()]
    apart(lambda: os.open(tmp_path, os.O_RDONLY))
    assert [one.name for one in folder.iterdir()] == before


def test_an_error_is_the_caller_s(tmp_path):
    with pytest.raises(FileNotFoundError):
        apart((tmp_path / "missing").read_bytes)


def test_where_unshare_is_forbidden_the_file_is_read_all_the_same(locked, monkeypatch):
    class Forbidden:
        def unshare(self, _flags):
            return -1

    monkeypatch.setattr(module, "_LIBC", Forbidden())
    assert apart(locked.read_bytes) == b"content"
