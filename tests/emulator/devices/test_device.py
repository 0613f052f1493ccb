"""Devices: when what is submitted completes, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from foreread.emulator.devices.device import FixedCost
from foreread.emulator.devices.stateful import FILE_BITS, Stateful

FIXED = FixedCost(1000, 100)


def test_a_device_of_fixed_cost_serves_in_order():
    queue = FIXED.queue()
    found = [queue.submit(0, 0, 8), queue.submit(100, 8, 16), queue.submit(9000, 0, 8)]
    assert found == [1400, 3200, 10400]
    assert FIXED.queue().submit(0, 0, 8) == 1400


def test_a_request_that_waited_is_handed_on():
    queue = FixedCost(1000, 100, handover_ns=50).queue()
    found = [queue.submit(0, 0, 8), queue.submit(1399, 8, 8), queue.submit(2850, 0, 8)]
    assert found == [1400, 1400 + 50 + 1400, 2850 + 1400]


def test_a_fixed_cost_is_drawn_from_its_band():
    rng = np.random.default_rng(1)
    assert FIXED.perturbed(rng) is FIXED
    drawn = [FixedCost(1000, 100, band=0.1).perturbed(rng) for _ in range(500)]
    latency = [one.latency_ns for one in drawn]
    assert np.mean(latency) == pytest.approx(1000, rel=0.02)
    assert np.std(latency) == pytest.approx(100, rel=0.15)
    assert np.std([one.ns_per_kib for one in drawn]) == pytest.approx(10, rel=0.15)


def test_a_seek_between_files_at_unknown_places_has_no_distance():
    queue = Stateful(1000, 0, seek_ns=5000, seek_ns_per_root=100).queue()
    apart = 1 << FILE_BITS
    near, to_unknown, between = (
        queue.submit(0, 2 * 64**2, 8),
        queue.submit(100_000, apart + 8, 8),
        queue.submit(200_000, 2 * apart, 8),
    )
    assert (near, to_unknown, between) == (1000 + 5000 + 6400, 106_000, 206_000)
