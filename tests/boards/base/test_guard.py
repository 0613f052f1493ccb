"""The guard of a process: what it does when that ends in order, is killed, or was killed itself."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from waiting import wait_until

from foreread.boards.base import guard
from foreread.boards.base.owner import is_alive, start_time

# Its recovery makes a file, one before it fails, and the first one is killed, as for its memory.
MODULE = """
import os, signal
from pathlib import Path
from types import SimpleNamespace
def fails():
    raise ValueError
def recovery():
    path = Path(os.environ["RECOVERED"])
    if not path.exists():
        path.write_text("begun")
        os.kill(os.getpid(), signal.SIGKILL)
    path.write_text("recovered")
"""
# Starts a guard; prints the guard's pid and waits for its input.
PROGRAM = """
import sys, made_for_test
from foreread.boards.base import guard
guard.recovers(made_for_test.fails)
guard.recovers(made_for_test.recovery)
with guard.guarded(), guard.guarded():
    print(guard._Running.pid, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def guarded(tmp_path):
    """A guarded process, its guard's pid, and the file that the recovery makes."""
    path = tmp_path / "recovered"
    (tmp_path / "made_for_test.py").write_text(MODULE)
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([*sys.path, str(tmp_path)]),
            "RECOVERED": str(path),
        },
        start_new_session=True,
    ) as process:
        pid = int(process.stdout.readline())
        wait_until(lambda: guard.is_guard(pid))
        yield process, pid, path
        process.kill()


def test_an_orderly_end_needs_no_recovery(guarded):
    process, pid, path = guarded
    process.communicate(b"")
    assert process.returncode == 0
    assert not guard.is_guard(pid)
    assert not path.exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_recovers_when_the_whole_process_group_is_killed(guarded, number):
    process, pid, path = guarded
    os.kill(pid, signal.SIGTERM)  # it ignores what ends a service
    os.killpg(process.pid, number)
    wait_until(lambda: not guard.is_guard(pid))
    assert path.read_text() == "recovered"


def test_a_killed_guard_is_no_obstacle(guarded):
    process, pid, path = guarded
    os.kill(pid, signal.SIGKILL)
    process.communicate(b"")
    assert process.returncode == 0
    assert not path.exists()


def test_it_keeps_no_descriptor_of_its_parent(guarded):
    # A shell opens another one for a moment, for a redirection.
    wait_until(lambda: open_files(guarded[1]) == ["/dev/null", "/dev/null", "pipe"])


def open_files(pid):
    """Return what the descriptors of a process are, sorted; None if one was closed meanwhile."""
    with suppress(FileNotFoundError):
        return sorted(
            str(one.readlink()).partition(":")[0] for one in Path(f"/proc/{pid}/fd").iterdir()
        )


def test_it_takes_little_memory(guarded):
    status = Path(f"/proc/{guarded[1]}/status").read_text().split()
    own, pythons = (int(words[words.index("VmRSS:") + 1]) for words in (status, own_status()))
    assert own < pythons / 4


def own_status():
    return Path("/proc/self/status").read_text().split()


def test_a_child_that_is_to_die_with_its_parent_does():
    out, into = os.pipe()
    parent = os.fork()
    if parent == 0:
        if os.fork() == 0:
            guard.die_with_parent()
            os.write(into, b"x")
            signal.pause()
        os.read(os.pipe()[0], 1)
    os.close(into)
    assert os.read(out, 1) == b"x"
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    assert os.read(out, 1) == b""  # its end closed the pipe


def test_the_recovery_begins_when_the_owner_is_dead(monkeypatch):
    """A killed process closes its files, and so ends the guard's wait, before it is dead."""
    states = []
    with subprocess.Popen(["sleep", "0.3"]) as owner:
        tag = f"{owner.pid}-{start_time(owner.pid)}"
        recovery = SimpleNamespace(recovery=lambda: states.append(is_alive(tag)))
        monkeypatch.setitem(sys.modules, "recovery_of_this_test", recovery)
        guard.recover(["recovery_of_this_test:recovery"], tag)
    assert states == [False]
