"""The rules of repeats and of the end, by hand."""

import math

import pytest

from foreread.analyzer.tuner.engines.racing import (
    NEGLIGIBLE,
    Sample,
    Z,
    decided,
    error_of_difference,
    noise,
)
from foreread.analyzer.tuner.engines.stopping import (
    Patience,
    Stage,
    expected_runs,
    gained_too_little,
)


def test_a_race_is_decided_when_it_is_won_or_cannot_be():
    assert decided(Z * 0.1, 0.1)
    assert not decided(Z * 0.1 - 1e-9, 0.1)
    assert decided(NEGLIGIBLE - Z * 0.1 - 1e-9, 0.1)
    assert not decided(NEGLIGIBLE - Z * 0.1 + 1e-9, 0.1)
    assert decided(0.0, NEGLIGIBLE / Z)  # as good as the best, and known to be
    assert not decided(1e9, math.inf)
    assert decided(-math.inf, 0.1)


def test_the_error_of_a_difference_by_hand():
    one = Sample(noise=0.1, runs=2, other_runs=4)
    variance = math.pi / 2 * 0.01 * 0.75
    assert error_of_difference([one]) == pytest.approx(math.sqrt(variance))
    assert error_of_difference([one, one]) == pytest.approx(math.sqrt(2 * variance) / 2)


def test_a_scenario_of_twice_the_weight_has_twice_the_error():
    heavy, light = Sample(0.1, 2, 4, weight=2.0), Sample(0.0, 2, 4)
    variance = math.pi / 2 * 0.01 * 0.75
    assert error_of_difference([heavy, light]) == pytest.approx(2 * math.sqrt(variance) / 3)


def test_noise_is_unknown_until_enough_was_repeated():
    assert noise(0.0, 2) == math.inf
    assert noise(0.04, 4) == pytest.approx(0.1 * math.sqrt(2))
    assert noise(1.0, 10_000) == pytest.approx(0.01, rel=0.001)


GAINS = {"default": 0.0, "good": 0.3, "better": 0.31, "best": 0.5}


def stops(bests, half=0.05, patience=None):
    stages = [Stage(best, 10 * (at + 1)) for at, best in enumerate(bests)]
    chosen = patience or Patience(generations=3, chromosomes=20)
    return gained_too_little(stages, chosen, GAINS.__getitem__, lambda: half)


def test_it_ends_when_the_last_stretch_gained_no_more_than_the_noise():
    assert not stops(["good"] * 3)
    assert stops(["good"] * 4)
    assert stops(["good", "good", "better", "better"])
    assert not stops(["good", "good", "better", "better"], half=0.001)
    assert not stops(["good", "good", "good", "best"])
    assert not stops(["default", "good", "better", "best"])
    assert stops(["good", "best", "best", "best", "best"], half=0.0)


def test_a_stretch_grows_with_the_genes_and_the_scenarios():
    assert Patience().of(4, 1).chromosomes == 28
    assert Patience().of(37, 1).chromosomes > 3 * Patience().of(4, 1).chromosomes
    assert Patience().of(4, 3).chromosomes > Patience().of(4, 1).chromosomes
    assert Patience(chromosomes=7).of(37, 3).chromosomes == 7


def test_more_genes_and_scenarios_are_expected_to_take_more_runs():
    """About as many as madplay's landscape took, alone and in three scenarios."""
    assert expected_runs(4, 1) == pytest.approx(46, abs=3)
    assert expected_runs(4, 3) == pytest.approx(112, rel=0.15)
    assert expected_runs(37, 1) > 110


def test_a_stretch_has_enough_new_chromosomes():
    assert not stops(["good"] * 4, patience=Patience(generations=3, chromosomes=31))
    assert stops(["good"] * 5, patience=Patience(generations=3, chromosomes=31))
    assert not stops([])
