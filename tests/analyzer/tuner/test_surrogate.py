import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tuner_spaces import BOARD, spaces

from analyzer.tuner.genes import Gene, Space
from analyzer.tuner.operators import spread
from analyzer.tuner.surrogate import Guess, Surrogate, correlation, expected_improvement

NUMBERS = Space(
    tuple(
        Gene(name=name, kind="integer", highest=9, default=0)
        for name in ("slope", "useless", "other")
    )
)


def learnt(space, chromosomes, worth, expected=None):
    model = Surrogate(space)
    nothing = np.zeros(len(chromosomes))
    model.learn(chromosomes, np.array(worth), nothing if expected is None else expected, fit=True)
    return model


def test_it_knows_what_was_measured_and_is_less_sure_of_the_rest(rng):
    measured = spread(NUMBERS, 12, rng)
    worth = [0.02 * one["slope"] for one in measured]
    model = learnt(NUMBERS, measured, worth)
    known = model.guess(measured, np.zeros(12))
    far = model.guess([{"slope": 9, "useless": 0, "other": 9}], np.zeros(1))
    assert known.mean == pytest.approx(worth, abs=0.004)
    assert far.deviation[0] > known.deviation.max()


def test_it_finds_which_genes_matter(rng):
    measured = spread(NUMBERS, 20, rng)
    model = learnt(NUMBERS, measured, [0.03 * one["slope"] for one in measured])
    assert model.matters[0] > 5 * max(model.matters[1:])


def test_what_was_expected_counts_where_nothing_was_measured(rng):
    measured = [one for one in spread(NUMBERS, 20, rng) if one["slope"] < 6]
    expected = np.array([0.05 * one["slope"] for one in measured])
    model = learnt(NUMBERS, measured, expected.tolist(), expected)
    beyond = [{"slope": 9, "useless": 0, "other": 0}]
    assert model.guess(beyond, np.array([0.45])).mean[0] == pytest.approx(0.45, abs=0.05)


def test_an_expectation_that_proved_wrong_counts_less(rng):
    measured = [one for one in spread(NUMBERS, 20, rng) if one["slope"] < 6]
    expected = np.array([0.05 * one["slope"] for one in measured])
    model = learnt(NUMBERS, measured, (0.2 * expected).tolist(), expected)
    beyond = [{"slope": 9, "useless": 0, "other": 0}]
    assert model.guess(beyond, np.array([0.45])).mean[0] < 0.3


@given(spaces(), st.randoms(use_true_random=False), st.sampled_from([0.0, 1e-9, 3.0]))
@settings(max_examples=30, deadline=None)
def test_it_can_be_taught_anything(space, random, size):
    measured = [*spread(space, 6, random), space.default()]
    worth = [size * random.random() for _ in measured]
    guess = learnt(space, measured, worth).guess(measured, np.zeros(len(measured)))
    assert np.isfinite(guess.mean).all() and (guess.deviation > 0).all()


@given(spaces())
@settings(max_examples=30)
def test_correlations_make_covariances(space):
    for gene in space.genes:
        alike = correlation(gene)
        assert np.allclose(alike, alike.T) and np.allclose(np.diag(alike), 1)
        assert np.linalg.eigvalsh(alike).min() > -1e-9


def test_alleles_that_do_not_apply_are_like_no_other():
    slice_idle = BOARD.genes[2]
    assert correlation(slice_idle)[-1].tolist() == [0.0] * len(slice_idle.alleles) + [1.0]


def test_expected_improvement_is_that_of_a_normal_distribution():
    drawn = np.random.default_rng(1).normal(0.3, 0.2, 400_000)
    hoped = expected_improvement(Guess(np.array([0.3]), np.array([0.2])), 0.4)
    assert hoped[0] == pytest.approx(np.maximum(drawn - 0.4, 0).mean(), rel=0.02)
