"""The noise of a chromosome: pooled where all agree, its own where it stands out."""

import math
import random
from statistics import fmean, variance

import pytest

from foreread.analyzer.tuner.findings.noise import OWN, Noises, digamma, trigamma


def drawn(rng, deviation, runs=OWN):
    return [rng.gauss(0, deviation) for _ in range(runs)]


@pytest.mark.parametrize(
    ("x", "psi", "its_derivative"),
    [
        (0.5, -1.9635100260, 4.9348022005),
        (1.0, -0.5772156649, 1.6449340668),
        (2.0, 0.4227843351, 0.6449340668),
        (10.0, 2.2517525891, 0.1051663357),
    ],
)
def test_digamma_and_trigamma_are_those_of_the_tables(x, psi, its_derivative):
    """Abramowitz and Stegun, table 6.1 and 6.3.2, 6.4.2."""
    assert digamma(x) == pytest.approx(psi, abs=1e-7)
    assert trigamma(x) == pytest.approx(its_derivative, abs=1e-7)


def test_variances_that_agree_are_pooled():
    runs = [[0.0, 0.1, -0.1, 0.05, -0.05 + 0.001 * number] for number in range(6)]
    noises = Noises(runs)
    assert noises.of(runs[0]) == noises.pooled
    assert noises.pooled.freedom == 24
    assert noises.pooled.variance == pytest.approx(fmean(map(variance, runs)))


def test_a_variance_that_stands_out_is_its_own_and_moves_no_other():
    rng = random.Random(1)
    quiet, wild = [drawn(rng, 0.02) for _ in range(5)], [0.5, 3.0, 1.5, 3.0, 0.6]
    noises = Noises([*quiet, wild])
    assert noises.of(wild).variance == pytest.approx(variance(wild))
    assert noises.of(wild).freedom == len(wild) - 1
    for logs in quiet:
        found = noises.of(logs)
        assert found.variance < 2 * max(map(variance, quiet)) < noises.pooled.variance / 100
        assert found.freedom > OWN - 1


def test_a_variance_below_the_others_is_drawn_up():
    rng = random.Random(2)
    others = [drawn(rng, deviation) for deviation in (0.01, 0.02, 0.05, 0.1, 0.3)]
    lucky = [1.0, 1.0001, 1.0, 0.9999, 1.0]
    assert Noises([*others, lucky]).of(lucky).variance > 10 * variance(lucky)


def test_few_runs_have_the_noise_of_all_repeats():
    rng = random.Random(3)
    runs = [drawn(rng, 0.02), drawn(rng, 0.5), [1.0, 1.1]]
    noises = Noises(runs)
    assert noises.of(runs[2]) == noises.of([2.0]) == noises.pooled
    assert noises.pooled.freedom == 2 * (OWN - 1) + 1


def test_equal_runs_have_no_noise_and_single_ones_none_that_is_known():
    assert Noises([[1.0] * OWN, [2.0] * OWN]).of([1.0] * OWN).variance == 0.0
    assert Noises([[1.0], [2.0]]).pooled is None
    assert Noises([[1.0], [2.0]]).of([1.0]) is None
    some = Noises([[1.0] * OWN, drawn(random.Random(4), 0.02), drawn(random.Random(5), 0.03)])
    assert 0 < some.of([1.0] * OWN).variance < math.inf
