"""Reads that begin earlier, on cases worked out by hand: 1,000 ns a request and 100 ns a KiB."""

from __future__ import annotations

import pytest
from advice_starts import faulting, reading

from foreread.analyzer.advise.early import beside_the_start, in_the_application, ranges_of
from foreread.analyzer.advise.order import ordered


def test_advice_before_the_first_read_reads_all_in_one_request():
    """10, then one request of 3 pages: 1000 + 1200; 20 of computing after it, and 30."""
    base = reading([0, 1, 2])
    assert base.cost().seconds == pytest.approx(4260e-9)
    advised = in_the_application(base, 0, "WILLNEED", 0)
    assert advised.cost().seconds == pytest.approx(2260e-9)
    assert advised.cost().read_bytes == base.cost().read_bytes


def test_gaps_are_read_as_well_and_cost_time():
    base = reading([0, 2])
    assert ranges_of(base, [0], 0) == ((0, 0, 1), (0, 2, 1))
    assert ranges_of(base, [0], 1) == ((0, 0, 3),)
    apart = in_the_application(base, 0, "WILLNEED", 0)
    joined = in_the_application(base, 0, "WILLNEED", 1)
    assert apart.cost().seconds == pytest.approx((10 + 1400 + 1400 + 30) * 1e-9)
    assert joined.cost().seconds == pytest.approx((10 + 2200 + 10 + 30) * 1e-9)
    assert joined.cost().read_bytes == 3 * 4096


def test_long_ranges_are_asked_for_in_several_calls():
    base = reading([*range(700)], size=1000)
    changed = in_the_application(base, 0, "WILLNEED", 0)
    asked = changed.run.program.operations[len(base.run.program.operations) :]
    assert asked[["at", "length"]].tolist() == [(0, 320), (320, 320), (640, 60)]


def test_populating_waits_for_every_page_before_the_application_goes_on():
    """With no readahead each page is its own request, so nothing is gained."""
    base = faulting([3, 1, 2])
    populated = in_the_application(base, 0, "POPULATE", 0)
    assert populated.cost().seconds == pytest.approx(base.cost().seconds)
    assert in_the_application(reading([0, 1]), 0, "POPULATE", 0) is None


def test_populating_with_a_window_reads_around_once():
    base = faulting([40, 41, 42, 43], window=8)
    populated = in_the_application(base, 0, "POPULATE", 0)
    assert populated.cost().seconds <= base.cost().seconds


def test_a_process_beside_the_start_reads_at_once():
    """The replayer asks at 0; one request of 3 pages ends at 2200; then 20 and 30."""
    base = reading([0, 1, 2])
    listed = beside_the_start(base, [0], 0)
    assert listed.ranges == ((0, 0, 3),)
    assert listed.cost().seconds == pytest.approx(2250e-9)
    twice = beside_the_start(listed, [0], 0)
    assert twice.ranges == listed.ranges


def test_a_process_beside_the_start_begins_later_in_random_draws():
    base = reading([0, 1, 2])
    listed = beside_the_start(base, [0], 0)
    late = [listed.cost(draw).seconds for draw in range(5)]
    assert late == pytest.approx([base.cost().seconds] * 5)  # it is over before the first ms


def test_files_that_are_not_used_are_not_advised():
    assert in_the_application(reading([0]), 5, "WILLNEED", 0) is None


def test_advice_follows_pages_that_have_moved():
    base = faulting([100, 50, 7])
    moved = ordered(base, 0, ((0, 128),))
    assert ranges_of(moved, [0], 0) == ((0, 0, 3),)
    assert in_the_application(moved, 0, "WILLNEED", 0).cost().seconds == pytest.approx(2260e-9)
