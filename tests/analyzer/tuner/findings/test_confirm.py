"""The winner with only the genes that matter, on landscapes whose truth is known."""

import math
import random

import pytest
from tuner_landscapes import BEST, SPACE, USELESS, bred, run

from foreread.analyzer.tuner.campaign.budget import LADDER
from foreread.analyzer.tuner.findings.compare import Run, Runs
from foreread.analyzer.tuner.findings.confirm import SHOWN, confirm, differing, only
from foreread.analyzer.tuner.findings.effects import Effects, main_effects
from foreread.analyzer.tuner.space.genes import Gene, Space

NO_EFFECTS = Effects((), None, 0.0, 0)


def settle(winner, evaluate, effects=NO_EFFECTS, space=SPACE, predicted=None, most=None):
    """Make the requested runs, at most so many, until all is decided."""
    runs = []
    for _ in range(50):
        left = None if most is None else most - len(runs)
        found = confirm(space, effects, winner, Runs(runs), ("reader",), predicted, left)
        if not found.to_run:
            return found, runs
        for wanted in found.to_run:
            lacking = wanted.runs - Runs(runs).count(wanted.chromosome, ("reader",))
            assert lacking > 0
            runs += [evaluate(wanted.chromosome) for _ in range(lacking)]
    raise AssertionError("it asks and asks")


def holds(change, effect):
    """Return whether the interval of a change contains the true effect."""
    return change.low <= effect <= change.high


def test_only_genes_that_matter_are_kept():
    rng = random.Random(1)
    winner = {**BEST, **dict.fromkeys(USELESS, 1), "swappiness": 133}
    found, runs = settle(winner, lambda one: run(one, rng), main_effects(Runs(bred(3)), SPACE))
    assert found.chromosome == BEST
    gains = {gain.gene: gain for gain in found.gains}
    assert gains.keys() == {"scheduler", "slice_idle", "window"}
    assert all(gain.alone and gain.change.saves for gain in found.gains)
    assert holds(gains["slice_idle"].change, 0.9 - 1)
    assert holds(gains["scheduler"].change, 0.9 * 0.75 - 1)
    assert holds(gains["window"].change, math.exp(-0.05) - 1)
    assert (gains["window"].allele, gains["window"].default) == (64, 128)
    assert found.answer == "tuned"
    assert holds(found.over_default, 0.9 * 0.75 * math.exp(-0.05) - 1)
    assert found.over_winner.low < 0 < found.over_winner.high
    assert len(Runs(runs).chromosomes) <= 8  # not one a gene


def test_without_effects_it_finds_the_same():
    rng = random.Random(2)
    winner = {**BEST, "useless0": 0, "useless1": 1, "swappiness": 0}
    found, _ = settle(winner, lambda one: run(one, rng))
    assert found.chromosome == BEST


def test_of_two_genes_that_do_the_same_one_is_kept():
    space = Space(tuple(Gene(name=name, kind="boolean", default=0) for name in "abc"))

    def evaluate(chromosome):
        saved = chromosome["a"] or chromosome["b"]
        return Run(chromosome, "reader", 1.0 if saved else 2.0)

    found, _ = settle({"a": 1, "b": 1, "c": 1}, evaluate, space=space)
    assert sorted(found.chromosome.values()) == [0, 0, 1] and found.chromosome["c"] == 0
    assert found.over_default.effect == pytest.approx(-0.5)


def test_genes_that_save_only_together_are_both_kept():
    space = Space(tuple(Gene(name=name, kind="boolean", default=0) for name in "abcd"))

    def evaluate(chromosome):
        return Run(chromosome, "reader", 1.0 if chromosome["b"] and chromosome["d"] else 2.0)

    found, _ = settle(dict.fromkeys("abcd", 1), evaluate, space=space)
    assert found.chromosome == {"a": 0, "b": 1, "c": 0, "d": 1}


def test_a_gene_without_which_runs_differ_widely_does_not_hide_the_others():
    """As beside a reader: bfq saves a tenth with 64 requests; with its 2 it takes 1.6 to 20 s."""
    space = Space(
        (
            Gene(name="bfq", kind="boolean", default=0),
            Gene(name="requests", kind="integer", choices=(2, 64), default=2),
        )
    )
    winner, wild = {"bfq": 1, "requests": 64}, {"bfq": 1, "requests": 2}
    left = []
    for seed in range(30):
        rng = random.Random(seed)

        def evaluate(chromosome, rng=rng):
            if chromosome == wild:
                return Run(chromosome, "reader", rng.choice((1.6, 4.0, 20.0)))
            saved = 0.9 if chromosome["bfq"] else 1.0
            return Run(chromosome, "reader", 0.56 * saved * math.exp(rng.gauss(0, 0.016)))

        found, _ = settle(winner, evaluate, space=space)
        left.append(found.chromosome)
        assert found.over_default.effect == pytest.approx(-0.1, abs=0.04)
    assert left == [winner] * 30  # in some of them 1.6 to 20 s are not shown to be more than 0.5


def test_a_lucky_winner_is_found_out():
    """The search had picked it for its luck; its own runs here are like the default's."""
    rng = random.Random(3)
    winner = SPACE.repair(dict.fromkeys(USELESS, 0))
    found, runs = settle(winner, lambda one: run(one, rng))
    assert found.chromosome == SPACE.default() and found.gains == ()
    assert len(Runs(runs).chromosomes) == 2
    assert found.over_default.effect == 0.0


