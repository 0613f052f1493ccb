"""Waits: they end before the test would be ended, and a failed one says what it waited for."""

import asyncio
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import machine_lock
import pytest
import waiting
from clocks import FakeClock
from waiting import Limit, forget_limit, left_s, wait_in_loop, wait_until

LIMIT_S = 400.0


@pytest.fixture
def clock(monkeypatch):
    """A clock that only waits move, and a test of LIMIT_S that begins now."""
    monkeypatch.setenv("FOREREAD_TEST_ENDS", "")  # and as it was after the test
    clock = FakeClock()
    monkeypatch.setattr(waiting, "time", clock)
    return clock


def test_a_wait_returns_what_the_condition_gives_at_last(clock):
    Limit(LIMIT_S)
    answers = iter([None, 0, "", "there"])
    assert wait_until(lambda: next(answers)) == "there"
    assert asyncio.run(wait_in_loop(lambda: "there")) == "there"


def test_waits_of_a_test_end_together_before_its_limit(clock):
    Limit(LIMIT_S)
    for _ in range(2):
        with pytest.raises(AssertionError, match=r"not true after [0-9.]+ s: "):
            wait_until(lambda: False)
        assert clock.now == pytest.approx(0.8 * LIMIT_S)
    assert left_s() == 0


@pytest.mark.parametrize("used", [0.1, 0.8, 1.0])
def test_the_teardown_has_time_of_its_own(clock, used):
    limit = Limit(LIMIT_S)
    clock.now += used * LIMIT_S
    limit.tear_down()
    assert left_s() >= 0.149 * LIMIT_S
    assert clock.now + left_s() < LIMIT_S or used == 1.0


def test_a_test_without_a_limit_waits_with_one(clock):
    forget_limit()
    with pytest.raises(AssertionError):
        wait_until(lambda: False)
    assert 400 < clock.now < 7200


def test_a_shorter_limit_holds_and_a_longer_one_does_not(clock):
    Limit(LIMIT_S)
    with pytest.raises(AssertionError):
        wait_until(lambda: False, within_s=5.0)
    assert clock.now == pytest.approx(5.0)
    with pytest.raises(AssertionError):
        wait_until(lambda: False, within_s=10 * LIMIT_S)
    assert clock.now == pytest.approx(0.8 * LIMIT_S)


def test_what_comes_late_is_not_asked_for_all_the_time(clock):
    Limit(LIMIT_S)
    looks = []
    wait_until(lambda: looks.append(clock.now) or clock.now > 10)
    assert max(after - before for before, after in pairwise(looks)) <= 0.11
    assert 10 < looks[-1] <= 10.2


def test_a_failed_wait_says_what_it_waited_for_and_what_there_is(clock):
    Limit(LIMIT_S)
    pids = [4711]
    with pytest.raises(AssertionError) as failed:
        wait_until(lambda: not pids, lambda: f"still {pids}")
    said = str(failed.value)
    assert "not pids" in said and "pids=[4711]" in said and said.endswith("last: still [4711]")


def test_a_condition_with_a_name_says_that_and_its_values(clock, tmp_path):
    Limit(LIMIT_S)
    pid = 4711

    def has_gone():
        return pid < 0

    for condition, words in (
        (has_gone, ("has_gone", "pid=4711")),
        ((tmp_path / "never").exists, ("exists", f"{tmp_path}/never")),
    ):
        with pytest.raises(AssertionError) as failed:
            wait_until(condition)
        assert all(word in str(failed.value) for word in words)


@pytest.mark.timeout(60)
def test_the_limit_of_this_test_is_that_of_its_waits():
    assert 0 < left_s() <= 0.8 * 60


def test_a_process_waits_no_longer_than_the_test_that_started_it():
    env = {**os.environ, "PYTHONPATH": str(Path(waiting.__file__).parent)}
    words = [sys.executable, "-c", "import waiting; print(waiting.left_s())"]
    before = left_s()
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    assert left_s() <= float(done.stdout) <= before


def test_the_time_that_others_take_is_not_the_test_s(clock):
    def begin(limit_s=LIMIT_S):
        Limit(limit_s)
        waiting.limit_restarts(lambda other_s: begin(other_s or limit_s))

    begin()
    with waiting.others_work():
        assert left_s() > LIMIT_S
        clock.now += 2 * LIMIT_S
    assert left_s() == pytest.approx(0.8 * LIMIT_S)
    forget_limit()
    with waiting.others_work():
        assert "FOREREAD_TEST_ENDS" not in os.environ


@pytest.mark.thorough
@pytest.mark.timeout(10)
def test_a_recording_may_take_longer_than_the_limit_of_a_test_that_waits_for_it(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(machine_lock, "DIRECTORY", tmp_path)
    held = tmp_path / "held"
    words = ["flock", tmp_path / "lock", "sh", "-c", f": >{held}; exec sleep 12"]
    with subprocess.Popen(words) as recording:
        wait_until(held.exists)
        with machine_lock.nobody_records():
            recording.wait(left_s())
            assert left_s() > 0
