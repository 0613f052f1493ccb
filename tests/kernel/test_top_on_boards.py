"""`foreread top` on an emulated board: its figures, its cost in guest time, and a lost host."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from waiting import wait_until

from foreread.boards.emulated.image import SAMPLE
from foreread.boards.emulated.live import EmulatedTarget, LiveOptions, running, start
from foreread.machine.reading_now import reading_now
from foreread.tracer.remote.top import top_of

pytestmark = [pytest.mark.boards, pytest.mark.thorough]

# Prints the guest microseconds of a fixed number of instructions.
LOOP = """
clock=/sys/module/slowdisk/parameters/now_ns i=0
read -r a <$clock; while [ $i -lt 200000 ]; do i=$((i+1)); done; read -r b <$clock
echo $(((b - a) / 1000))
"""
START = f"sync; echo 3 >/proc/sys/vm/drop_caches; madplay -Q -o null: -t 1 /{SAMPLE}"
INTERVAL_S = 2.0


def loop(target):
    return int(target.run(["sh", "-c", LOOP]).stdout)


@pytest.fixture(scope="module")
def board():
    with EmulatedTarget(LiveOptions("x86_64", kernel="6.12")) as target:
        yield target


def test_each_page_of_a_cold_start_is_counted_and_explained(board):
    with reading_now(board, INTERVAL_S, search=True) as view:
        assert board.run(["sh", "-c", START]).status == 0
        view.next()
        found = view.next(last=True)
    names = {one.name: one for one in found.files}
    assert names["/usr/bin/madplay"].hits + names["/usr/bin/madplay"].missed > 0
    assert found.lost == 0
    assert found.explained / found.read > 0.95
    assert "madplay" in {one.name for one in found.processes}


def test_watching_costs_at_most_two_percent_of_the_processor(board, capsys):
    without = min(loop(board) for _ in range(2))
    figures = []
    with top_of(board, 60.0, 512) as top:
        thread = threading.Thread(target=lambda: figures.append(loop(board)))
        thread.start()
        takes = 0
        while thread.is_alive():
            top.take(60.0)
            takes += 1
        thread.join()
    cost_s = (figures[0] - without) / 1e6 / takes
    with capsys.disabled():
        print(f"\n  {1e3 * cost_s:.1f} ms of the board for each look, every {INTERVAL_S} s", end="")
    assert cost_s / INTERVAL_S <= 0.02


def test_a_board_whose_host_is_killed_removes_the_trace(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    live = start(LiveOptions("x86_64", kernel="6.12"), "watched")
    try:
        words = ["top", "--target", "watched", "--interval", "1", "--json"]
        command = [sys.executable, "-m", "foreread", *words]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
        assert json.loads(process.stdout.readline())["page_size"] == 4096
        with live.target() as target:
            look = ["sh", "-c", "ls /sys/kernel/tracing/instances /run; cat /proc/mounts"]
            assert b"foreread-" in target.run(look).stdout
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            wait_until(lambda: b"foreread-" not in target.run(look).stdout)
    finally:
        for board in running():
            board.stop()