def test_with_few_runs_it_says_what_is_lacking():
    found = confirm(SPACE, NO_EFFECTS, BEST, Runs([]), ("reader",))
    assert [dict(one.chromosome) for one in found.to_run] == [SPACE.default(), BEST]
    assert found.over_default is None
    one_scenario = Runs([Run(c, "reader", 1.0) for c in (SPACE.default(), BEST)] * LADDER[-1])
    assert confirm(SPACE, NO_EFFECTS, BEST, one_scenario, ("reader", "idle")).to_run


def test_a_tunable_goes_with_its_scheduler():
    assert [gene.name for gene in differing(SPACE, BEST)] == ["scheduler", "slice_idle", "window"]
    assert only(SPACE, BEST, ["slice_idle"]) == SPACE.default()
    assert only(SPACE, BEST, ["scheduler"])["slice_idle"] == 8


WINDOW_ALONE = SPACE.repair({"window": 64})


def test_the_predicted_window_is_a_row_and_tested_like_any_gene():
    rng = random.Random(4)
    found, runs = settle(BEST, lambda one: run(one, rng), predicted=WINDOW_ALONE)
    assert (found.chromosome, found.answer) == (BEST, "tuned")
    assert holds(found.predicted, math.exp(-0.05) - 1)
    assert holds(found.over_predicted, 0.9 * 0.75 - 1)
    for row in (SPACE.default(), WINDOW_ALONE, BEST):
        assert Runs(runs).count(row, ("reader",)) >= SHOWN


def test_without_a_gene_that_adds_to_it_the_predicted_window_is_the_answer():
    """No gene but the window saves: the winner has others by chance."""
    rng = random.Random(5)
    winner = {**WINDOW_ALONE, **dict.fromkeys(USELESS, 0)}
    for found_by in (winner, SPACE.default()):
        found, _ = settle(found_by, lambda one: run(one, rng, 0.01), predicted=WINDOW_ALONE)
        assert (found.chromosome, found.answer) == (WINDOW_ALONE, "predicted")
        assert [(gain.gene, gain.alone) for gain in found.gains] == [("window", True)]
        assert found.over_default.saves and found.over_predicted.effect == 0.0


def test_a_predicted_window_that_costs_time_is_not_set():
    rng = random.Random(6)
    wrong = SPACE.repair({"window": 4})
    found, _ = settle(BEST, lambda one: run(one, rng), predicted=wrong)
    assert (found.chromosome, found.answer) == (BEST, "tuned")
    assert found.predicted.low > 0
    found, _ = settle(wrong, lambda one: run(one, rng), predicted=wrong)
    assert (found.chromosome, found.answer) == (SPACE.default(), "default")


def test_genes_that_do_the_same_are_proven_only_together():
    space = Space(tuple(Gene(name=name, kind="boolean", default=0) for name in "abc"))
    rng = random.Random(7)

    def evaluate(chromosome):
        saved = chromosome["a"] or chromosome["b"]
        cost = (1.0 if saved else 2.0) * (0.8 if chromosome["c"] else 1.0)
        return Run(chromosome, "reader", cost * math.exp(rng.gauss(0, 0.01)))

    found, _ = settle({"a": 1, "b": 1, "c": 1}, evaluate, space=space)
    alone, together = ([g.gene for g in found.gains if g.alone is so] for so in (True, False))
    assert alone == ["c"] and together in (["a"], ["b"])
    assert found.together.saves and holds(found.together, -0.5)


def test_every_listed_gene_is_certain():
    """No interval of a gene to set contains 0, whatever the seed."""
    for seed in range(40):
        rng = random.Random(seed)
        winner = {**BEST, **dict.fromkeys(USELESS, 1), "swappiness": 133}
        found, _ = settle(winner, lambda one, rng=rng: run(one, rng, 0.03))
        for gain in found.gains:
            assert (gain.change if gain.alone else found.together).high < 0
        assert found.answer == "default" or found.over_default.high < 0


@pytest.mark.parametrize("most", [9, 12, 20, 40])
def test_it_keeps_to_its_runs_and_still_decides(most):
    """With few runs the genes are proven together; the rows are made in any case."""
    rng = random.Random(8)
    winner = {**BEST, **dict.fromkeys(USELESS, 1)}
    found, runs = settle(winner, lambda one: run(one, rng), predicted=WINDOW_ALONE, most=most)
    assert len(runs) <= most
    assert found.answer == "tuned" and found.over_predicted.saves
    assert found.chromosome["scheduler"] == "bfq"


def test_more_runs_go_to_what_is_undecided():
    """A gene that saves 2 % at a noise of 1 % needs more runs than one that saves a half."""
    space = Space(tuple(Gene(name=name, kind="boolean", default=0) for name in ("much", "little")))
    rng = random.Random(9)

    def evaluate(chromosome):
        cost = (0.5 if chromosome["much"] else 1.0) * (0.98 if chromosome["little"] else 1.0)
        return Run(chromosome, "reader", cost * math.exp(rng.gauss(0, 0.01)))

    found, runs = settle({"much": 1, "little": 1}, evaluate, space=space)
    assert [gain.gene for gain in found.gains if gain.alone] == ["much", "little"]
    counts = {
        key: Runs(runs).count(one, ("reader",))
        for key, one in (
            ("without much", {"much": 0, "little": 1}),
            ("without little", {"much": 1, "little": 0}),
        )
    }
    assert counts["without little"] > counts["without much"] == LADDER[0]
