from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property_tests import examples
from tuner_spaces import BOARD, spaces

from analyzer.tuner.engines.operators import spread
from analyzer.tuner.engines.surrogate import (
    Guess,
    Runs,
    Surrogate,
    correlation,
    expected_improvement,
)
from analyzer.tuner.space.genes import Gene, Space

NUMBERS = Space(
    tuple(
        Gene(name=name, kind="integer", highest=9, default=0)
        for name in ("slope", "useless", "other")
    )
)


def by_source(expected):
    """Return what one source expects as the column that Points has of it."""
    return np.array(expected, dtype=float)[:, None]


def learnt(space, chromosomes, worth, expected=None, counts=None, squares=0.0, draws=10):
    model = Surrogate(space, Random(1))
    nothing = np.zeros(len(chromosomes))
    points = model.points(chromosomes, by_source(nothing if expected is None else expected))
    runs = Runs(nothing + 1.0 if counts is None else np.array(counts), np.array(worth), squares)
    for _ in range(draws):
        model.learn(points, runs)
    return model


def guessed(model, chromosomes, expected=None):
    """Return mean and standard deviation, averaged over the views."""
    nothing = np.zeros(len(chromosomes))
    points = model.points(chromosomes, by_source(nothing if expected is None else expected))
    guess = model.guess(points)
    return guess.mean.mean(axis=0), guess.deviation.mean(axis=0)


def test_estimates_are_exact_at_measured_points_and_uncertain_elsewhere(rng):
    measured = spread(NUMBERS, 12, rng)
    worth = [0.02 * one["slope"] for one in measured]
    model = learnt(NUMBERS, measured, worth)
    mean, deviation = guessed(model, measured)
    assert mean == pytest.approx(worth, abs=0.008)
    far = guessed(model, [{"slope": 9, "useless": 0, "other": 9}])
    assert far[1][0] > deviation.max()


def test_it_finds_which_genes_matter(rng):
    measured = spread(NUMBERS, 20, rng)
    model = learnt(NUMBERS, measured, [0.03 * one["slope"] for one in measured])
    assert model.matters[0] > 5 * max(model.matters[1:])


def test_expected_values_are_used_without_measurements(rng):
    measured = [one for one in spread(NUMBERS, 20, rng) if one["slope"] < 6]
    expected = np.array([0.05 * one["slope"] for one in measured])
    model = learnt(NUMBERS, measured, expected.tolist(), expected)
    beyond = [{"slope": 9, "useless": 0, "other": 0}]
    assert guessed(model, beyond, np.array([0.45]))[0][0] == pytest.approx(0.45, abs=0.05)


def test_an_expectation_that_proved_wrong_counts_less(rng):
    measured = [one for one in spread(NUMBERS, 20, rng) if one["slope"] < 6]
    expected = np.array([0.05 * one["slope"] for one in measured])
    model = learnt(NUMBERS, measured, (0.2 * expected).tolist(), expected)
    beyond = [{"slope": 9, "useless": 0, "other": 0}]
    assert guessed(model, beyond, np.array([0.45]))[0][0] < 0.3


def test_repeats_determine_the_noise(rng):
    """Four runs each, which differ by 5 %; their means do as well, and say nothing of genes."""
    measured = spread(NUMBERS, 20, rng)
    worth = [rng.gauss(0, 0.025) for _ in measured]
    model = learnt(NUMBERS, measured, worth, counts=[4.0] * 20, squares=60 * 0.05**2)
    noise = model.guess(model.points(measured, np.zeros((20, 1)))).noise
    assert noise.mean() == pytest.approx(0.05, rel=0.2)


def test_the_more_runs_the_surer(rng):
    measured = spread(NUMBERS, 20, rng)
    worth = [0.02 * one["slope"] + rng.gauss(0, 0.02) for one in measured]
    model = learnt(NUMBERS, measured, worth, counts=[9.0] + [1.0] * 19, squares=8 * 0.03**2)
    _, deviation = guessed(model, measured)
    assert deviation[0] < deviation[1:].min()


def test_measured_settings_are_known_and_distant_ones_are_not(rng):
    measured = spread(NUMBERS, 5, rng)
    model = learnt(NUMBERS, measured, [0.0] * 5)
    others = [one for one in NUMBERS.enumerate() if one not in measured]
    unknown = [0.0] * (5 + len(others))
    strange = model.strangeness(model.points([*measured, *others], by_source(unknown)))
    assert strange[:5] == pytest.approx([0.0] * 5, abs=1e-4) and strange[5:].min() > 0.01
    strangest = others[int(np.argmax(strange[5:]))]
    gaps = [max(abs(strangest[name] - one[name]) for name in strangest) for one in measured]
    assert min(gaps) >= 4


@given(spaces(), st.randoms(use_true_random=False), st.sampled_from([0.0, 1e-9, 3.0]))
@settings(max_examples=examples(30), deadline=None)
def test_it_can_be_taught_anything(space, random, size):
    measured = [*spread(space, 6, random), space.default()]
    worth = [size * random.random() for _ in measured]
    mean, deviation = guessed(learnt(space, measured, worth, draws=3), measured)
    assert np.isfinite(mean).all() and (deviation > 0).all()


@given(spaces())
@settings(max_examples=examples(30))
def test_correlations_make_covariances(space):
    for gene in space.genes:
        alike = correlation(gene)
        assert np.allclose(alike, alike.T) and np.allclose(np.diag(alike), 1)
        assert np.linalg.eigvalsh(alike).min() > -1e-9


def test_alleles_that_do_not_apply_are_like_no_other():
    slice_idle = BOARD.genes[2]
    assert correlation(slice_idle)[-1].tolist() == [0.0] * len(slice_idle.alleles) + [1.0]


def hoped(mean, deviation, noise, best):
    guess = Guess(*(np.array([[one]]) for one in (mean, deviation, noise)))
    return expected_improvement(guess, np.array([[best]]))[0]


def test_expected_improvement_is_that_of_a_normal_distribution():
    drawn = np.random.default_rng(1).normal(0.3, 0.2, 400_000)
    expected = np.maximum(drawn - 0.4, 0).mean()
    assert hoped(0.3, 0.2, 0.0, 0.4) == pytest.approx(expected, rel=0.02)


def test_a_noisy_run_has_a_small_expected_improvement():
    sure = hoped(0.3, 0.2, 0.0, 0.4)
    assert hoped(0.3, 0.2, 0.15, 0.4) == pytest.approx(sure * (1 - 0.15 / 0.25))
