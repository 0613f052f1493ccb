"""The boot script with a prefetch list: what it starts in the background, and ends, by shell."""

from __future__ import annotations

from pathlib import Path

import pytest
from waiting import wait_until

from foreread.analyzer.apply import ApplyPlan, Board, Disk, Prefetch, Setting

PLAN = ApplyPlan(
    (Setting("queue/read_ahead_kb", "2048", "best", Disk("mmcblk0", 7_818_182_656, "SD8GB")),),
    Board("armv7l", "6.1", "Some Board 3"),
    prefetch=Prefetch(b"foreread-prefetch 1\n0 1 /app\n", b"#!/bin/sh\n"),
)


@pytest.fixture
def prefetching(board):
    """The board; its replayer writes down how it was called, and stays."""
    replayer, listing = board.root / "out/foreread-prefetch", board.root / "out/list"
    called = f'#!/bin/sh\nexec 2>&1\necho "$*" >{board.root}/called\nwhile :; do sleep 0.05; done\n'
    board.install(PLAN)
    replayer.write_text(called)
    listing.write_text("")
    script = board.root / "out/foreread-apply"
    text = script.read_text().replace("'/usr/sbin/foreread-prefetch'", f"'{replayer}'")
    script.write_text(text.replace("'/etc/foreread-prefetch.list'", f"'{listing}'"))
    board.replayer, board.listing = replayer, listing
    yield board
    board.run("stop")


def process(board):
    """Return the replayer's directory in /proc; the script sees it on its own board."""
    number = board.get("run/foreread.prefetching")
    link = board.path(f"proc/{number}")
    link.symlink_to(f"/proc/{number}")
    return link


def is_alive(link):
    try:
        state = (link / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_start_replays_the_list_and_sets_the_values_without_waiting(prefetching):
    prefetching.start()
    assert prefetching.window == "2048"
    called = prefetching.path("called")
    wait_until(lambda: called.exists() and called.read_text() == f"{prefetching.listing}\n")
    link = process(prefetching)
    assert is_alive(link)
    assert prefetching.run("stop").returncode == 0
    assert prefetching.window == "128"
    wait_until(lambda: not is_alive(link))
    assert not list(prefetching.path("run").iterdir())


def test_a_process_with_a_reused_pid_is_left_alone(prefetching):
    prefetching.start()
    wait_until(prefetching.path("called").exists)
    link = process(prefetching)
    number = link.name
    link.unlink()
    link.mkdir()
    (link / "cmdline").write_bytes(b"/bin/sh\0/usr/sbin/other\0")
    prefetching.run("restore")
    assert prefetching.window == "128"
    assert is_alive(Path("/proc", number))
    prefetching.put("run/foreread.prefetching", "x; reboot")
    assert prefetching.run("stop").returncode == 0
    (link / "cmdline").unlink()
    link.rmdir()
    prefetching.put("run/foreread.prefetching", number)
    process(prefetching)


@pytest.mark.parametrize("why", ["off", "other board"])
def test_nothing_is_prefetched_where_nothing_is_set(prefetching, why):
    if why == "off":
        prefetching.put("proc/cmdline", "quiet foreread=off")
    else:
        prefetching.put("proc/sys/kernel/osrelease", "5.10.1")
    prefetching.start()
    assert prefetching.window == "128"
    assert not prefetching.path("called").exists()
    assert not prefetching.path("run/foreread.prefetching").exists()


@pytest.mark.parametrize("missing", ["replayer", "listing"])
def test_missing_prefetch_files_are_reported_and_values_set(prefetching, missing):
    getattr(prefetching, missing).unlink()
    prefetching.start()
    assert prefetching.window == "2048"
    assert "absent, nothing prefetched" in prefetching.err


def test_dry_run_announces_but_does_not_change(prefetching):
    done = prefetching.run("dry-run")
    assert done.returncode == 0
    assert f"{prefetching.listing}: brought into memory by {prefetching.replayer}" in done.stdout
    assert not prefetching.path("called").exists()
