from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property_tests import examples
from tuner_spaces import BOARD, spaces

from foreread.analyzer.tuner.engines.operators import spread
from foreread.analyzer.tuner.engines.surrogate import (
    Guess,
    Runs,
    Surrogate,
    correlation,
    expected_improvement,
    whitened,
)
from foreread.analyzer.tuner.space.genes import Gene, Space

NUMBERS = Space(
    tuple(
        Gene(name=name, kind="integer", highest=9, default=0)
        for name in ("slope", "useless", "other")
    )
)


def points_of(model, chromosomes, expected=None, scenarios=1):
    """Return points of which one source expects the same in every scenario."""
    values = np.zeros(len(chromosomes)) if expected is None else np.array(expected, dtype=float)
    values = np.repeat(values[:, None], scenarios, axis=1)
    return model.points(chromosomes, values[:, :, None], values)


def runs_of(worth, counts=None, squares=0.0):
    """Return runs of each in the only scenario."""
    places = np.arange(len(worth))
    made = np.ones(len(worth)) if counts is None else np.array(counts)
    return Runs(places, np.zeros_like(places), made, np.array(worth), np.array([squares]))


def learnt(space, chromosomes, worth, expected=None, counts=None, squares=0.0, draws=10):
    model = Surrogate(space, Random(1))
    points = points_of(model, chromosomes, expected)
    for _ in range(draws):
        model.learn(points, runs_of(worth, counts, squares))
    return model


def guessed(model, chromosomes, expected=None):
    """Return mean and standard deviation, averaged over the views."""
    guess = model.guess(points_of(model, chromosomes, expected))
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
    noise = model.guess(points_of(model, measured)).noise
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
    strange = model.strangeness(points_of(model, [*measured, *others]))
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


def test_a_bordered_factor_whitens_as_a_solved_system_does(rng):
    drawn = np.random.default_rng(2).normal(size=(3, 6, 9))
    covariances = drawn @ drawn.transpose(0, 2, 1) + 0.1 * np.eye(6)
    rest = np.arange(6) - 2.0
    white, logs = whitened(covariances, rest)
    for covariance, one, log in zip(covariances, white, logs, strict=True):
        factor = np.linalg.cholesky(covariance)
        assert one == pytest.approx(np.linalg.solve(factor, rest))
        assert log == pytest.approx(np.log(np.diag(factor)).sum())


LOADS = 2  # scenarios


def beside_loads(worth, rng, noises=(0.001, 0.001), draws=15):
    """Return a model of chromosomes run once in each of two scenarios, and the chromosomes."""
    measured = spread(NUMBERS, 16, rng)
    model = Surrogate(NUMBERS, Random(1), [0.5] * LOADS)
    rows = np.repeat(np.arange(16), LOADS)
    scenarios = np.tile(np.arange(LOADS), 16)
    means = [worth(one, s) + rng.gauss(0, noises[s]) for one in measured for s in range(LOADS)]
    runs = Runs(rows, scenarios, np.ones(32), np.array(means), np.zeros(LOADS))
    for _ in range(draws):
        model.learn(points_of(model, measured, scenarios=LOADS), runs)
    return model, measured


def test_what_counts_is_the_mean_over_the_scenarios(rng):
    def worth(one, scenario):
        return 0.04 * one["slope"] * (1 if scenario else -0.5)

    model, _ = beside_loads(worth, rng)
    new = [{"slope": slope, "useless": 4, "other": 3} for slope in (1, 5, 8)]
    guess = model.guess(points_of(model, new, scenarios=LOADS))
    expected = [0.01 * one["slope"] for one in new]
    assert guess.mean.mean(axis=0) == pytest.approx(expected, abs=0.01)


def test_a_run_shows_most_where_runs_differ_least(rng):
    model, _ = beside_loads(lambda one, _: 0.04 * one["slope"], rng, noises=(0.002, 0.08))
    quiet, noisy = model.informs(
        points_of(model, [{"slope": 3, "useless": 9, "other": 9}], scenarios=LOADS)
    )
    assert quiet > 1.5 * noisy > 0


def test_a_run_shows_most_in_the_scenario_that_a_chromosome_was_not_run_in(rng):
    """Genes act differently in the two, so a run in one says little of the other."""
    measured = spread(NUMBERS, 16, rng)
    model = Surrogate(NUMBERS, Random(1), [0.5] * LOADS)
    rows = np.array([*np.repeat(np.arange(15), LOADS), 15])
    scenarios = np.array([*np.tile(np.arange(LOADS), 15), 0])
    signs = np.where(scenarios == 0, 1.0, -1.0)
    means = np.array([0.05 * measured[row]["slope"] for row in rows]) * signs
    means += np.array([rng.gauss(0, 0.003) for _ in means])
    runs = Runs(rows, scenarios, np.ones(31), means, np.zeros(LOADS))
    for _ in range(15):
        model.learn(points_of(model, measured, scenarios=LOADS), runs)
    again, elsewhere = model.informs(points_of(model, [measured[15]], scenarios=LOADS))
    assert elsewhere > 2 * again
