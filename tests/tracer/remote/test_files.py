"""The search for the files that were read, as a target's shell does it."""

from __future__ import annotations

import os
import subprocess

import pytest
from shells import each_shell

from foreread.boards.mounts import parse_mount
from foreread.boards.target import Result
from foreread.tracer.remote.files import find_files
from foreread.tracer.remote.job import script


@pytest.fixture(params=each_shell())
def search(request, tmp_path):
    """Return how to search for an inode below a folder, with settings of the job."""
    parts = ("lib.sh", "inodes.sh", "record.sh", "verb.sh")
    job = tmp_path / "job"
    job.mkdir()
    os.mkfifo(job / "never")
    (job / "job.sh").write_text(script(parts))

    def search(limit_s, top, inode, settings):
        (job / "settings").write_text(settings)
        words = [*request.param, job / "job.sh", "-", "find_inodes", limit_s, top, inode]
        return subprocess.run([*map(str, words)], check=True, capture_output=True)

    return search


def test_a_file_is_found_by_its_inode(search, tmp_path):
    file = tmp_path / "name of\na file"
    file.write_text("12345")
    done = search(600, tmp_path, file.stat().st_ino, "shell=sh")
    assert done.stdout == f"{file.stat().st_ino} 5 - {file}\0".encode()
    assert done.stderr == b"0\n"


def test_a_search_that_takes_too_long_is_cut_and_says_so(search, tmp_path):
    file, slow, fifo = tmp_path / "file", tmp_path / "slow", tmp_path / "fifo"
    file.touch()
    os.mkfifo(fifo)
    slow.write_text(f"#!/bin/sh\nexec >&2\nexec cat <{fifo}\n")
    slow.chmod(0o755)
    done = search(1, tmp_path, file.stat().st_ino, f"shell={slow}")
    os.close(os.open(fifo, os.O_RDWR))  # ends what the killed find has begun
    assert (done.stdout, done.stderr) == (b"", b"cut\n")


class Searching:
    """A job whose target finds nothing, and is cut or not."""

    def __init__(self, status):
        self.status, self.limits = status, []

    def raw(self, verb, *words, step, timeout_s=0.0):
        assert verb == "find_inodes"
        self.limits.append((float(words[0]), timeout_s))
        return Result(0, b"", self.status)


@pytest.mark.parametrize(("status", "cut"), [(b"cut\n", True), (b"0\n", False)])
def test_a_search_that_was_cut_says_how_to_search_longer(status, cut):
    root = parse_mount("25 1 8:0 / / rw - ext4 /dev/sda rw")
    job = Searching(status)
    files, notes = find_files(job, {("8:0", 7), ("8:0", 8)}, [root], {("8:0", 8): "/known"}, 90.0)
    assert [file.path for file in files] == [None, "/known"]
    assert 80 < job.limits[0][0] <= 90 < job.limits[0][1]
    said = [note for note in notes if "1 file has no path" in note]
    assert [note.endswith("record again with --search 900") for note in said] == [True] * cut
