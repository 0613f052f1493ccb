"""The search for names beside a recorder, as a target's shell does it."""

from __future__ import annotations

import os
import subprocess
from importlib import resources

import pytest
from shells import BUSYBOX, DASH, each_shell
from waiting import wait_until


@pytest.fixture(params=each_shell(DASH, BUSYBOX))
def verb(request, tmp_path):
    """Run a verb of the job; the instance of the trace is a folder."""
    parts = ("lib.sh", "search.sh", "verb.sh")
    folder = resources.files("tracer.remote")
    job = tmp_path / "job"
    (job / "instance" / "options").mkdir(parents=True)
    (job / "instances").write_text(f"{job}/instance\n")
    (job / "settings").write_text("shell=sh")
    (job / "job.sh").write_text("\n".join((folder / name).read_text() for name in parts))

    def run(*words):
        command = [*request.param, job / "job.sh", "-", *words]
        return subprocess.run([*map(str, command)], check=True, capture_output=True).stdout

    run.job = job
    return run


def test_a_search_goes_on_in_the_background_and_is_left_out_of_the_trace(verb, tmp_path):
    file = tmp_path / "name of\na file"
    file.touch()
    ino = file.stat().st_ino
    assert verb("begin_search", tmp_path, "-xdev", "(", "-inum", ino, ")") == b""
    wait_until(lambda: verb("found").startswith(b"over\n"))
    assert verb("found") == b"over\n" + f"{ino} {file}\0".encode()
    left_out = (verb.job / "instance" / "set_event_notrace_pid").read_text()
    assert left_out.strip() == (verb.job / "search").read_text().split()[0]
    assert (verb.job / "instance" / "options" / "event-fork").read_text() == "1\n"


def test_a_search_is_ended(verb, tmp_path):
    fifo, slow = tmp_path / "fifo", tmp_path / "slow"
    os.mkfifo(fifo)
    slow.write_text(f'#!/bin/sh\ncase $2 in *trap*) exec sh "$@" ;; esac\nexec cat <{fifo}\n')
    slow.chmod(0o755)
    (verb.job / "settings").write_text(f"shell={slow}")
    verb("begin_search", tmp_path, "-xdev", "(", "-inum", fifo.stat().st_ino, ")")
    assert verb("found") == b"searching\n"
    verb("end_search")
    wait_until(lambda: verb("found") == b"over\n")
    os.close(os.open(fifo, os.O_RDWR))  # ends what the killed find has begun
