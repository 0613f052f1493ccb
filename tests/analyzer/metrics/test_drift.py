"""The test of a history: its evidence, the rates of its alarms are in tests/studies/drift."""

import math
from itertools import pairwise, permutations
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.metrics.drift import ALARM, drift, evidence

SECONDS = st.lists(st.floats(0.01, 100), min_size=1, max_size=30)


def factor(seconds, at):
    """The factor of the entry at a place, as the module's text defines it."""
    ranks = range(1, at + 2)
    rank = sum(each >= seconds[at] for each in seconds[: at + 1])
    return (rank - 0.5) ** -0.5 / fmean((r - 0.5) ** -0.5 for r in ranks)


def plain_evidence(seconds, n):
    """The capital after n entries, part by part: each begins its bets at an entry of its own."""
    begun = [
        math.prod(factor(seconds, at) for at in range(k - 1, n)) / (k * (k + 1))
        for k in range(1, n + 1)
    ]
    return sum(begun) + 1 - sum(1 / (k * (k + 1)) for k in range(1, n + 1))


@given(SECONDS)
def test_the_evidence_is_the_sum_of_its_parts(seconds):
    plain = [plain_evidence(seconds, n) for n in range(1, len(seconds) + 1)]
    assert list(evidence(seconds)) == pytest.approx(plain)


@pytest.mark.parametrize("n", range(1, 7))
def test_the_expected_evidence_of_a_random_order_is_1(n):
    ends = [list(evidence(order))[-1] for order in permutations(range(1, n + 1))]
    assert fmean(ends) == pytest.approx(1)


@pytest.mark.parametrize("values", [(1, 1, 2, 3, 3), (1, 1, 1, 2, 2), (5, 5, 5, 5, 5)])
def test_equal_seconds_do_not_raise_the_expected_evidence(values):
    assert fmean(list(evidence(order))[-1] for order in permutations(values)) < 1


@given(SECONDS, st.floats(0.01, 100))
def test_the_unit_of_time_does_not_matter(seconds, unit):
    """Products may round two values to one: those that stay apart are compared."""
    other = [unit * each for each in seconds]
    if len(set(other)) == len(set(seconds)):
        assert drift(other).alarm == drift(seconds).alarm


def test_a_drift_of_a_hundredth_a_commit_is_found():
    seconds = [1.01**at for at in range(20)]
    found = drift(seconds)
    assert found.is_significant
    assert found.alarm < 9
    assert found.share == pytest.approx(1.01**15 - 1)
    assert (found.old, found.new) == (seconds[2], seconds[17])


def test_a_start_that_becomes_faster_or_stays_does_not_alarm():
    assert not drift([0.99**at for at in range(50)]).is_significant
    assert not drift([1.0] * 50).is_significant


def test_a_tiny_drift_alarms_and_is_not_reported():
    found = drift([1 + at / 10_000 for at in range(50)])
    assert found.alarm is not None
    assert not found.is_significant


def test_a_drift_that_was_mended_is_not_reported():
    found = drift([*(1.01**at for at in range(20)), *[1.0] * 5])
    assert found.alarm is not None
    assert not found.is_significant


def test_several_starts_share_the_false_alarms():
    seconds = [1.01**at for at in range(30)]
    alone, among = drift(seconds).alarm, drift(seconds, 20).alarm
    before, at = list(evidence(seconds))[among - 1 : among + 1]
    assert alone < among
    assert before < 20 / ALARM <= at


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_commits_are_compared_and_do_not_alarm(n):
    found = drift([float(each) for each in range(1, n + 1)])
    assert not found.is_significant
    assert found.new >= found.old


def test_evidence_of_a_long_drift_has_no_end_that_is_not_a_number():
    values = list(evidence([float(at) for at in range(1, 1001)]))
    assert all(b >= a for a, b in pairwise(values[5:]))
