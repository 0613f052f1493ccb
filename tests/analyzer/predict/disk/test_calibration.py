"""Calibration from the number of requests served: known devices are recovered."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreread.analyzer.predict.disk.calibration import Trial, explain, simulate
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.devices.measured import Measured, Point
from foreread.emulator.devices.paced import Paced

SIZES = (4, 16, 64, 256, 1024)
FAST = FixedCost(40_000, 300)


def trials_on(device, seconds=1.5, noise=0.0, seed=0):
    """Return what fio would see on a device; each time is off by ``noise`` and some are late."""
    rng = np.random.default_rng(seed)
    found = []
    for kib in SIZES:
        for sequential in (False, True):
            for depth in (1, min(max(1024 // kib, 2), 16)):
                blank = Trial(kib, sequential, depth, np.array([seconds * 1e9]), np.zeros(1))
                seen = simulate(device, blank)
                late = rng.random(len(seen.done_ns)) < (0.01 if noise else 0)
                factor = 1 + noise * rng.standard_normal(len(late)) + 20 * late * noise
                latency = seen.latency_ns * np.maximum(factor, 0.1)
                done = np.round(seen.done_ns / 1e6) * 1e6  # fio tells whole milliseconds
                found.append(Trial(kib, sequential, depth, done, latency))
    return found


@given(
    latency=st.floats(50e3, 3e6), per_kib=st.floats(5e3, 1e5), noise=st.sampled_from([0.0, 0.02])
)
@settings(max_examples=8, deadline=None)
def test_a_fixed_cost_is_found(latency, per_kib, noise):
    found = explain(trials_on(FixedCost(latency, per_kib), noise=noise))
    assert isinstance(found.device, FixedCost)
    for kib in (4, 64, 1024):
        expected = latency + per_kib * kib
        assert found.device.service_ns(2 * kib) == pytest.approx(expected, rel=0.03)
    assert found.median < 0.03


@pytest.mark.parametrize(("requests", "mb_s"), [(1000, 5), (1000, 40), (300, 20)])
def test_the_limiter_is_found(requests, mb_s):
    found = explain(trials_on(Paced(requests, mb_s * 1e6, FAST), noise=0.05))
    assert isinstance(found.device, Paced)
    assert found.device.slice_ns == 100e6
    assert found.device.requests_per_second == pytest.approx(requests, rel=0.02)
    assert found.device.bytes_per_second == pytest.approx(mb_s * 1e6, rel=0.02)
    assert found.device.base.latency_ns == pytest.approx(FAST.latency_ns, rel=0.3)
    assert found.median < 0.02


def test_a_limit_that_never_holds_is_not_claimed():
    """10 MB/s are 2,441 requests of 4 KiB: that 4,000 are allowed shows nowhere."""
    found = explain(trials_on(Paced(4000, 10e6, FAST)))
    assert isinstance(found.device, Paced)
    assert found.device.requests_per_second == float("inf")
    assert found.device.bytes_per_second == pytest.approx(10e6, rel=0.02)


def test_one_noisy_trial_does_not_hide_a_limit():
    trials = trials_on(Paced(4000, 10e6, FAST))
    spoilt = trials[0]
    trials[0] = Trial(4, False, 1, spoilt.done_ns * 0.95, spoilt.latency_ns)
    found = explain(trials)
    assert found.device.bytes_per_second == pytest.approx(10e6, rel=0.02)
    assert found.worst > 0.03


def test_an_even_pace_is_found():
    found = explain(trials_on(Paced(2000, 20e6, FixedCost(300_000, 0), slice_ns=0)))
    assert isinstance(found.device, Paced)
    assert found.device.slice_ns == 0
    assert found.device.requests_per_second == pytest.approx(2000, rel=0.05)
    assert found.device.bytes_per_second == pytest.approx(20e6, rel=0.05)


def flash():
    """A disk that works on several requests at once, and is faster in order."""
    points = []
    for sequential in (False, True):
        for kib in SIZES:
            latency = (60e3 if sequential else 100e3) + 900 * kib
            points.append(Point(kib, sequential, latency, max(latency / 8, 700 * kib)))
    return Measured(tuple(points))


@pytest.mark.thorough
def test_unexplained_devices_become_a_table():
    known = flash()
    found = explain(trials_on(known, noise=0.05))
    assert isinstance(found.device, Measured)
    for sequential in (False, True):
        latency, occupancy = found.device.times(sequential)
        expected, every = known.times(sequential)
        for kib in SIZES:
            assert latency.at(kib) == pytest.approx(expected.at(kib), rel=0.05)
            assert occupancy.at(kib) == pytest.approx(every.at(kib), rel=0.15)
    assert found.median < 0.1


def test_the_band_is_never_nothing():
    assert explain(trials_on(FixedCost(1e6, 5e4))).band >= 0.005


def test_a_trial_of_one_request_is_a_trial():
    one = Trial(1024, False, 2, np.array([2e9]), np.array([2e9]))
    assert one.per_second() == pytest.approx(1)


def test_waiting_most_of_the_time_bounds_the_speed():
    """Half of the requests at once, the others after 20 ms: 100 a second."""
    latency = np.tile([10_000.0, 19_990_000.0], 20)
    trial = Trial(16, False, 1, np.cumsum(latency)[:40], latency)
    assert trial.each_ns() == pytest.approx(10e6)
