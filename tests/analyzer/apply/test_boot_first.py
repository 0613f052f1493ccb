"""A first start needs only the beginning of the script; what is not as expected needs the rest."""

from __future__ import annotations

import os
import subprocess

import pytest
from shells import BASH, BUSYBOX, DASH, each_shell

from analyzer.apply import ApplyPlan, Board, Disk, Setting

DISK = Disk("mmcblk0", 7_818_182_656, "SD8GB")
PLAN = ApplyPlan(
    settings=(
        Setting("queue/read_ahead_kb", "2048", "predicted best", DISK),
        Setting("queue/read_ahead_kb", "512", "asked for", DISK, "after"),
    ),
    board=Board("armv7l", "6.1", "Some Board 3"),
    created_from="a run of app",
    attempts=2,
)
WINDOW = "sys/block/mmcblk0/queue/read_ahead_kb"
REST = "# ---- Every other start"
NEEDED = 9  # the exit status of a script without its rest
SHELLS = pytest.mark.parametrize(
    "board", each_shell(DASH, BUSYBOX, of=(BUSYBOX, DASH, BASH)), indirect=True
)


@pytest.fixture
def first(board):
    """A board whose script ends where the rest would begin."""
    board.put("proc/sys/kernel/random/boot_id", "b1")
    board.install(PLAN)
    board.path("etc").mkdir()
    script = board.path("out/foreread-apply")
    whole = script.read_text()
    beginning, mark, _ = whole.partition(REST)
    assert mark
    script.write_text(f"{beginning}\ntrap - EXIT\nexit {NEEDED}\n")
    board.whole = whole
    return board


@SHELLS
def test_first_start_needs_only_the_beginning(first):
    assert first.run("start").returncode == 0
    assert first.window == "2048"
    assert "read_ahead_kb: 128 -> 2048" in first.err
    assert first.path("etc/foreread-apply.attempts").read_text().startswith("\nattempt b1 ")
    first.path("out/foreread-apply").write_text(first.whole)
    assert first.run("status").returncode == 0
    assert first.run("boot-done").returncode == 0
    assert first.window == "512"
    assert first.run("stop").returncode == 0
    assert first.window == "128"
    assert not list(first.path("run").iterdir())


def other_release(board):
    board.put("proc/sys/kernel/osrelease", "5.10")


def other_machine(board):
    board.put("proc/sys/kernel/arch", "riscv64")


def other_disk(board):
    board.put("sys/block/mmcblk0/size", "9")


def forced(board):
    board.put("proc/cmdline", "foreread=force")


def off(board):
    board.put("proc/cmdline", "quiet foreread=off")


def saved(board):
    board.put("run/foreread.saved", "begin b1")


def lock_of_another(board):
    board.put(f"run/foreread.lock.{os.getpid()}.0", "b1")


def boot_that_did_not_end(board):
    board.put("etc/foreread-apply.attempts", "reached b0\n\nattempt b0.5 x")


def reached_already(board):
    board.put("etc/foreread-apply.attempts", "reached b1")


def strange_window(board):
    board.put(WINDOW, "-1")


@SHELLS
@pytest.mark.parametrize(
    "change",
    [
        other_release,
        other_machine,
        other_disk,
        forced,
        off,
        saved,
        lock_of_another,
        boot_that_did_not_end,
        reached_already,
        strange_window,
    ],
)
def test_what_is_not_as_expected_changes_nothing_before_the_rest(first, change):
    change(first)
    before = {path: path.read_text() for path in first.path("run").iterdir()}
    window = first.window
    assert first.run("start").returncode == NEEDED
    assert first.window == window
    now = {path: path.read_text() for path in first.path("run").iterdir()}
    left = {path.name: text for path, text in now.items() if before.get(path) != text}
    assert set(left.values()) <= {""}, "only a lock that was given back"


def test_first_start_after_a_boot_that_ended_needs_only_the_beginning(first):
    first.put("etc/foreread-apply.attempts", "reached b0")
    assert first.run("start").returncode == 0
    assert first.get("etc/foreread-apply.attempts").startswith("reached b0\n\nattempt b1 ")


def test_other_settings_than_windows_need_the_rest(board):
    disk = Disk("mmcblk0")
    board.install(ApplyPlan((Setting("queue/scheduler", "kyber", "why", disk),)))
    assert "first_start" not in board.path("out/foreread-apply").read_text().split(REST)[0]


@pytest.mark.parametrize("board", each_shell(), indirect=True)
@pytest.mark.parametrize("lives", [True, False])
def test_lock_of_a_first_start_counts_while_it_lives(board, lives):
    with subprocess.Popen(["sleep", "60"]) as process:
        if not lives:
            process.kill()
            process.wait()
        board.put(f"run/foreread.lock.{process.pid}.boot", "held")
        board.start()
        process.kill()
    assert board.window == ("128" if lives else "2048")


@pytest.mark.parametrize(
    ("words", "lives"),
    [(b"/bin/sh\0/etc/init.d/S05foreread\0start\0", True), (b"sleep\x0060\0", False), (b"", False)],
)
def test_a_first_start_is_known_by_its_command_line(board, words, lives):
    """Its PID may be another's by now, or a zombie's, which has none."""
    board.put("proc/self/stat", "")
    board.put("proc/4321/cmdline", "")
    board.path("proc/4321/cmdline").write_bytes(words)
    board.put("run/foreread.lock.4321.boot", "held")
    board.start()
    assert board.window == ("128" if lives else "2048")
