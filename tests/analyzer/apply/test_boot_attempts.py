"""Boots that did not reach boot-done: counted on storage that survives them, by shell."""

from __future__ import annotations

from dataclasses import replace

import pytest
from shells import BASH, BUSYBOX, DASH, each_shell

from foreread.analyzer.apply import ApplyError, ApplyPlan, Disk, Setting, write_scripts

DISK = Disk("mmcblk0", 7_818_182_656, "SD8GB")
WINDOW = "sys/block/mmcblk0/queue/read_ahead_kb"
ATTEMPTS = "etc/foreread-apply.attempts"
KNOBS = (
    Setting("queue/read_ahead_kb", "2048", "why", DISK),
    Setting("queue/nr_requests", "32", "why", DISK),
)
PLAN = ApplyPlan(KNOBS, attempts=2)
ESSENTIAL = pytest.mark.parametrize(
    "board", each_shell(DASH, BUSYBOX, of=(BUSYBOX, DASH, BASH)), indirect=True
)
# Debian's busybox has sync of its own, whatever PATH is.
OTHER_SYNC = pytest.mark.parametrize("board", each_shell(of=(DASH, BASH)), indirect=True)


@pytest.fixture
def counting(board):
    """The board; its plan has no second phase, and a boot that hangs is not repeated."""
    board.path("etc").mkdir()
    board.install(PLAN)
    boot(board, 1)
    return board


def boot(board, number):
    """Begin a boot: the defaults are in force, and what was in memory is gone."""
    board.put("proc/sys/kernel/random/boot_id", f"boot-{number}")
    board.put(WINDOW, "128")
    board.put("sys/block/mmcblk0/queue/nr_requests", "64")
    for path in board.path("run").iterdir():
        path.unlink()


def values(board):
    return board.window, board.get("sys/block/mmcblk0/queue/nr_requests")


def attempts(board):
    """Return how many boots in a row began and did not end, and the last of them."""
    count, last, _ = board.get(ATTEMPTS).split()
    return int(count), last


@ESSENTIAL
def test_third_boot_leaves_the_defaults_until_reset(counting):
    for number in (1, 2):
        boot(counting, number)
        counting.start()
        assert values(counting) == ("2048", "32")
    assert attempts(counting) == (2, "boot-2")
    for number in (3, 4):
        boot(counting, number)
        counting.start()
        assert values(counting) == ("128", "64")
        log = counting.get("dev/kmsg")
        assert "<4>foreread: 2 of 2 boots in a row did not reach boot-done" in log
        assert log.endswith("the defaults stay; to try again: foreread-apply reset")
        assert counting.run("boot-done").returncode == 0
        assert values(counting) == ("128", "64")
        status = counting.run("status")
        assert status.returncode == 3
        assert "2 of 2 boots in a row did not reach boot-done" in status.stdout
        assert "to try again: foreread-apply reset" in status.stdout
    assert counting.run("reset").returncode == 0
    counting.start()
    assert values(counting) == ("2048", "32")
    for number in (5, 6, 7, 8):
        boot(counting, number)
        counting.start()
        assert values(counting) == ("2048", "32")
        counting.run("boot-done")


def test_one_boot_that_ended_early_is_forgotten_by_the_next_that_does_not(counting):
    for number in range(1, 7):
        boot(counting, number)
        counting.start()
        assert values(counting) == ("2048", "32"), number
        if number % 2:
            assert "1 of 2 boots" not in counting.err
        else:
            assert "1 of 2 boots in a row did not reach boot-done" in counting.err
            counting.run("boot-done")
            assert attempts(counting) == (0, f"boot-{number}")


@OTHER_SYNC
def test_mark_is_durable_before_the_first_setting(counting, tmp_path):
    order = tmp_path / "order"
    bin_directory = tmp_path / "bin"
    bin_directory.mkdir()
    sync = bin_directory / "sync"
    sync.write_text(f'#!/bin/sh\n{{ cat "$1"; cat {counting.path(WINDOW)}; }} >>{order}\n')
    sync.chmod(0o755)
    counting.run("start", PATH=f"{bin_directory}:/usr/bin:/bin")
    assert order.read_text().split()[:2] == ["1", "boot-1"]
    assert order.read_text().split()[-1] == "128"
    assert values(counting) == ("2048", "32")


@pytest.mark.parametrize("again", ["start", "restart", "reload"])
def test_a_second_start_of_a_boot_is_the_same_attempt(counting, again):
    counting.start()
    counting.run(again)
    assert attempts(counting) == (1, "boot-1")
    counting.run("boot-done")
    counting.run(again)
    counting.run("stop")
    counting.start()
    assert attempts(counting) == (0, "boot-1")
    assert values(counting) == ("2048", "32")


