"""The search for names beside a recorder, as a target's shell does it."""

from __future__ import annotations

import itertools
import os
import subprocess
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shells import BUSYBOX, DASH, each_shell
from waiting import wait_until

from foreread.tracer.remote.top import among, one_of


@pytest.fixture(params=each_shell(DASH, BUSYBOX))
def verb(request, tmp_path):
    """Run a verb of the job; the instance of the trace is a folder."""
    parts = ("lib.sh", "search.sh", "verb.sh")
    folder = resources.files("foreread.tracer.remote")
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
    wait_until(lambda: verb("found", 0).startswith(b"over\n"))
    assert verb("found", 0) == b"over\n" + f"{ino} {file}\0".encode()
    assert verb("found", 1 + len(str(ino))) == b"over\n" + f"{file}\0".encode()
    left_out = (verb.job / "instance" / "set_event_notrace_pid").read_text()
    assert left_out.strip() == (verb.job / "search").read_text().split()[0]
    assert (verb.job / "instance" / "options" / "event-fork").read_text() == "1\n"


def test_one_walk_finds_many_files_among_others(verb, tmp_path):
    files = [tmp_path / f"file {number}" for number in range(40)]
    for file in files:
        file.touch()
    wanted = sorted(file.stat().st_ino for file in files[::3])
    can = verb("find_abilities").decode().split()
    assert "inode" in can
    verb("begin_search", tmp_path, "-xdev", *(among if "order" in can else one_of)(wanted))
    wait_until(lambda: verb("found", 0).startswith(b"over\n"))
    found = verb("found", 0).removeprefix(b"over\n").decode().split("\0")
    assert sorted(found) == sorted(["", *(f"{file.stat().st_ino} {file}" for file in files[::3])])


@given(st.sets(st.integers(0, 200), min_size=1), st.integers(0, 200))
def test_the_tree_chooses_what_the_list_chooses(wanted, ino):
    assert chosen(iter(among(sorted(wanted))), ino) == (ino in wanted)


def chosen(words, ino):
    """Return what find makes of ``( TERM... )``: terms side by side are and, -o is or."""
    assert next(words) == "("
    found, term = False, True
    for word in words:
        if word == ")":
            return found or term
        if word == "-o":
            found, term = found or term, True
        elif word == "(":
            term = chosen(itertools.chain("(", words), ino) and term
        else:
            term = term and compares(next(words), ino)


def compares(number, ino):
    sign, value = (number[0], int(number[1:])) if number[0] in "+-" else ("", int(number))
    return {"": ino == value, "+": ino > value, "-": ino < value}[sign]


def test_a_search_is_ended(verb, tmp_path):
    fifo, slow = tmp_path / "fifo", tmp_path / "slow"
    os.mkfifo(fifo)
    slow.write_text(f"#!/bin/sh\nexec cat <{fifo}\n")
    slow.chmod(0o755)
    (verb.job / "settings").write_text(f"shell={slow}")
    verb("begin_search", tmp_path, "-xdev", "(", "-inum", fifo.stat().st_ino, ")")
    assert verb("found", 0) == b"searching\n"
    verb("end_search")
    wait_until(lambda: verb("found", 0) == b"over\n")
