"""Patterns of workloads: IOPerf's clearance, the nearest, names, and sums of a period."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.tuner.engines.fingerprint import BY_NAME
from foreread.analyzer.tuner.engines.patterns import (
    LARGEST_KIB,
    Pattern,
    closeness,
    nearest,
    pattern_of,
    similarity,
    within_clearance,
)

BASE = Pattern(4, 50, 50, 1000)
SHARES = st.integers(0, 100)
patterns = st.builds(Pattern, st.integers(1, 8), SHARES, SHARES, st.integers(0, LARGEST_KIB))


@given(patterns, patterns)
def test_closeness(one, other):
    assert closeness(one, other) == closeness(other, one)
    assert all(0 <= value <= 1 for value in closeness(one, other).values())
    assert set(closeness(one, one).values()) == {1.0}
    assert within_clearance(one, one)
    assert 0 <= similarity(one, other) <= 1


@pytest.mark.parametrize(
    ("change", "within"),
    [
        ({"processes": 5}, True),
        ({"processes": 3}, False),
        ({"read_share": 35}, True),
        ({"read_share": 34}, False),
        ({"random_share": 64}, True),
        ({"random_share": 65}, False),
        ({"request_kib": 1600}, True),
        ({"request_kib": 1615}, False),
    ],
)
def test_clearance(change, within):
    assert within_clearance(BASE, replace(BASE, **change)) is within


def test_one_more_process_matters_less_the_more_there_are():
    assert within_clearance(replace(BASE, processes=8), replace(BASE, processes=7))
    assert not within_clearance(replace(BASE, processes=2), replace(BASE, processes=1))


def test_the_nearest_within_the_clearance_is_found():
    near, nearer, far = (
        replace(BASE, **change)
        for change in ({"request_kib": 1300}, {"request_kib": 1100}, {"read_share": 0})
    )
    assert nearest([near, nearer, far], BASE) == nearer
    assert nearest([far], BASE) is None and nearest([], BASE) is None
    assert nearest([replace(BASE, read_share=40), replace(BASE, read_share=60)], BASE) == replace(
        BASE, read_share=40
    )


@given(patterns)
def test_a_name_is_read_back(pattern):
    assert Pattern.named(pattern.name) == pattern
    assert pattern.class_name in BY_NAME


@pytest.mark.parametrize(
    "name",
    [
        "read-random-small",
        "pattern 0 1 1 1",
        "pattern 9 1 1 1",
        "pattern 1 101 0 4",
        "pattern 1 0 101 4",
        "pattern 1 0 0 2048",
        "pattern 1 0 0 4\n",
        "pattern 1 0 0 4; reboot",
        "pattern 1 0 0",
        "pattern ١ 0 0 4",
    ],
)
def test_other_names_are_no_patterns(name):
    assert Pattern.named(name) is None


def test_the_pattern_of_a_period_by_hand():
    sums = {
        "reads": 30,
        "writes": 10,
        "sectors": 40 * 16,
        "processes": 2,
        "own_followers": 38,
        "own_jumps": 19,
    }
    assert pattern_of(sums) == Pattern(2, 75, 50, 8)
    assert pattern_of(sums | {"processes": 40}).processes == 8
    assert pattern_of(sums | {"own_followers": 0, "own_jumps": 0}).random_share == 0
    assert pattern_of(dict.fromkeys(sums, 0)) is None
