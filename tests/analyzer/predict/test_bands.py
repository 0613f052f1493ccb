"""Bands of predicted seconds: the difference of two windows is known better than either."""

from __future__ import annotations

from math import hypot

import numpy as np
import pytest

from foreread.analyzer.predict.bands import DEVIATIONS, REPLAY, Bands, resampled

WINDOWS = [0, 8, 32, 128]


def bands(seconds, draws, candidates=WINDOWS):
    at = np.array(seconds)
    return Bands(WINDOWS, at, np.array(draws, float), list(candidates), REPLAY * at)


def test_the_band_is_of_the_draws_and_of_the_replay_and_never_below_nothing():
    low, high = bands([4, 2, 1, 0.1], [[4, 2, 1, 0], [4, 4, 1, 1]]).band()
    half = [
        DEVIATIONS * hypot(std, REPLAY * at) for std, at in ((0, 4), (1, 2), (0, 1), (0.5, 0.1))
    ]
    assert low.tolist() == pytest.approx([4 - half[0], 2 - half[1], 1 - half[2], 0])
    assert high.tolist() == pytest.approx([4 + half[0], 2 + half[1], 1 + half[2], 0.1 + half[3]])


def test_errors_shared_by_all_windows_do_not_affect_their_difference():
    """A slower disk makes all starts longer: 1.05 s stays more than 1 s, whatever the disk."""
    seconds = np.array([4, 1.05, 1.0, 3])
    found = bands(seconds, np.outer([0.8, 0.9, 1.1, 1.2], seconds))
    low, high = found.band()
    assert low[1] < 1 < high[1]
    assert (found.best, found.smallest_within()) == (32, 32)


def test_alternating_windows_differ_in_memory():
    draws = [[4, 1.0, 1.1, 3], [4, 1.1, 1.0, 3]]
    found = bands([4, 1.05, 1.0, 3], draws)
    assert (found.best, found.smallest_within()) == (32, 8)


def test_a_change_below_the_difference_of_two_starts_is_not_a_difference():
    exact = [[4, 1.0019, 1.0, 3]]
    assert bands(exact[0], exact).smallest_within() == 8
    exact = [[4, 1.0021, 1.0, 3]]
    assert bands(exact[0], exact).smallest_within() == 32


def test_only_requested_settings_are_chosen():
    found = bands([4, 1.0, 1.1, 3], [[4, 1.0, 1.1, 3]], candidates=[0, 32])
    assert (found.best, found.smallest_within()) == (32, 32)


def test_one_capture_that_took_long_widens_the_band_not_the_median():
    rng = np.random.default_rng(1)
    drawn = [np.array([[1.0]]), np.array([[1.1]]), np.array([[9.0]])]
    found = resampled(drawn, rng, 2000)[:, 0]
    assert np.median(found) == 1.1
    # The slow one is the median where it was drawn twice or thrice: 7 of 27.
    assert np.mean(found == 9.0) == pytest.approx(7 / 27, abs=0.03)
