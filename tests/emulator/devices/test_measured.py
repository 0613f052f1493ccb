"""A measured device: what its table says, between its sizes, and with many under way."""

from __future__ import annotations

import numpy as np
import pytest

from foreread.emulator.devices.measured import Measured, Point

US = 1000.0
TABLE = Measured(
    (
        Point(4, False, 100 * US, 25 * US),
        Point(64, False, 400 * US, 400 * US),
        Point(4, True, 50 * US, 25 * US),
        Point(64, True, 200 * US, 200 * US),
    )
)


def test_a_single_request_takes_its_latency():
    queue = TABLE.queue()
    assert queue.submit(0, 1000, 8) == pytest.approx(100 * US)
    assert queue.submit(1000 * US, 1008, 8) == pytest.approx(1050 * US)
    assert queue.submit(2000 * US, 5000, 8) == pytest.approx(2100 * US)


def test_many_are_as_fast_as_its_throughput():
    """Forty at once: the last one 40 × 25 µs later; a first one is not sequential."""
    queue = TABLE.queue()
    done = [queue.submit(0, 10_000 * row, 8) for row in range(40)]
    assert done[0] == pytest.approx(100 * US)
    assert done[3] == pytest.approx(100 * US)
    assert done[-1] == pytest.approx(40 * 25 * US)


def test_between_the_sizes_logarithms_are_interpolated():
    """16 KiB is half way from 4 to 64: the geometric mean. 128 takes twice as long as 64."""
    latency, _ = TABLE.times(sequential=False)
    assert latency.at(16) == pytest.approx(200 * US)
    assert latency.at(128) == pytest.approx(800 * US)
    assert latency.at(1) == latency.at(4)


def test_a_pattern_that_was_not_measured_is_the_other_one():
    only = Measured((Point(4, False, 100, 50),))
    assert only.times(sequential=True)[0].at(4) == 100


def test_all_times_are_drawn_together():
    rng = np.random.default_rng(3)
    assert TABLE.perturbed(rng) is TABLE
    drawn = [Measured(TABLE.points, band=0.1).perturbed(rng) for _ in range(500)]
    factors = [one.points[0].latency_ns / (100 * US) for one in drawn]
    assert np.std(factors) == pytest.approx(0.1, rel=0.15)
    assert drawn[0].points[3].occupancy_ns / (200 * US) == pytest.approx(factors[0])


@pytest.mark.parametrize("points", [(), (Point(0, True, 1, 1),), (Point(4, True, 0, 1),)])
def test_invalid_tables_are_refused(points):
    with pytest.raises(ValueError, match="above 0"):
        Measured(points)


def test_it_is_described_in_words():
    assert (
        TABLE.describe() == "as measured at 4 points: at random 100 µs for 4 KiB, 400 µs for 64 KiB"
    )
