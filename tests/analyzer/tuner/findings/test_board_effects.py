"""The effects of boards: known ones are found, and what runs cannot show is not claimed."""

import math
import random

import pytest

from foreread.analyzer.tuner.evaluation import Attempt
from foreread.analyzer.tuner.findings.board_effects import BoardEffect, board_effects
from foreread.analyzer.tuner.findings.contest import good_runs
from foreread.analyzer.tuner.store.records import Evaluation

TRUE = (-0.2, 0.05, 0.15)


def run(number, allele, board, seconds, scenario="idle", status="ok"):
    attempt = Attempt(status, seconds if status == "ok" else None)
    return Evaluation(number, {"gene": allele}, scenario, number, 0, attempt, 1.0, 2.0, board)


def runs(count=90, noise=0.02, effects=TRUE, seed=1):
    rng = random.Random(seed)
    made = []
    for number in range(count):
        allele, board = rng.randrange(6), rng.randrange(len(effects))
        log = 0.1 * allele + effects[board] + rng.gauss(0, noise)
        made.append(run(number, allele, board, math.exp(log)))
    return made


def test_known_effects_are_found_within_their_intervals():
    covered = 0
    for seed in range(20):
        found = board_effects(runs(seed=seed), 3)
        assert sum(one.effect for one in found) == pytest.approx(0, abs=1e-9)
        assert [one.effect for one in found] == pytest.approx(TRUE, abs=0.03)
        covered += sum(one.low <= true <= one.high for one, true in zip(found, TRUE, strict=True))
    assert covered >= 52  # of 60, at 95 %


def test_taken_off_they_are_no_noise():
    made = runs()
    effects = [one.effect for one in board_effects(made, 3)]
    assert good_runs(made, "seconds", effects).noise() == pytest.approx(0.02, rel=0.3)
    assert good_runs(made, "seconds").noise() > 0.1


def test_of_a_rate_more_is_less_cost():
    rates = (2.0, 1.0)
    made = [run(n, n % 3, board, rate) for n in range(6) for board, rate in enumerate(rates)]
    assert board_effects(made, 2, "rate")[0].effect == pytest.approx(-math.log(2) / 2)


@pytest.mark.parametrize(
    "made",
    [
        [],
        [run(1, 1, 0, 1.0), run(2, 2, 1, 2.0)],  # nothing that both have run
        [run(1, 1, 0, 1.0), run(2, 1, 1, 2.0)],  # no freedom for an error
        [run(n, 1, n % 2, None, status="failed") for n in range(8)],
    ],
)
def test_what_runs_cannot_show_is_0_without_an_interval(made):
    assert board_effects(made, 2) == [BoardEffect(), BoardEffect()]


def test_one_board_has_no_effect():
    assert board_effects(runs(effects=(0.5,)), 1) == [BoardEffect()]
