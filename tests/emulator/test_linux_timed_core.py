"""The timed replay in C against the plain Python: random programs, threads, waits and kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import Script
from property_tests import examples
from timed_runs import run_of
from timed_strategy import COST, DEVICES, WINDOWS, assert_same, runs

from foreread.emulator import _linux
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.devices.paced import Paced
from foreread.emulator.fixed import EmulationError
from foreread.emulator.linux.requests import EXTENT
from foreread.emulator.linux.steps import REPEAT, CpuCost
from foreread.emulator.linux.timed_windows import CASE, Case, timed_cases, timed_windows, total_ns
from foreread.emulator.stepwise.timed import timed


def assert_agrees(run, window, device):
    cpu = CpuCost(6e4, 1.5e3, 70.0, 2e5, 0.6)
    recorded = timed(run, 0, device)
    found = timed_windows(run, [0, window], device, cpu)
    assert_same(found[0], recorded)
    assert_same(found[1], timed(run, window, device, cpu, recorded))


@given(run=runs(), window=st.sampled_from(WINDOWS), device=st.sampled_from(DEVICES))
@settings(deadline=None, suppress_health_check=list(HealthCheck))
def test_the_core_agrees_with_the_plain_python(run, window, device):
    assert_agrees(run, window, device)


cases = st.tuples(
    st.sampled_from(WINDOWS),
    st.sampled_from(DEVICES),
    st.sampled_from([CpuCost(), CpuCost(6e4, 1.5e3, 70.0), CpuCost(cold_ns=2e5, cold_share=0.6)]),
)


@given(first=runs(), second=runs(), drawn=st.lists(cases, min_size=1, max_size=5))
@settings(deadline=None, max_examples=examples(60), suppress_health_check=list(HealthCheck))
def test_cases_of_a_batch_agree_with_the_plain_python(first, second, drawn):
    """Windows, devices and costs follow each other in the memory of one batch, and of two runs."""
    rows = [(first, None), (second, timed(second, 0, COST))]
    batch = [
        Case(run, window, device, cpu, recorded)
        for run, recorded in rows
        for window, device, cpu in drawn
    ]
    replays = timed_cases(batch)
    for case, replay in zip(batch, replays, strict=True):
        plain = timed(case.run, case.window, case.device, case.cpu, case.recorded)
        assert_same(replay, plain)
    assert total_ns(batch).tolist() == [replay.total_ns for replay in replays]


@given(
    device=st.sampled_from(DEVICES),
    reads=st.lists(
        st.tuples(
            st.floats(0, 3e8),
            st.sampled_from([0, 8, 40, 1 << 20]),
            st.sampled_from([1, 8, 8, 64, 100, 2560]),
            st.integers(1, 5),
            st.booleans(),
        ),
        max_size=60,
    ),
)
@settings(deadline=None)
def test_devices_take_as_long_as_in_plain_python(device, reads):
    """Metadata steps of one thread each, so that many are under way."""
    rows = [
        {
            "sleep_ns": at,
            "operation": -1,
            "thread": row,
            "sector": sector,
            "sectors": sectors,
            "bios": bios,
            "meta": meta,
        }
        for row, (at, sector, sectors, bios, meta) in enumerate(reads)
    ]
    run = run_of(two_reads(), rows, cpus=4)
    assert_same(timed_windows(run, [0], device)[0], timed(run, 0, device))


def two_reads() -> Script:
    script = Script()
    handle = script.open(script.file(100))
    return script.read(handle, 0, 3).read(handle, 50)


def a_run():
    rows = [{"operation": 1}, {"operation": 2, "thread": 1, "waits_for": 0}]
    return run_of(two_reads(), rows, 30, cpus=2)


def test_windows_run_together_as_alone():
    run, device = a_run(), FixedCost(1e6, 5e4)
    together = timed_windows(run, WINDOWS, device)
    for window, found in zip(WINDOWS, together, strict=True):
        assert_same(found, timed_windows(run, [window], device)[0])


def test_a_device_that_the_core_does_not_know_is_refused():
    class Unknown:
        def queue(self):
            return FixedCost(1e6, 5e4).queue()

    with pytest.raises(EmulationError, match="type Unknown cannot be replayed"):
        timed_windows(a_run(), [0, 8], Unknown())


def arguments(run):
    """Arguments of the core for one case of a run: arrays by name, and numbers."""
    from foreread.emulator.linux.windows import tables

    core = tables(run.program, run.rules, run.machine, run.limits, np.zeros(0, EXTENT))
    names = ("operations", "mappings", "handles", "files", "extents", "rules", "machine")
    arrays = dict(zip(names, core, strict=True))
    arrays["steps"] = run.steps.copy()
    arrays["repeats"] = np.zeros(0, REPEAT)
    arrays["recorded"] = np.zeros(0, np.int64)
    arrays["cases"] = np.array([(0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, 4)], CASE)
    arrays["devices"] = np.array([0.0, 1000.0, 100.0, 50.0])
    arrays["times"], arrays["ends"] = np.zeros(4), np.zeros(2)
    arrays["work"], arrays["over"] = np.ones(8, np.int64), np.zeros(2)
    return arrays


def replay(arrays, tail_ns=30.0, cpus=2, last=-1):
    _linux.replay(*arrays.values(), tail_ns, cpus, last)
    return arrays


def with_device(numbers):
    """Arguments of the core for a run on a device of other numbers."""
    arrays = arguments(a_run())
    arrays["devices"] = np.array(numbers, np.float64)
    arrays["cases"]["numbers"] = len(numbers)
    return arrays


def test_the_buffers_of_the_core_suffice():
    """3 pages of 1400, one after the other; then another one."""
    assert replay(arguments(a_run()))["times"].tolist() == [4 * 1400 + 30, 30, 4 * 1400, 0]


@pytest.mark.parametrize("name", arguments(a_run()))
def test_arrays_of_another_kind_are_refused(name):
    good = arguments(a_run())[name]
    for bad in (np.zeros(len(good), "u1"), np.zeros((2, 2), good.dtype), None, good.tobytes()):
        arrays = arguments(a_run())
        arrays[name] = bad
        with pytest.raises((TypeError, ValueError, BufferError)):
            replay(arrays)


@pytest.mark.parametrize("name", ["rules", "machine", "recorded", "times", "work", "over"])
def test_arrays_that_differ_in_length_are_refused(name):
    for more in (-1, 1):
        arrays = arguments(a_run())
        arrays[name] = np.zeros(max(len(arrays[name]) + more, 1), arrays[name].dtype)
        with pytest.raises(ValueError, match="length"):
            replay(arrays)


@pytest.mark.parametrize(
    ("column", "row", "value"),
    [
        ("waits_for", 0, 0),
        ("waits_for", 1, -2),
        ("waits_for", 0, 1 << 62),
        ("woken_by", 0, -2),
        ("woken_by", 0, 2),
        ("woken_by", 1, 1 << 62),
        ("operation", 0, 5),
        ("operation", 0, -2),
        ("cpu_ns", 0, np.nan),
        ("cpu_ns", 1, -np.inf),
        ("sleep_ns", 1, -1.0),
        ("sleep_ns", 1, 1e15),
        ("thread", 1, 2),
    ],
)
def test_the_core_refuses_steps_that_no_run_can_have(column, row, value):
    arrays = arguments(a_run())
    arrays["steps"][column][row] = value
    with pytest.raises(ValueError):
        replay(arrays)


@pytest.mark.parametrize(
    ("at", "value"),
    [(0, 99.0), (0, -1.0), (0, np.nan), (1, -1.0), (2, np.inf), (1, 1e15), (3, -1.0)],
)
def test_the_core_refuses_numbers_of_a_device_out_of_range(at, value):
    arrays = arguments(a_run())
    arrays["devices"][at] = value
    with pytest.raises(ValueError, match="device"):
        replay(arrays)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("request_ns", -1.0),
        ("page_ns", np.inf),
        ("sector_ns", np.nan),
        ("window", -1),
        ("device", 1),
        ("device", 5),
        ("device", 1 << 63),
        ("numbers", 5),
        ("numbers", (1 << 64) - 1),
    ],
)
def test_the_core_refuses_cases_out_of_range(column, value):
    arrays = arguments(a_run())
    arrays["cases"][column] = value
    with pytest.raises(ValueError):
        replay(arrays)


def test_the_core_refuses_a_batch_without_cases():
    arrays = arguments(a_run())
    arrays["cases"] = np.zeros(0, CASE)
    with pytest.raises(ValueError, match="length"):
        replay(arrays)


def test_the_core_refuses_other_runs_that_cannot_be():
    for wrong in (
        {"cpus": 0},
        {"cpus": 1 << 40},
        {"last": 2},
        {"last": -2},
        {"tail_ns": np.nan},
        {"tail_ns": 1e15},
    ):
        with pytest.raises(ValueError):
            replay(arguments(a_run()), **wrong)
    for length in (0, 1, 3, 5):
        with pytest.raises(ValueError):
            replay(with_device(np.zeros(length)))


PACED = [1, 1000, 5e6, 1e8, 4e6, 0, 0, 0]
MEASURED = [2, 2, 1, 4, 64, 100, 400, 50, 400, 4, 100, 50]


@pytest.mark.parametrize(
    ("numbers", "at", "value"),
    [
        (PACED, 1, 0),
        (PACED, 2, np.nan),
        (PACED, 3, np.inf),
        (PACED, 3, 1e6),
        (PACED, 4, 0),
        (PACED, 5, -1),
        (MEASURED, 1, 3),
        (MEASURED, 1, 1),
        (MEASURED, 2, 0),
        (MEASURED, 1, 1e300),
        (MEASURED, 3, 64),
        (MEASURED, 3, 0),
        (MEASURED, 5, 0),
        (MEASURED, 8, np.nan),
    ],
)
def test_the_core_refuses_devices_that_cannot_be(numbers, at, value):
    arrays = with_device(numbers)
    replay(arrays)
    arrays["devices"][at] = value
    with pytest.raises(ValueError, match="device"):
        replay(arrays)


def test_a_device_that_is_too_slow_is_an_error_in_both():
    run = run_of(two_reads(), [{"operation": 1}])
    slow = Paced(requests_per_second=1e-9)
    for replayed in (lambda: timed(run, 0, slow), lambda: timed_windows(run, [0], slow)):
        with pytest.raises(EmulationError, match="device"):
            replayed()


def test_errors_have_a_remedy():
    with pytest.raises(EmulationError) as caught:
        timed_windows(a_run(), [0], FixedCost(np.nan, 1))
    assert caught.value.remedy
