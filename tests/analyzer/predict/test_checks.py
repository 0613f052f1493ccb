"""Doubts: what they add up to, and what they add to the band."""

import numpy as np
import pytest

from foreread.analyzer.predict.bands import DEVIATIONS, REPLAY, Bands
from foreread.analyzer.predict.doubts.doubt import Doubt, distinct, total_spread


def test_spreads_add_in_quadrature():
    assert total_spread([Doubt("a", 0.03), Doubt("b", 0.04), Doubt("c")]) == 0.05
    assert total_spread([]) == 0


def test_equal_doubts_of_several_captures_count_once_and_the_widest_does():
    found = distinct([Doubt("a", 0.01), Doubt("b"), Doubt("a", 0.02), Doubt("a")])
    assert found == [Doubt("a", 0.02), Doubt("b")]


def test_a_spread_widens_the_band_of_every_window():
    seconds = np.array([4.0, 2.0])
    draws = np.array([seconds, seconds])
    bands = Bands([0, 1], seconds, draws, [0, 1], REPLAY * seconds, spread=0.03)
    low, high = bands.band()
    half = DEVIATIONS * np.hypot(REPLAY, 0.03) * seconds
    assert low == pytest.approx(seconds - half)
    assert high == pytest.approx(seconds + half)
