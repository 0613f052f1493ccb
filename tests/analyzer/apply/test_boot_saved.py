"""What the boot script saves before it sets anything, and how stop finds its disk again."""

from __future__ import annotations

import fcntl
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from shells import BASH, BUSYBOX, DASH, each_shell
from waiting import wait_until

from foreread.analyzer.apply import ApplyPlan, Disk, Setting

QUEUE = "queue/read_ahead_kb"
WINDOW = f"sys/block/mmcblk0/{QUEUE}"
SAVED = "run/foreread.saved"
SECTORS = 7_818_182_656 // 512
ESSENTIAL = pytest.mark.parametrize(
    "board", each_shell(DASH, BUSYBOX, of=(BUSYBOX, DASH, BASH)), indirect=True
)


def window(board, disk):
    return board.get(f"sys/block/{disk}/{QUEUE}")


def rename(board, old="mmcblk0", new="mmcblk1"):
    board.path(f"sys/block/{old}").rename(board.path(f"sys/block/{new}"))


# ---- whole or not at all ----


@pytest.mark.parametrize("board", each_shell(of=(BUSYBOX, DASH, BASH)), indirect=True)
@pytest.mark.parametrize("lines", range(1, 8))
def test_start_that_was_killed_while_it_saved_has_set_nothing_and_is_forgotten(board, lines):
    """A file that ends anywhere before its last line, as a crash leaves it."""
    board.start()
    text = board.path(SAVED).read_text()
    whole = text.splitlines(keepends=True)
    assert len(whole) < 9
    board.put(WINDOW, "100")
    for cut in ("".join(whole[:lines])[:-3], "".join(whole[:lines])):
        if len(whole) <= lines and cut == text:
            continue
        board.path(SAVED).write_text(cut)
        assert board.run("status").returncode == 3
        assert board.run("stop").returncode == 0
        assert window(board, "mmcblk0") == "100"
        board.path(SAVED).write_text(cut)
        board.start()
        assert window(board, "mmcblk0") == "2048"
        assert board.run("stop").returncode == 0
        assert window(board, "mmcblk0") == "100", "what the whole section says"
        assert not list(board.path("run").iterdir())


def test_second_start_saves_what_the_first_could_not_read(board):
    away = board.path("sys/block/mmcblk0/queue/away")
    plan = ApplyPlan(
        (
            Setting("queue/scheduler", "none", "why", Disk("mmcblk0")),
            Setting(QUEUE, "2048", "why", Disk("mmcblk0")),
        )
    )
    board.install(plan)
    board.path(WINDOW).rename(away)
    board.start()
    away.rename(board.path(WINDOW))
    board.start()
    assert window(board, "mmcblk0") == "2048"
    assert board.path(SAVED).read_text().count("\nend ") == 2
    assert board.run("stop").returncode == 0
    assert window(board, "mmcblk0") == "128"


# ---- the disk is found again ----


@ESSENTIAL
def test_disk_renamed_between_start_and_stop_is_restored(board):
    board.start()
    rename(board)
    assert board.run("stop").returncode == 0
    assert window(board, "mmcblk1") == "128"
    assert "mmcblk1/queue/read_ahead_kb: 2048 -> 128" in board.err
    assert not list(board.path("run").iterdir())


@ESSENTIAL
def test_names_swapped_between_start_and_stop(board):
    board.start()
    rename(board)
    board.add_disk("mmcblk0", sectors=1000, model="EMMC")
    board.put(WINDOW, "64")
    assert board.run("stop").returncode == 0
    assert window(board, "mmcblk1") == "128"
    assert window(board, "mmcblk0") == "64", "another disk"


