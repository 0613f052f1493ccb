"""The boot script on a real disk, killed (-9) at each of its system calls that could matter.

strace kills the shell as it enters the call. Whatever was done by then, stop restores the disk, and
nobody waits for the lock of the killed shell.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from loop_board import LoopBoard, loop_device
from rings import further
from shells import BUSYBOX, DASH, each_shell
from waiting import left_s

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(
        os.geteuid() != 0 or not Path("/dev/loop-control").exists(),
        reason="needs root and loop devices: the boot script was not run on a real disk",
    ),
    pytest.mark.skipif(
        shutil.which("strace") is None,
        reason="no strace: the boot script was not killed at its system calls",
    ),
]
# What changes a file, or starts a process that does. A shell opens what it reads, too.
CALLS = "openat,write,clone,clone3,vfork,wait4"
FIRST = {"start": (), "boot-done": ("start",), "stop": ("start",), "restart": ("start",)}
WINDOWS = (("read_ahead_kb", "2048"), ("read_ahead_kb", "512", "after"))
ALL = (("scheduler", "mq-deadline"), ("nr_requests", "32"), *WINDOWS)
CASES = [*((verb, ALL, step) for step in (11, 1) for verb in FIRST), ("start", WINDOWS, 1)]
MOST_CALLS = 10_000


@pytest.fixture(params=each_shell(DASH, of=(BUSYBOX, DASH)))
def board(request, tmp_path):
    with loop_device(tmp_path / "image") as loop:
        board = LoopBoard(tmp_path, request.param, loop)
        offered = (board.queue / "scheduler").read_text()
        if "mq-deadline" not in offered:
            pytest.skip("this kernel offers no mq-deadline: no scheduler was changed")
        yield board


def killed_at(board, verb, number):
    """Run the script and kill it at a call; False if it ended before."""
    inject = f"inject={CALLS}:signal=KILL:when={number}"
    strace = ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={CALLS}", "-e", inject]
    done = subprocess.run(
        [*strace, *board.words(verb)],
        env={**os.environ, "INVOCATION_ID": "test"},
        capture_output=True,
        check=False,
        timeout=left_s(),
    )
    assert done.returncode in (0, -signal.SIGKILL, 128 + signal.SIGKILL), done
    return done.returncode != 0


@pytest.mark.parametrize(("verb", "knobs", "step"), further(CASES, [("start", ALL, 11)]))
def test_whatever_call_it_is_killed_at_stop_restores_the_disk(board, verb, knobs, step, capsys):
    chosen = [board.setting(*knob) for knob in knobs]
    board.install(*chosen, attempts=2, state_dir=str(board.directory))
    before = board.values()
    attempts = board.directory / "foreread-apply.attempts"
    kills = changed = 0
    for number in range(1, MOST_CALLS, step):
        attempts.unlink(missing_ok=True)
        for earlier in FIRST[verb]:
            assert board.run(earlier).returncode == 0
        if not killed_at(board, verb, number):
            break
        kills += 1
        changed += board.values() != before
        marks = attempts.read_text().split("\n") if attempts.exists() else []
        assert len([line for line in marks if line]) <= 1, number
        stopped = board.run("stop")
        assert stopped.returncode == 0, (number, stopped.stderr)
        assert board.values() == before, (number, stopped.stderr)
        assert not list(board.run_directory.iterdir()), number
    else:
        pytest.fail(f"the script has not ended after {MOST_CALLS} calls")
    assert board.run("stop").returncode == 0
    with capsys.disabled():
        print(f"\n  {verb}: killed at {kills} calls, {changed} with changed values", end="")
    assert kills >= 20 // step
    assert changed
