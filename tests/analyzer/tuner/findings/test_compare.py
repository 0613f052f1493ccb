"""Two chromosomes compared by their runs."""

import math
import random

import pytest

from foreread.analyzer.tuner.findings.compare import Run, Runs, student_t

A, B, C = {"g": 0}, {"g": 1}, {"g": 2}


def test_student_t_is_that_of_the_tables():
    """Abramowitz and Stegun, table 26.10."""
    for freedom, t in ((4, 2.776), (5, 2.571), (10, 2.228), (30, 2.042), (1e9, 1.960)):
        assert student_t(freedom) == pytest.approx(t, abs=0.001)


def test_the_interval_has_its_nominal_coverage():
    rng = random.Random(0)
    covered = 0
    for _ in range(400):
        runs = [Run(A, "idle", math.exp(rng.gauss(0, 0.1))) for _ in range(4)]
        runs += [Run(B, "idle", math.exp(rng.gauss(0.3, 0.1))) for _ in range(4)]
        change = Runs(runs).change(B, A)
        covered += change.low <= math.expm1(0.3) <= change.high
    assert covered / 400 == pytest.approx(0.95, abs=0.035)  # three standard errors


def noisy(chromosome, deviation, rng, repeats=5):
    return [Run(chromosome, "reader", math.exp(rng.gauss(0, deviation))) for _ in range(repeats)]


def test_the_noise_of_a_third_chromosome_hides_no_saving():
    """As bfq with two requests beside a reader: 1.6 s or more than 20, while others vary by 1 %."""
    rng = random.Random(1)
    quiet = [*noisy(A, 0.01, rng), *(Run(B, "reader", 0.9 * one) for one in (0.99, 1.0, 1.01) * 2)]
    runs = [*quiet, *(Run(C, "reader", cost) for cost in (1.6, 20.0, 4.4, 20.0, 1.9))]
    alone, beside = Runs(quiet).change(B, A), Runs(runs).change(B, A)
    assert beside.saves and beside.effect == alone.effect == pytest.approx(-0.1, abs=0.02)
    assert (beside.low, beside.high) == pytest.approx((alone.low, alone.high), abs=0.005)


@pytest.mark.thorough
def test_quiet_chromosomes_make_no_noisy_one_a_winner():
    """Of truly equal chromosomes one in forty is shown to save, whatever the noise of each."""
    rng, others = random.Random(2), [{"g": number} for number in range(2, 6)]
    saves = 0
    for _ in range(1000):
        runs = noisy(A, 0.02, rng) + noisy(B, 0.2, rng)
        runs += [run for other in others for run in noisy(other, 0.02, rng)]
        saves += Runs(runs).change(B, A).saves
    assert saves / 1000 <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / 1000)  # three standard errors


def test_a_chromosome_of_few_runs_has_the_noise_of_all_repeats():
    rng = random.Random(3)
    runs = [*noisy(A, 0.02, rng), *noisy(C, 0.02, rng), Run(B, "reader", 0.5)]
    change = Runs(runs).change(B, A)
    assert change.saves and change.low < change.effect < change.high


def test_each_scenario_counts_alike_and_has_its_own_noise():
    runs = [Run(A, "idle", 1.0)] * 2 + [Run(B, "idle", 0.5)] * 2
    runs += [Run(A, "reader", x) for x in (10.0, 11.0)] + [Run(B, "reader", x) for x in (10.0, 9.0)]
    found = Runs(runs)
    both, idle, reader = (found.change(B, A, s) for s in (None, "idle", "reader"))
    assert idle.effect == idle.low == idle.high == pytest.approx(-0.5)
    assert reader.low < 0 < reader.high and not reader.saves
    assert both.effect == pytest.approx(math.sqrt((1 + idle.effect) * (1 + reader.effect)) - 1)
    assert idle.saves and not idle.costs
    assert found.noise("idle") == 0.0 and found.noise("reader") > 0.05
    assert found.scenarios == ("idle", "reader") and found.chromosomes == [A, B]


def test_the_change_over_scenarios_is_weighted():
    runs = [Run(A, "idle", x) for x in (1.0, 1.02)] + [Run(B, "idle", x) for x in (0.5, 0.51)]
    runs += [Run(A, "reader", x) for x in (9.0, 11.0)] + [Run(B, "reader", x) for x in (18.0, 22.0)]
    heavy = {weight: Runs(runs, {"reader": weight}).change(B, A) for weight in (1.0, 3.0, 1000.0)}
    assert heavy[1.0] == Runs(runs).change(B, A)
    assert heavy[1.0].effect == pytest.approx(0, abs=1e-9)
    assert heavy[3.0].effect == pytest.approx((0.5 * 2**3) ** (1 / 4) - 1)
    alone = Runs(runs).change(B, A, "reader")
    for part in ("effect", "low", "high"):
        assert getattr(heavy[1000.0], part) == pytest.approx(getattr(alone, part), abs=0.02)


def test_runs_of_another_chromosome_tell_the_noise():
    runs = Runs(
        [Run(A, "idle", 1.0), Run(B, "idle", 0.9), Run(C, "idle", 2.0), Run(C, "idle", 2.2)]
    )
    change = runs.change(B, A)
    assert change.effect == pytest.approx(-0.1) and change.low < -0.1 < change.high


def test_without_repeats_there_is_no_interval():
    change = Runs([Run(A, "idle", 1.0), Run(B, "idle", 0.1)]).change(B, A)
    assert change.low is None and not change.saves and not change.costs


def test_runs_of_different_scenarios_are_not_compared():
    runs = Runs([Run(A, "idle", 1.0), Run(B, "reader", 0.1)])
    assert runs.change(B, A) is None and runs.change(C, A) is None
    assert runs.count(A, ("idle", "reader")) == 0 and runs.count(A, ("idle",)) == 1


def test_the_order_of_genes_does_not_matter():
    runs = Runs([Run({"a": 1, "b": "x"}, "idle", 1.0)])
    assert runs.costs({"b": "x", "a": 1}, "idle") == [1.0]
