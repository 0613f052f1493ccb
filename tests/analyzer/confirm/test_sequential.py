"""Looking after every pair and stopping when something is seen: rates of wrong answers.

By simulation with fixed random seeds; each bound is the promised 5 % and never widened.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rings import further

from foreread.analyzer.confirm.sequential import (
    CONFIDENCE,
    FEWEST,
    PRIOR,
    assess,
    half_width,
    orders,
)

WRONG = 1 - CONFIDENCE
PAIRS = 30
STARTS = 1000

# Noise of one run after another (log seconds), of a machine on which both windows are as fast.
NULLS = {
    "normal, 0.5 %": lambda rng, n: rng.normal(0, 0.005, n),
    "normal, 2 %": lambda rng, n: rng.normal(0, 0.02, n),
    "normal, 10 %": lambda rng, n: rng.normal(0, 0.1, n),
    "Student's t, 3 degrees": lambda rng, n: 0.02 * rng.standard_t(3, n),
    "Cauchy": lambda rng, n: 0.01 * rng.standard_cauchy(n).clip(-300, 300),
    "skewed": lambda rng, n: 0.02 * rng.lognormal(0, 1, n),
    "two speeds": lambda rng, n: rng.choice([0.0, 0.1], n) + rng.normal(0, 0.002, n),
    "two speeds, one rare": lambda rng, n: rng.choice([0.0, 0.0, 0.0, 0.1], n),
    "one run in ten disturbed": lambda rng, n: rng.normal(0, 0.01, n) + 0.4 * (rng.random(n) < 0.1),
    "becomes slower": lambda rng, n: 0.02 * np.arange(n) + rng.normal(0, 0.003, n),
    "becomes faster, then stays": lambda rng, n: 0.3 * np.exp(-np.arange(n) / 4),
    "random walk": lambda rng, n: np.cumsum(rng.normal(0, 0.02, n)),
    "every second run is slower": lambda rng, n: 0.05 * (np.arange(n) % 2),
    "slow for a while": lambda rng, n: 0.2 * ((np.arange(n) // 5) % 2) + rng.normal(0, 0.005, n),
}


def as_pairs(differences):
    return [(math.exp(one), 1.0) for one in differences]


def first_answer(differences):
    """Return the outcome at which one stops who looks after every pair, and the pairs made."""
    pairs = as_pairs(differences)
    for n in range(1, len(pairs) + 1):
        found = assess(pairs[:n])
        if found.decided:
            return found.outcome, n
    return "undecided", len(pairs)


def differences_of(noise, seed):
    """Return the differences that runs in the order of the procedure would show."""
    order, runs = orders(random.Random(seed)), iter(noise)
    made = []
    for _ in range(len(noise) // 2):
        seconds = [0.0, 0.0]
        for which in next(order):
            seconds[which] = next(runs)
        made.append(seconds[0] - seconds[1])
    return made


@pytest.mark.parametrize("noise", further(NULLS, ("random walk",)))
def test_false_confirmations_stay_below_five_per_cent_whatever_the_noise(noise):
    rng = np.random.default_rng(11)
    answers = Counter(
        first_answer(differences_of(NULLS[noise](rng, 2 * PAIRS), seed))[0]
        for seed in range(STARTS)
    )
    assert answers["confirmed"] + answers["contradicted"] <= WRONG * STARTS, answers


@pytest.mark.thorough
@pytest.mark.parametrize("gain", [0.02, -0.1, 0.0, 0.08])
def test_the_interval_covers_the_gain_at_every_look(gain):
    rng = np.random.default_rng(5)
    missed = 0
    for _ in range(STARTS):
        differences = rng.normal(-math.log1p(-gain), 0.02, PAIRS)
        looks = [assess(as_pairs(differences[:n])) for n in range(FEWEST, PAIRS + 1)]
        missed += any(look.low is not None and not look.low <= gain <= look.high for look in looks)
    assert missed <= WRONG * STARTS


@pytest.mark.parametrize(
    ("gain", "spread", "outcome", "most_pairs"),
    [
        (0.08, 0.01, "confirmed", 4),
        (0.08, 0.03, "confirmed", 14),
        (-0.08, 0.01, "contradicted", 4),
        (0.0, 0.003, "too small", 6),
    ],
)
def test_a_clear_case_is_answered_soon(gain, spread, outcome, most_pairs):
    rng = np.random.default_rng(3)
    answers = [
        first_answer(rng.normal(-math.log1p(-gain), spread, PAIRS)) for _ in range(STARTS // 5)
    ]
    right = [pairs for answer, pairs in answers if answer == outcome]
    assert len(right) >= 0.95 * len(answers)
    assert np.median(right) <= most_pairs


def bayes_factor(differences, m):
    """Return B(m) as it stands in the module's text, in exact fractions but for the roots."""
    exact = [Fraction(one) for one in differences]
    n = len(exact)
    mean = sum(exact) / n
    variance = sum((one - mean) ** 2 for one in exact) / (n - 1)
    t_squared = float(n * (mean - Fraction(m)) ** 2 / variance)
    k = n * PRIOR**2
    ratio = (1 + t_squared / (n - 1)) / (1 + t_squared / ((n - 1) * (1 + k)))
    return (1 + k) ** -0.5 * ratio ** (n / 2)


@given(st.lists(st.floats(-0.5, 0.5), min_size=FEWEST, max_size=40))
def test_the_interval_ends_where_the_test_rejects(differences):
    spread = np.std(differences, ddof=1)
    if spread < 0.01:
        return
    width = half_width(differences)
    assert width is not None
    mean = float(np.mean(differences))
    for end in (mean - width, mean + width):
        assert bayes_factor(differences, end) == pytest.approx(1 / WRONG, rel=1e-6)


def test_equal_runs_do_not_claim_to_know_everything():
    found = assess([(1.0001, 0.9003)] * FEWEST)
    assert found.outcome == "confirmed"
    assert found.high - found.low > 0.005


def test_a_coarse_clock_widens_the_interval():
    fine = assess([(0.5001, 0.4801)] * 4)
    coarse = assess([(0.50, 0.48)] * 4)
    assert coarse.high - coarse.low > 3 * (fine.high - fine.low)


@pytest.mark.parametrize("pair", [(0.0, 1.0), (-1.0, 1.0), (1.0, math.inf), (math.nan, 1.0)])
def test_invalid_seconds_are_refused(pair):
    with pytest.raises(ValueError, match="positive"):
        assess([pair])


@given(st.lists(st.tuples(st.floats(1e-9, 1e9), st.floats(1e-9, 1e9)), max_size=12))
def test_any_seconds_give_an_answer_in_order(pairs):
    found = assess(pairs)
    if found.low is not None:
        assert found.low <= found.gain <= found.high <= 1
