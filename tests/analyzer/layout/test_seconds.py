"""The time to unpack in the steps of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from foreread.analyzer.layout.seconds import with_unpacking
from foreread.emulator.linux.steps import STEP


@dataclass(frozen=True)
class Steps:
    """The part of a run that is changed."""

    steps: np.ndarray
    tail_ns: float = 5.0


def run(*threads):
    steps = np.zeros(len(threads), STEP)
    steps["thread"], steps["cpu_ns"] = threads, 100.0
    return Steps(steps)


def test_a_thread_unpacks_after_its_own_read():
    sectors = np.array([3, 0, 0, 1])
    found = with_unpacking(run(0, 1, 0, 1), sectors, 40.0)
    assert found.steps["cpu_ns"].tolist() == [100, 100, 130, 110]
    assert found.steps["cpu_ns"].sum() == pytest.approx(440)


def test_less_time_is_taken_off_there():
    found = with_unpacking(run(0, 1, 0, 1), np.array([1, 1, 0, 0]), -60.0)
    assert found.steps["cpu_ns"].tolist() == [100, 100, 70, 70]


def test_a_run_without_reads_has_the_time_at_its_end():
    assert with_unpacking(run(0, 0), np.zeros(2, int), 40.0).tail_ns == 45.0
