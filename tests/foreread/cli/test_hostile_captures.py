"""Captures made to exhaust the reader, as each command and the library get them."""

import os
import re
import resource
import subprocess
import sys

import hostile_archives as hostile
import pytest

MIB = 1 << 20
MOST_MIB = 512  # beyond what the same process takes for the shipped example
# What a good list of files of the same 60 MB takes (4 times as much).
GOOD_MIB = {hostile.objects_of_files: 229}
COMMANDS = {
    "show": [],
    "predict": [],
    "advise": [],
    "forecast": ["--model", "linux-6.12"],
    "validate": [str(hostile.EXAMPLE).replace("capture.tar.xz", "sweep.json")],
    "report": ["-o", "out"],
    "prefetch": ["-o", "out"],
    "export": ["--format", "chrome", "-o", "out"],
    "script": ["-o", "out"],
}
# The whole job in one process, so that its peak, and that of its reader, can be read afterwards.
CODE = """
import re, resource, sys
import foreread
from foreread.error import ERRORS
def peaks():  # of this process, without its parent's that ru_maxrss has after a fork; of the reader
    with open("/proc/self/status") as file:
        own = int(re.search(r"VmHWM:\\s+([0-9]+) kB", file.read())[1])
    return own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
foreread.load(sys.argv[2])
before = peaks()
try:
    foreread.load(sys.argv[1])
    print("read")
except ERRORS as error:
    print(error, "--", error.remedy)
print(max(one - other for one, other in zip(peaks(), before)) // 1024)
"""


def run(*command, cwd):
    """Run foreread, or Python, without terminal and with an end."""
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("make", hostile.CASES, ids=lambda make: make.__name__)
def test_a_hostile_capture_is_refused_with_little_memory(make, tmp_path):
    path = make(tmp_path)
    done = run("-c", CODE, str(path), str(hostile.EXAMPLE), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    message, grown = done.stdout.splitlines()
    assert re.search(hostile.CASES[make], message), message
    assert str(path) in message
    assert "/foreread-" not in message  # the folder that an archive is unpacked in
    assert message.rpartition("--")[2].strip()
    assert int(grown) < MOST_MIB + GOOD_MIB.get(make, 0)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("make", [hostile.huge_json, hostile.pax_chain, hostile.sparse_raw_pages])
def test_each_command_refuses_a_hostile_capture_in_one_line(make, command, tmp_path):
    path = make(tmp_path)
    done = run("-m", "foreread", command, str(path), *COMMANDS[command], cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert lines[:-1] in ([], [f"foreread: reading {path}"])  # report says what it does
    assert str(path) in lines[-1]
    assert " -- " in lines[-1]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_survives_a_crash_of_the_reader(command, tmp_path):
    code = (
        "import os, signal, sys\n"
        "from analyzer.ingest import load\n"
        "load.interpret = lambda *_: os.kill(os.getpid(), signal.SIGSEGV)\n"
        "from foreread.cli.main import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    path = str(hostile.EXAMPLE)
    done = run("-c", code, command, path, *COMMANDS[command], cwd=tmp_path)
    assert done.returncode == 1
    message = done.stderr.strip().splitlines()[-1]
    assert message.startswith(f"foreread: the reader crashed on {path} (SIGSEGV) -- ")


def test_a_command_takes_a_good_capture_under_a_limit_of_memory_of_its_own(tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (2048 * MIB, 2048 * MIB))

    done = subprocess.run(
        [sys.executable, "-m", "foreread", "show", str(hostile.EXAMPLE)],
        capture_output=True,
        preexec_fn=limit,
        cwd=tmp_path,
        timeout=300,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
