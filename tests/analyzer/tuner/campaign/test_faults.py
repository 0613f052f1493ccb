"""Campaigns that are killed, interrupted, run twice at once, or run out of disk: real processes."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import tuning
import tuning_process
from waiting import wait_until

from foreread.analyzer.tuner.campaign.campaign import Campaign, Rules
from foreread.analyzer.tuner.store.store import Store, StoreError

PROGRAM = Path(tuning_process.__file__)
ROOT = Path(__file__).parents[4]
MADE = 4


def start(*words):
    paths = os.pathsep.join([str(ROOT), str(PROGRAM.parent)])
    command = [sys.executable, str(PROGRAM), *map(str, words)]
    pipe = subprocess.PIPE
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)


@pytest.fixture
def running(tmp_path):
    """A campaign in another process that has made some attempts, and its store."""
    path = tmp_path / "board.tuning"
    process = start("run", path, MADE)
    calls = path.with_suffix(".calls")

    def has_called():
        assert process.poll() is None, process.communicate()
        return calls.exists() and calls.stat().st_size == MADE

    wait_until(has_called)
    yield path, process
    process.kill()
    process.communicate()


def whole(tmp_path):
    tuning_process.run(tmp_path / "whole.tuning")
    return tuning_process.held(tmp_path / "whole.tuning")


@pytest.mark.parametrize("number", [10, pytest.param(100, marks=pytest.mark.thorough)])
def test_killed_a_hundred_times_nothing_is_lost_and_the_result_is_the_same(tmp_path, number):
    """The program asserts it after every kill, and compares each campaign with an unkilled one."""
    program = start("kills", tmp_path, number, 2015)
    out, err = program.communicate()
    assert program.returncode == 0, err
    assert int(out) >= 1


@pytest.mark.thorough
def test_ctrl_c_leaves_one_plain_file_that_is_resumed(running, tmp_path):
    path, process = running
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130, process.stderr.read()
    assert not [
        found.name for found in tmp_path.iterdir() if found.name.startswith(f"{path.name}-")
    ]
    with Store.read(path) as store:
        assert MADE - 1 <= len(store.evaluations()) <= MADE  # the last one may not be stored yet
    tuning_process.run(path)
    assert tuning_process.held(path) == whole(tmp_path)


def test_a_second_process_is_refused_and_may_read(running):
    path, process = running
    second = start("run", path, MADE)
    _, err = second.communicate()
    assert second.returncode == 1
    assert "is in use by another campaign" in err and "wait until" in err
    with Store.read(path) as store:
        assert len(store.evaluations()) >= MADE - 1
    process.kill()
    process.wait()
    Store.resume(path).close()


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(disk)]
    subprocess.run(mount, check=True)
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(path):
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        for _ in range(1 << 10):  # more than the disk holds
            file.write(b"x" * 4096)


@pytest.mark.kernel
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount: no disk was filled")
def test_a_full_disk_loses_the_running_evaluation_at_most(small_disk, tmp_path):
    path = small_disk / "board.tuning"
    received = []
    with Store.create(path, tuning.spec()) as store:
        run = Campaign(
            store,
            tuning.RandomSearch(7),
            tuning_process.LANDSCAPE,
            Rules(patience=None),
            lambda progress: received.append(progress.evaluations),
        )
        with pytest.raises(StoreError, match="cannot be written") as raised:
            run.run()
        assert "check the free space" in raised.value.remedy
    with Store.read(path) as store:
        assert [one.number for one in store.evaluations()] == received
        assert store.ended is None
    fill(small_disk / "filler")
    with pytest.raises(StoreError, match="cannot be made: No space left"):
        Store.create(small_disk / "another", tuning.spec())
    assert {found.name for found in small_disk.iterdir()} == {path.name, "filler"}
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    tuning_process.run(path)
    assert tuning_process.held(path) == whole(tmp_path)
