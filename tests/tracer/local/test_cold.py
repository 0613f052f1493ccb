from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tracer.local.cold import cached_pages, mapped_files, resident_pages

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
