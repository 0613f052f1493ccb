"""Steps that are added to a run, on cases worked out by hand: 1,400 ns for a page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from advice_starts import DEVICE, reading, start_of
from hypothesis import given
from hypothesis import strategies as st
from programs import Script

from foreread.analyzer.advise.variant import raced, variant_of, with_steps
from foreread.analyzer.prefetch.replayed import GIVES_WAY_NS
from foreread.analyzer.program.added_steps import new_steps
from foreread.emulator.linux.operations import OPERATION, Op
from foreread.emulator.stepwise.timed import timed


def test_a_start_without_changes():
    """Thrice 10 + 1400, and 30."""
    assert reading([0, 2, 4]).cost().seconds == pytest.approx(4260e-9)
    assert reading([0, 2, 4]).cost().read_bytes == 3 * 4096


def test_an_added_step_takes_over_what_the_thread_did_before_the_row():
    base = reading([0, 2])
    added = new_steps(2)
    added["sectors"], added["sector"], added["bios"] = 8, 1000, 1
    changed = with_steps(base, [2, 1], added)
    steps = changed.run.steps
    assert steps["operation"].tolist() == [0, -1, 1, -1, 2]
    assert steps["cpu_ns"].tolist() == [0, 10, 0, 10, 0]
    assert changed.cost().seconds == pytest.approx(base.cost().seconds + 2 * 1400e-9)
    assert len(changed.recorded.work) == len(steps)


def test_in_half_of_all_draws_the_replayer_looks_a_name_up_first():
    """Its first step begins the run; its second gives way and opens the file; the third is ours."""
    run = reading([0, 2]).run
    steps = run.steps.copy()
    steps["cpu_ns"] = [5.0, 200.0, 10.0]
    steps["sleep_ns"] = [0.0, GIVES_WAY_NS, 0.0]
    drawn = [
        raced(replace(run, steps=steps), 2, np.random.default_rng(seed)).steps[1]
        for seed in range(200)
    ]
    first = [one for one in drawn if one["sleep_ns"] == 0]
    assert 70 < len(first) < 130
    assert all(one["cpu_ns"] == 0 for one in first)
    assert all(one["cpu_ns"] > 0 for one in drawn if one["sleep_ns"] == GIVES_WAY_NS)


def test_waits_for_rows_move_with_the_rows():
    script = Script()
    handle = script.open(script.file(8))
    for page in range(3):
        script.read(handle, page)
    rows = [
        {"operation": 0},
        {"operation": 1, "cpu_ns": 5},
        {"operation": 2, "thread": 1, "waits_for": 1},
        {"operation": 3, "sleep_ns": 9e6, "woken_by": 2},
    ]
    base = variant_of(start_of(script, rows, [(0, page) for page in range(3)]), 0)
    asked = np.array([(Op.WILLNEED, 0, 0, 5, 1)] * 3, OPERATION)
    added = new_steps(3)
    added["operation"] = [4, 5, 6]
    changed = with_steps(base, [2, 1, 2], added, asked)
    steps = changed.run.steps
    assert steps["operation"].tolist() == [0, 5, 1, 4, 6, 2, 3]
    assert steps["thread"].tolist() == [0, 0, 0, 1, 1, 1, 0]
    assert steps["waits_for"].tolist() == [-1, -1, -1, 2, -1, -1, -1]
    assert steps["woken_by"].tolist() == [-1, -1, -1, -1, -1, -1, 5]
    changed.run.check()


@given(st.lists(st.integers(0, 6), min_size=1, max_size=8))
def test_steps_that_do_nothing_change_nothing(rows):
    base = reading([0, 3, 1, 9, 20, 2])
    changed = with_steps(base, rows, new_steps(len(rows)))
    changed.run.check()
    assert changed.cost().seconds == pytest.approx(base.cost().seconds)
    plain = timed(changed.run, 0, DEVICE, None, changed.recorded)
    assert plain.total_ns / 1e9 == pytest.approx(changed.cost().seconds)
