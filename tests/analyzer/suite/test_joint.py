"""Weighted seconds of several starts: one start alone, sums, errors in one direction, regrets."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foreread.analyzer.predict.bands import Bands
from foreread.analyzer.suite.joint import Joint, Weighted

WINDOWS = [0, 8, 32, 128]
SECONDS = st.lists(st.floats(0.1, 100), min_size=4, max_size=4)


def start(seconds, weight=1.0, now=0, spread=0.01, seed=1):
    rng = np.random.default_rng(seed)
    at = np.array(seconds, float)
    draws = at * (1 + spread * rng.standard_normal((50, len(at))))
    return Weighted(weight, Bands(WINDOWS, at, draws, WINDOWS, 0.01 * at), now)


@given(SECONDS, st.floats(0.1, 10))
@example([1.0, 1.0, 0.10000000000000002, 0.1], 0.1)  # a weight rounds both to the same seconds
def test_one_start_has_its_own_answer_whatever_its_weight(seconds, weight):
    alone = start(seconds, weight)
    joint = Joint([alone])
    assert joint.best == alone.bands.best
    assert joint.smallest_within() == alone.bands.smallest_within()
    assert joint.slower(8, 32) == pytest.approx([weight * x for x in alone.bands.slower(8, 32)])


@given(st.lists(st.tuples(SECONDS, st.floats(0.1, 10)), min_size=1, max_size=5))
def test_the_best_window_is_that_of_the_sums_and_no_start_beats_its_own(given_starts):
    """The slow reference: every window, every start."""
    starts = [start(seconds, weight) for seconds, weight in given_starts]
    joint = Joint(starts)
    sums = [sum(w * seconds[at] for seconds, w in given_starts) for at in range(4)]
    assert joint.at(joint.best) == pytest.approx(min(sums))
    assert joint.each_its_own() <= min(sums) + 1e-9
    worst = {w: max(one.regret(w) for one in starts) for w in WINDOWS}
    assert worst[joint.least_regret()] == min(worst.values())
    assert min(worst.values()) >= 0


def test_a_start_that_counts_more_moves_the_answer():
    small, large = [4, 1, 2, 3], [4, 3, 2, 1]
    assert Joint([start(small), start(large, 3)]).best == 128
    assert Joint([start(small, 3), start(large)]).best == 8


def test_errors_of_starts_add_up_as_if_they_had_one_direction():
    one, two = start([4, 2, 1, 3], seed=1), start([4, 2, 1, 3], seed=2)
    both = Joint([one, two])
    _, band = both.slower(8, 32)
    assert band == pytest.approx(one.bands.slower(8, 32)[1] + two.bands.slower(8, 32)[1])
    low, high = both.band(32)
    assert low < both.at(32) < high
    assert high - both.at(32) == pytest.approx(
        sum(one.bands.band()[1][2] - one.at(32) for one in (one, two))
    )


def test_what_is_saved_is_against_the_window_of_each_start():
    joint = Joint([start([4, 2, 1, 3], now=0), start([4, 2, 1, 3], 2, now=8)])
    assert joint.now() == 4 + 2 * 2
    assert joint.saved(32)[0] == pytest.approx(4 - 1 + 2 * (2 - 1))


def test_the_band_of_what_is_saved_is_at_least_the_spread_of_identical_runs():
    certain = Joint([start([4, 2, 1, 3], now=0, spread=0), start([2, 2, 1, 3], 3, spread=0)])
    assert certain.saved(32)[1] == pytest.approx(0.002 * (4 + 3 * 2))
    torn = start([4, 2, 1, 3], now=0, spread=0.1)
    assert Joint([torn]).saved(32)[1] == torn.bands.slower(0, 32)[1]


def test_confidence_falls_with_the_errors():
    certain = Joint([start([4, 2, 1, 3]), start([4, 2, 1, 3], seed=2)])
    torn = Joint([start([4, 1.02, 1, 1.01], spread=0.1), start([4, 1, 1, 1], spread=0.1, seed=2)])
    assert certain.confidence(32, 0.01) == 1
    assert 0.1 < torn.confidence(32, 0.01) < 0.9
