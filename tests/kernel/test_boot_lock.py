"""Two runs of the boot script at once on a real disk: one waits for the other."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import pytest
from loop_board import LoopBoard, loop_device
from property_tests import examples
from rings import further
from shells import BASH, BUSYBOX, DASH, each_shell
from waiting import left_s

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(
        os.geteuid() != 0 or not Path("/dev/loop-control").exists(),
        reason="needs root and loop devices: the boot script was not run on a real disk",
    ),
]
ROUNDS = examples(40)  # without a lock, more than a third of them left a change
VERBS = [
    ("start", "stop"),
    ("start", "restart"),
    ("start", "start"),
    ("restart", "boot-done"),
    ("stop", "restore", "start", "restart", "boot-done"),
]


@pytest.fixture(params=each_shell(of=(BUSYBOX, DASH, BASH)))
def board(request, tmp_path):
    with loop_device(tmp_path / "image") as loop:
        board = LoopBoard(tmp_path, request.param, loop)
        offered = (board.queue / "scheduler").read_text()
        if "mq-deadline" not in offered or "[none]" not in offered:
            pytest.skip("this kernel offers no mq-deadline: no scheduler was changed")
        board.install(
            board.setting("scheduler", "mq-deadline"),
            board.setting("nr_requests", "32"),
            board.setting("read_ahead_kb", "2048"),
            board.setting("read_ahead_kb", "512", "after"),
        )
        yield board


@pytest.mark.parametrize(
    ("verbs", "windows_only"),
    further(product(VERBS, (False, True)), [(VERBS[0], False)]),
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else None,
)
def test_runs_at_the_same_time_leave_nothing_changed(board, verbs, windows_only):
    if windows_only:  # whose first start has a lock file of its own kind
        board.install(
            board.setting("read_ahead_kb", "2048"), board.setting("read_ahead_kb", "512", "after")
        )
    before = board.values()
    changed = []
    for number in range(ROUNDS):
        order = verbs if number % 2 else verbs[::-1]
        runs = [board.begin(verb) for verb in order]
        said = [run.communicate(timeout=left_s())[1] for run in runs]
        assert not any(run.returncode for run in runs), said
        stopped = board.run("stop")
        if stopped.returncode or board.values() != before:
            changed.append((number, said, stopped.stderr))
            for knob, value in before.items():
                choice = value.split("[")[-1].split("]")[0] if "[" in value else value
                (board.queue / knob).write_text(choice)
            for file in board.run_directory.iterdir():
                file.unlink()
        assert not list(board.run_directory.iterdir())
    assert not changed, f"{len(changed)} of {ROUNDS}"