def test_boots_with_other_settings_do_not_count(counting):
    for number in (1, 2):
        boot(counting, number)
        counting.start()
    counting.install(replace(PLAN, settings=(replace(KNOBS[0], value="512"), KNOBS[1])))
    boot(counting, 3)
    counting.start()
    assert values(counting) == ("512", "32")


@ESSENTIAL
@pytest.mark.parametrize("why", ["read-only", "no folder", "no boot id"])
def test_without_a_mark_only_windows_are_set_before_boot_done(counting, why):
    """A mount or a scheduler can hang a boot; a window cannot."""
    if why == "read-only":
        counting.path(ATTEMPTS).mkdir()
    elif why == "no folder":
        counting.path("etc").rmdir()
    else:
        counting.path("proc/sys/kernel/random/boot_id").unlink()
    counting.start()
    assert values(counting) == ("2048", "64")
    assert "only readahead windows, which cannot hang a boot" in counting.err
    assert "--state-dir" in counting.err
    assert counting.run("boot-done").returncode == 0
    assert values(counting) == ("2048", "32")
    assert counting.run("stop").returncode == 0
    assert values(counting) == ("128", "64")


@OTHER_SYNC
def test_without_sync_the_mark_is_not_trusted(counting):
    assert counting.run("start", PATH="/nonexistent").returncode == 0
    assert values(counting) == ("2048", "64")
    assert "only readahead windows" in counting.err


@ESSENTIAL
@pytest.mark.parametrize(
    "line",
    ["", "2", "2 b", "2 b other", "x b {id}", "-1 b {id}", "999 b {id}", "\0\xff", "9" * 5000],
)
def test_damaged_marks_never_fail_the_boot(counting, line):
    identifier = counting.path("out/foreread-apply").read_text().split("settings_id='")[1][:12]
    counting.path(ATTEMPTS).write_text(line.format(id=identifier))
    counting.start()
    assert values(counting) == ("2048", "32")
    assert attempts(counting) == (1, "boot-1")
    counting.run("boot-done")
    assert attempts(counting) == (0, "boot-1")


@pytest.mark.parametrize("why", ["off", "other board"])
def test_no_attempt_where_nothing_is_set(counting, why):
    if why == "off":
        counting.put("proc/cmdline", "foreread=off")
    else:
        counting.install(replace(PLAN, board=replace(PLAN.board, kernel="5.10")))
    counting.start()
    assert not counting.path(ATTEMPTS).exists()
    counting.run("boot-done")
    assert not counting.path(ATTEMPTS).exists()


def test_stop_before_boot_done_still_ends_the_attempt(counting):
    counting.start()
    counting.run("stop")
    counting.run("boot-done")
    assert attempts(counting) == (0, "boot-1")
    assert values(counting) == ("128", "64")


def test_a_boot_is_counted_in_the_folder_that_was_chosen(board):
    board.path("etc").mkdir()
    board.path("data").mkdir()
    board.install(replace(PLAN, state_dir="/data/"))
    script = board.path("out/foreread-apply")
    script.write_text(script.read_text().replace("'/data/", f"'{board.root}/data/"))
    board.put("proc/sys/kernel/random/boot_id", "1")
    board.put("sys/block/mmcblk0/queue/nr_requests", "64")
    board.start()
    assert board.path("data/foreread-apply.attempts").exists()
    assert not board.path(ATTEMPTS).exists()


def test_without_attempts_the_script_writes_to_memory_only(board):
    board.path("etc").mkdir()
    board.install(replace(PLAN, attempts=0))
    board.put("sys/block/mmcblk0/queue/nr_requests", "64")
    board.start()
    assert values(board) == ("2048", "32")
    assert not board.path(ATTEMPTS).exists()
    assert board.run("reset").returncode == 2
    assert 'sync "$' not in board.path("out/foreread-apply").read_text()


@pytest.mark.parametrize("folder", ["data", "/da ta", "/a/../b", "/", "", "/'", "/a\n"])
def test_a_folder_that_is_not_plain_is_refused(tmp_path, folder):
    with pytest.raises(ApplyError, match="not an absolute path") as error:
        write_scripts(replace(PLAN, state_dir=folder), tmp_path)
    assert "/data" in error.value.remedy


@pytest.mark.parametrize("attempts", [-1, 100])
def test_attempts_that_cannot_be_counted_are_refused(tmp_path, attempts):
    with pytest.raises(ApplyError, match="negative, or above 99"):
        write_scripts(replace(PLAN, attempts=attempts), tmp_path)
