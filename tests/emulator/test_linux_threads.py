"""Threads in the timed replay, on cases worked out by hand: a page takes 1,400 ns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from programs import Script
from timed_runs import run_of

from foreread.emulator.devices.device import FixedCost
from foreread.emulator.fixed import EmulationError
from foreread.emulator.linux.steps import CpuCost
from foreread.emulator.stepwise.timed import timed

DEVICE = FixedCost(1000, 100)
MS = 1_000_000


def two_files() -> Script:
    """Page 0 of file 0, of file 1, and of file 0 again: operations 2, 3, 4."""
    script = Script()
    first, second = script.open(script.file(1)), script.open(script.file(1))
    return script.read(first, 0).read(second, 0).read(first, 0)


def test_threads_compute_at_the_same_time_and_the_device_serves_in_order():
    """Both ask at 10; the device is done at 1410 and 2810; then 30 after the last step."""
    rows = [{"cpu_ns": 10, "operation": 2}, {"cpu_ns": 10, "operation": 3, "thread": 1}]
    found = timed(run_of(two_files(), rows, 30, cpus=2), 0, DEVICE)
    assert found.ends_ns.tolist() == [1410, 2840]
    assert (found.total_ns, found.compute_ns, found.waited_ns) == (2840, 40, 2800)
    assert found.work[:, :3].tolist() == [[1, 1, 0], [1, 1, 0]]


def test_on_one_cpu_the_second_computes_while_the_first_waits():
    """The first asks at 10, the second at 20."""
    rows = [{"cpu_ns": 10, "operation": 2}, {"cpu_ns": 10, "operation": 3, "thread": 1}]
    found = timed(run_of(two_files(), rows), 0, DEVICE)
    assert found.ends_ns.tolist() == [1410, 2810]
    assert (found.total_ns, found.compute_ns, found.waited_ns) == (2810, 20, 2790)


def test_a_page_under_way_is_waited_for_by_all_and_read_once():
    rows = [{"cpu_ns": 10, "operation": 2}, {"cpu_ns": 50, "operation": 4, "thread": 1}]
    found = timed(run_of(two_files(), rows, cpus=2), 0, DEVICE)
    assert found.ends_ns.tolist() == [1410, 1410]
    assert found.work[:, :3].tolist() == [[1, 1, 0], [0, 0, 0]]


def test_steps_happen_in_order_of_time_and_then_of_rows():
    """Row 1 comes to the file first, or row 0 if both come at 50."""
    rows = [{"cpu_ns": 50, "operation": 2}, {"cpu_ns": 10, "operation": 4, "thread": 1}]
    assert timed(run_of(two_files(), rows, cpus=2), 0, DEVICE).work[:, 1].tolist() == [0, 1]
    rows[1]["cpu_ns"] = 50
    assert timed(run_of(two_files(), rows, cpus=2), 0, DEVICE).work[:, 1].tolist() == [1, 0]


def test_a_thread_waits_for_another_one_s_step():
    """The page is there at 1410, the second thread computes up to 1417, and has its own at 2817."""
    rows = [
        {"cpu_ns": 10, "operation": 2},
        {"cpu_ns": 7, "operation": 3, "thread": 1, "waits_for": 0},
    ]
    for cpus in (1, 2):
        found = timed(run_of(two_files(), rows, cpus=cpus), 0, DEVICE)
        assert found.ends_ns.tolist() == [1410, 2817]
    assert (found.compute_ns, found.waited_ns) == (17, 2800)


@pytest.mark.parametrize(("sleep_ns", "over_ns"), [(50_000, 1417), (700, 707)])
def test_a_timed_wait_ends_with_the_step_or_with_the_timeout(sleep_ns, over_ns):
    """The step is over at 1410. The sleeper computes for 7 ns after its wait."""
    rows = [
        {"cpu_ns": 7, "operation": -1, "sleep_ns": sleep_ns, "woken_by": 1, "thread": 1},
        {"cpu_ns": 10, "operation": 2},
    ]
    assert timed(run_of(two_files(), rows, cpus=2), 0, DEVICE).ends_ns.tolist() == [1410, over_ns]


def test_a_timed_wait_does_not_begin_after_the_step_that_ends_it():
    rows = [
        {"cpu_ns": 10, "operation": 2},
        {"cpu_ns": 5000, "operation": -1, "thread": 1},
        {"cpu_ns": 7, "operation": -1, "sleep_ns": 900, "woken_by": 0, "thread": 1},
    ]
    assert timed(run_of(two_files(), rows, cpus=2), 0, DEVICE).total_ns == 5007


def test_ended_threads_are_not_waited_for():
    rows = [
        {"cpu_ns": 10, "operation": 2},
        {"cpu_ns": 5000, "operation": -1, "thread": 1},
        {"cpu_ns": 7, "operation": -1, "thread": 1, "waits_for": 0},
    ]
    assert timed(run_of(two_files(), rows, cpus=2), 0, DEVICE).total_ns == 5007


def test_sleep_needs_no_cpu_and_common_sleep_is_not_charged():
    rows = [
        {"sleep_ns": 100, "cpu_ns": 10, "operation": -1},
        {"cpu_ns": 60, "operation": -1, "thread": 1},
    ]
    found = timed(run_of(two_files(), rows), 0, DEVICE)
    assert found.ends_ns.tolist() == [110, 60]
    assert (found.total_ns, found.compute_ns, found.waited_ns) == (110, 70, 0)


def test_threads_stand_in_a_queue_for_a_cpu():
    """Two compute; the third, which woke at 20, queues after them; the first is done at 100."""
    rows = [
        {"cpu_ns": 100, "operation": -1},
        {"cpu_ns": 150, "operation": -1, "thread": 1},
        {"cpu_ns": 10, "sleep_ns": 20, "operation": -1, "thread": 2},
    ]
    assert timed(run_of(two_files(), rows, cpus=2), 0, DEVICE).ends_ns.tolist() == [100, 150, 110]


def test_threads_take_turns():
    """0.75 ms each: the second has had 6 of them and 0.5 ms when the first has had 7."""
    rows = [
        {"cpu_ns": 10 * MS, "operation": -1},
        {"cpu_ns": 5 * MS, "operation": -1, "thread": 1},
    ]
    found = timed(run_of(two_files(), rows), 0, DEVICE)
    assert found.ends_ns.tolist() == [15 * MS, 10.25 * MS]
    assert found.compute_ns == 15 * MS


def test_turns_go_on_from_step_to_step():
    """As many steps of 0.5 ms: the second thread is on at 0.75 ms, in the first's second step."""
    rows = [{"cpu_ns": 0.5 * MS, "operation": -1} for _ in range(4)]
    rows += [{"cpu_ns": 0.25 * MS, "operation": -1, "thread": 1}]
    assert timed(run_of(two_files(), rows), 0, DEVICE).ends_ns.tolist() == [2.25 * MS, 1 * MS]


