"""Waits: how long they take, what a failed one says, and that the test's limit is theirs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import _BODY, left_s, wait_until

LIMIT_S = 60


def test_a_wait_returns_what_the_condition_gives_at_last():
    answers = iter([None, 0, "", "there"])
    assert wait_until(lambda: next(answers)) == "there"


@pytest.mark.timeout(LIMIT_S)
def test_a_wait_ends_before_the_test_would_be_ended():
    assert 0 < left_s() <= _BODY * LIMIT_S


def test_a_child_waits_no_longer_than_the_test():
    code = "import waiting; print(waiting.left_s())"
    folder = str(Path(__file__).parent / "support")
    words = [sys.executable, "-c", code]
    env = {**os.environ, "PYTHONPATH": folder}
    before = left_s()
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    assert left_s() <= float(done.stdout) <= before
