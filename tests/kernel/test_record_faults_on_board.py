"""Faults of a board while it is recorded: it restarts, it hangs, its clock is wrong.

On a real kernel in QEMU; the window must be the board's own again whatever happened.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading

import pytest
from waiting import wait_until

from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.boards.emulated.state import PROCESS
from foreread.boards.target import TargetError
from foreread.tracer.error import RecordError
from foreread.tracer.remote.record import record_on
from foreread.tracer.runs.options import Ending, RunOptions
from foreread.tracer.runs.recording import RecordOptions

pytestmark = pytest.mark.boards

KNOB = "/sys/block/slow0/queue/read_ahead_kb"
DEFAULT_KB = "128"


@pytest.fixture
def board():
    with EmulatedTarget(LiveOptions("arm64", rtc="1970-01-01")) as target:
        yield target


def record_until_ended(target, output):
    """Record a command that runs for as long as nothing happens to it."""
    run = RunOptions(["sleep", "100000"], ending=Ending(duration_s=3600.0))
    return record_on(target, RecordOptions(run), output)


def once_recording(target, then):
    """Do ``then`` as soon as the board's window says that a recording has begun."""

    def watch():
        with target.board.target() as second:
            wait_until(lambda: second.read_knob(KNOB) != DEFAULT_KB)
            then()

    watcher = threading.Thread(target=watch)
    watcher.start()
    return watcher


def has_default(target):
    """Return whether the window is put back; a board that is away does not say so."""
    with contextlib.suppress(TargetError):
        return target.read_knob(KNOB) == DEFAULT_KB


def nothing_is_left(target):
    leftovers = "ls -d /run/foreread* /sys/kernel/tracing/instances/* 2>/dev/null"
    with contextlib.suppress(TargetError):
        return target.run(["sh", "-c", leftovers]).stdout == b""


def test_a_clock_of_1970_does_not_matter(board, tmp_path):
    capture = record_on(board, RecordOptions(RunOptions(["madplay", "--version"])), tmp_path / "c")
    assert board.run(["date", "+%Y"]).stdout == b"1970\n"
    assert capture.created > "2026"
    assert capture.start_ns < capture.end_ns
    assert capture.cold.proven
    assert board.read_knob(KNOB) == DEFAULT_KB


def test_a_board_that_restarts_in_the_middle(board, tmp_path):
    restart = ["sh", "-c", "(sleep 1; reboot -f) </dev/null >/dev/null 2>&1 &"]  # after the answer
    watcher = once_recording(board, lambda: board.board.target().run(restart))
    with pytest.raises(RecordError) as error:
        record_until_ended(board, tmp_path / "c")
    watcher.join()
    assert error.value.remedy
    assert not (tmp_path / "c").exists()
    wait_until(lambda: has_default(board))
    assert nothing_is_left(board)


def test_a_board_that_hangs_is_an_error_that_names_the_step(board, tmp_path):
    qemu = int((board.board.folder / PROCESS).read_text().split()[0])
    watcher = once_recording(board, lambda: os.kill(qemu, signal.SIGSTOP))
    try:
        with pytest.raises(RecordError, match=r"running the command.*guard"):
            record_until_ended(board, tmp_path / "c")
    finally:
        watcher.join()
        os.kill(qemu, signal.SIGCONT)
    assert not (tmp_path / "c").exists()
    # It was the host that was lost, as the board sees it: the guard puts everything back.
    wait_until(lambda: has_default(board))
    wait_until(lambda: nothing_is_left(board))