@pytest.mark.parametrize(("wakes", "ends"), [(0.5, 1.25), (2, 2.5)])
def test_a_woken_thread_preempts_a_thread_that_used_its_slice(wakes, ends):
    rows = [
        {"cpu_ns": 10 * MS, "operation": -1},
        {"sleep_ns": wakes * MS, "cpu_ns": 0.5 * MS, "operation": -1, "thread": 1},
    ]
    found = timed(run_of(two_files(), rows), 0, DEVICE)
    assert found.ends_ns.tolist() == [10.5 * MS, ends * MS]


def test_slices_are_longer_on_more_cpus():
    """1.5 ms on two: the third thread is on then, in place of the first, and that of the second."""
    rows = [
        {"cpu_ns": 10 * MS, "operation": -1},
        {"cpu_ns": 10 * MS, "operation": -1, "thread": 1},
        {"sleep_ns": 1 * MS, "cpu_ns": 0.5 * MS, "operation": -1, "thread": 2},
    ]
    found = timed(run_of(two_files(), rows, cpus=2), 0, DEVICE)
    assert found.ends_ns.tolist() == [10 * MS, 10.5 * MS, 2 * MS]


def test_the_run_ends_with_one_thread():
    rows = [
        {"cpu_ns": 10, "operation": 2},
        {"cpu_ns": 5, "operation": -1, "thread": 1},
        {"cpu_ns": 5000, "operation": 3, "thread": 1},
    ]
    found = timed(run_of(two_files(), rows, 20, cpus=2, ends=0), 0, DEVICE)
    assert (found.total_ns, found.ends_ns[0]) == (1430, 1430)
    assert np.isnan(found.ends_ns[1]) and found.work[2].tolist() == [0, 0, 0, 0]
    assert timed(run_of(two_files(), rows, 20, cpus=2), 0, DEVICE).total_ns == 5005 + 1400 + 20


