"""Work beside the drawing of the PDF: in a fork, or after it in the same process."""

from __future__ import annotations

import os
import threading

import pytest

from foreread.analyzer.report.beside import beside


@pytest.fixture(params=["fork", "one processor", "another thread"])
def surroundings(request, monkeypatch):
    """Processors and threads as they are, or as they keep the work in this process."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    if request.param == "one processor":
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    if request.param == "another thread":
        monkeypatch.setattr(threading, "active_count", lambda: 2)
    return request.param


def test_the_work_is_done_at_the_end_of_the_body(surroundings, tmp_path):
    with beside(lambda: (tmp_path / "pid").write_text(str(os.getpid())) and None):
        pass
    in_a_fork = int((tmp_path / "pid").read_text()) != os.getpid()
    assert in_a_fork == (surroundings == "fork")


def test_an_error_of_the_work_is_raised(surroundings, tmp_path):
    with pytest.raises(FileNotFoundError), beside((tmp_path / "none").read_bytes):
        pass


def test_an_error_of_the_body_ends_the_work(surroundings, tmp_path, monkeypatch):
    reading, writing = os.pipe()
    forked = []
    fork = os.fork
    monkeypatch.setattr(os, "fork", lambda: forked.append(fork()) or forked[-1])

    def work():
        os.read(reading, 1)  # for ever: nobody writes
        (tmp_path / "late").touch()

    with pytest.raises(ValueError, match="body"), beside(work):
        raise ValueError("body")
    assert len(forked) == (surroundings == "fork")
    for pid in forked:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    os.close(reading)
    os.close(writing)
    assert not (tmp_path / "late").exists()
