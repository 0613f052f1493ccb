"""Captures made to exhaust the reader, as each command and the library get them."""

import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import hostile_archives as hostile
import pytest
from children import text_from_child
from rings import further
from waiting import left_s

import foreread
from foreread.analyzer.ingest import load
from foreread.error import ERRORS

MIB = 1 << 20
MOST_MIB = 512  # beyond what the same process takes for the shipped example
# What a good list of files of the same 60 MB takes (4 times as much).
GOOD_MIB = {hostile.objects_of_files: 229}
# Of the archives, which tests/tracer/formats/test_archive.py has too, and of large files in a
# capture's directory, one of each kind of harm.
LARGE = (hostile.sparse_header_page, hostile.sparse_statistics, hostile.sparse_files)
NOW = [
    *(make for make in hostile.CASES if make not in (*hostile.ARCHIVES, *LARGE)),
    *(hostile.pax_chain, hostile.gnu_sparse, hostile.gzip_expansion, hostile.huge_json),
]
COMMANDS = {
    "show": [],
    "predict": [],
    "advise": [],
    "forecast": ["--model", "linux-6.12"],
    "report": ["-o", "out"],
    "prefetch": ["-o", "out"],
    "export": ["--format", "chrome", "-o", "out"],
    "script": ["-o", "out"],
}


def peaks():
    """Return the most memory in KiB that this process, and that its children had at a time."""
    own = re.search(r"VmHWM:\s+([0-9]+) kB", Path("/proc/self/status").read_text())
    return int(own[1]), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


def refusal(path):
    """Return the error of reading a capture, and by how many MiB memory has grown meanwhile."""
    foreread.load(hostile.EXAMPLE)
    before = peaks()
    try:
        foreread.load(path)
        message = "read"
    except ERRORS as error:
        message = f"{error} -- {error.remedy}"
    return (
        f"{message}\n{max(one - other for one, other in zip(peaks(), before, strict=True)) // 1024}"
    )


@pytest.mark.parametrize("make", further(hostile.CASES, NOW), ids=lambda make: make.__name__)
def test_a_hostile_capture_is_refused_with_little_memory(make, tmp_path):
    path = make(tmp_path)
    message, grown = text_from_child(lambda: refusal(path)).splitlines()
    assert re.search(hostile.CASES[make], message), message
    assert str(path) in message
    assert "/foreread-" not in message  # the folder that an archive is unpacked in
    assert message.rpartition("--")[2].strip()
    assert int(grown) < MOST_MIB + GOOD_MIB.get(make, 0)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "make", further([hostile.huge_json, hostile.pax_chain, hostile.sparse_raw_pages])
)
def test_each_command_refuses_a_hostile_capture_in_one_line(
    make, command, tmp_path, monkeypatch, run
):
    monkeypatch.chdir(tmp_path)
    path = make(tmp_path)
    said = run(command, path, *COMMANDS[command], code=1)
    assert said.out == ""
    lines = said.err.strip().splitlines()
    assert lines[:-1] in ([], [f"foreread: reading {path}"])  # report says what it does
    assert str(path) in lines[-1]
    assert " -- " in lines[-1]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_survives_a_crash_of_the_reader(command, tmp_path, monkeypatch, run):
    def crash(*_):
        assert os.getpid() != own, "the reader has no process of its own"
        os.kill(os.getpid(), signal.SIGSEGV)

    own = os.getpid()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(load, "interpret", crash)
    path = str(hostile.EXAMPLE)
    message = run(command, path, *COMMANDS[command], code=1).err.strip().splitlines()[-1]
    assert message.startswith(f"foreread: the reader crashed on {path} (SIGSEGV) -- ")


def test_a_command_takes_a_good_capture_under_a_limit_of_memory_of_its_own(tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (2048 * MIB, 2048 * MIB))

    done = subprocess.run(
        [sys.executable, "-m", "foreread", "show", str(hostile.EXAMPLE)],
        capture_output=True,
        preexec_fn=limit,
        cwd=tmp_path,
        timeout=left_s(),
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