def test_a_thread_s_own_work_is_what_it_saves():
    """The second finds its page there: it saves 110, of which it has 50 to compute."""
    script = Script()
    handle = script.open(script.file(2))
    script.read(handle, 0).read(handle, 1)
    rows = [
        {"cpu_ns": 10, "operation": 1},
        {"cpu_ns": 9000, "operation": 2, "thread": 1},
        {"cpu_ns": 200, "operation": -1},
        {"cpu_ns": 50, "operation": -1, "thread": 1},
    ]
    run = run_of(script, rows, cpus=2)
    recorded = timed(run, 0, DEVICE)
    assert recorded.ends_ns.tolist() == [1410 + 200, 9000 + 1400 + 50]
    found = timed(run, 4, DEVICE, CpuCost(100, 10), recorded)
    assert found.ends_ns.tolist() == [1810 + 200 + 10, 9000]


def test_a_read_of_many_pages_lets_others_in_between():
    """Recorded as one read of 2 pages at window 0: the other's page comes between the two."""
    script = Script()
    first, second = script.open(script.file(2)), script.open(script.file(1))
    script.read(first, 0, 2).read(second, 0)
    rows = [{"operation": 2}, {"cpu_ns": 10, "operation": 3, "thread": 1}]
    found = timed(run_of(script, rows, cpus=2), 0, DEVICE)
    assert found.ends_ns.tolist() == [4200, 2800]
    assert found.work[:, :3].tolist() == [[2, 2, 0], [1, 1, 0]]


def test_waiting_for_pages_that_nobody_uses():
    """Page 0 brings 1 along, and 2 to 5 after them, all unused, so the other file waits.

    1800 for page 0, of which half is for page 1; 2600 for nothing, and 1400 for the other page.
    """
    script = Script()
    first, second = script.open(script.file(6)), script.open(script.file(1))
    script.read(first, 0).read(first, 1).read(second, 0)
    rows = [{"operation": 2}, {"operation": 3}, {"operation": 4}]
    found = timed(run_of(script, rows), 4, DEVICE)
    assert found.work[:, :3].tolist() == [[1, 2, 0], [1, 4, 0], [1, 1, 0]]
    assert (found.total_ns, found.waited_ns, found.behind_ns) == (5800, 5800, 2600)
    rows = [{"operation": 2}]
    found = timed(run_of(script, rows), 4, DEVICE)
    assert (found.total_ns, found.behind_ns) == (1800, 900)


def test_a_mapped_page_under_way_is_waited_for():
    """Fault-around maps pages 0 to 15 at the second fault; the last comes with a second request."""
    script = Script()
    handle = script.open(script.file(16))
    mapping = script.map(handle, 0, 16)
    for page in (8, 0, 15):
        script.touch(mapping, page)
    run = run_of(script, [{"operation": row} for row in (1, 2, 3)])
    small = replace(run, limits=replace(run.limits, max_sectors_kb=32))
    assert timed(run, 16, DEVICE).ends_ns.tolist() == [1000 + 6400]
    assert timed(small, 16, DEVICE).ends_ns.tolist() == [2 * (1000 + 3200)]


@pytest.mark.parametrize(
    ("column", "row", "value", "message"),
    [
        ("waits_for", 0, 0, "waits for"),
        ("waits_for", 0, 1, "waits for"),
        ("waits_for", 1, -2, "waits for"),
        ("woken_by", 0, 2, "woken by"),
        ("woken_by", 1, -2, "woken by"),
        ("operation", 0, 5, "operation"),
        ("operation", 0, -2, "operation"),
        ("cpu_ns", 0, np.nan, "duration"),
        ("cpu_ns", 1, np.inf, "duration"),
        ("cpu_ns", 1, 1e15, "duration"),
        ("sleep_ns", 1, -1.0, "duration"),
    ],
)
def test_steps_that_no_run_can_have_are_refused(column, row, value, message):
    run = run_of(two_files(), [{"operation": 2}, {"operation": 3, "thread": 1}])
    run.steps[column][row] = value
    with pytest.raises(EmulationError, match=message) as caught:
        timed(run, 0, DEVICE)
    assert caught.value.remedy


def test_runs_that_cannot_be_are_refused():
    run = run_of(two_files(), [{"operation": 2}])
    for wrong in ({"cpus": 0}, {"cpus": 1 << 20}, {"ends": 1}, {"ends": -2}, {"tail_ns": np.nan}):
        with pytest.raises(EmulationError):
            timed(replace(run, **wrong), 0, DEVICE)
    with pytest.raises(EmulationError):
        timed(replace(run, steps=np.zeros(2, np.int64)), 0, DEVICE)


def test_a_run_of_no_steps_computes_its_tail():
    found = timed(run_of(two_files(), [], 30), 0, DEVICE)
    assert (found.total_ns, found.compute_ns, found.ends_ns.tolist()) == (30, 30, [30])
    assert found.work.shape == (0, 4)