@ESSENTIAL
def test_old_values_of_an_absent_disk_are_kept_until_it_is_back(board):
    board.start()
    rename(board, new="../unplugged")
    assert board.run("stop").returncode == 1
    assert "(no disk like mmcblk0 " in board.err
    assert "foreread-apply restore" in board.err
    status = board.run("status")
    assert status.returncode == 3
    assert "could not put everything back" in status.stdout
    assert board.run("boot-done").returncode == 0, "stopped: nothing set"
    assert board.run("stop").returncode == 1
    rename(board, "../unplugged", "mmcblk3")
    assert board.run("restore").returncode == 0
    assert window(board, "mmcblk3") == "128"
    assert not list(board.path("run").iterdir())


def test_start_after_a_stop_that_kept_values_restores_the_first_ones(board):
    board.start()
    rename(board, new="../unplugged")
    board.run("stop")
    rename(board, "../unplugged", "mmcblk0")
    board.start()
    assert board.run("status").returncode == 0
    assert board.run("stop").returncode == 0
    assert window(board, "mmcblk0") == "128"


def test_only_what_failed_is_kept(board):
    board.install(
        ApplyPlan(
            (
                Setting("queue/scheduler", "none", "why", Disk("mmcblk0")),
                Setting(QUEUE, "2048", "why", Disk("mmcblk0")),
            )
        )
    )
    board.put("sys/block/mmcblk0/queue/scheduler", "mq-deadline")
    board.start()
    board.path("sys/block/mmcblk0/queue/scheduler").unlink()  # its module is gone
    assert board.run("stop").returncode == 1
    assert window(board, "mmcblk0") == "128"
    board.put(WINDOW, "77")
    board.put("sys/block/mmcblk0/queue/scheduler", "none")
    assert board.run("restore").returncode == 0
    assert board.get("sys/block/mmcblk0/queue/scheduler") == "mq-deadline"
    assert window(board, "mmcblk0") == "77", "it was put back already"


def test_two_disks_that_look_like_it_are_left_alone(board):
    board.start()
    rename(board)
    board.add_disk("mmcblk2", sectors=SECTORS, model="SD8GB")
    board.put(f"sys/block/mmcblk2/{QUEUE}", "64")
    assert board.run("stop").returncode == 1
    assert "(one of " in board.err
    assert window(board, "mmcblk1") == "2048"
    assert window(board, "mmcblk2") == "64"


@pytest.mark.parametrize("sectors", ["9", "0"])
def test_disk_that_has_grown_or_lost_its_medium_is_restored_if_forced(board, sectors):
    board.start()
    board.put("sys/block/mmcblk0/size", sectors)
    assert board.run("stop").returncode == 1
    assert window(board, "mmcblk0") == "2048"
    assert board.run("restore", "force").returncode == 0
    assert window(board, "mmcblk0") == "128"
    assert not list(board.path("run").iterdir())


# ---- one at a time ----


@contextmanager
def locked(board):
    """Hold the lock of the board's script, as a run of it does."""
    folder = os.open(board.path("run"), os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


@pytest.mark.thorough
@ESSENTIAL
def test_start_goes_on_with_the_boot_if_another_run_never_ends(board):
    with locked(board):
        board.start()
        assert window(board, "mmcblk0") == "128"
        assert "another foreread-apply is at work: nothing set" in board.err
        assert board.run("stop").returncode == 1
        assert "try again later" in board.err
        assert board.run("status").returncode == 3, "a look needs no lock"
    board.start()
    assert window(board, "mmcblk0") == "2048"


def test_start_waits_for_a_run_that_ends(board):
    with ThreadPoolExecutor() as pool:
        with locked(board):
            started = pool.submit(board.start)
            wait_until(lambda: waits_for_lock(board))
            assert window(board, "mmcblk0") == "128"
        started.result()
    assert window(board, "mmcblk0") == "2048"


def waits_for_lock(board):
    """Return whether a process below the test has the folder of the lock open."""
    folder = board.path("run")
    for link in Path("/proc").glob("[0-9]*/fd/9"):
        with suppress(OSError):
            if link.readlink() == folder:
                return True
    return False
