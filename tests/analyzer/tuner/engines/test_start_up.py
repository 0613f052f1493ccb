import math
from collections import Counter
from random import Random
from statistics import median

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.tuner import Gene, Scored, Space, load_recipe, make_engine
from analyzer.tuner.engine import run
from analyzer.tuner.engines import start_up
from analyzer.tuner.engines.predicted import Prediction

WINDOWS = (0, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
SPACE = Space(
    (
        Gene(
            name="scheduler", kind="categorical", choices=("none", "kyber", "bfq"), default="none"
        ),
        Gene(name="read_ahead_kb", kind="integer", choices=WINDOWS, default=128),
        Gene(
            name="slice_idle",
            kind="integer",
            choices=(0, 2, 8),
            default=8,
            requires={"scheduler": ("bfq",)},
        ),
        Gene(name="swappiness", kind="integer", choices=(0, 10, 60, 100, 200), default=60),
        Gene(name="useless", kind="integer", highest=2, default=1),
    )
)
PREDICTED = {window: 3 + 4 / (1 + window / 8) + window / 250 for window in WINDOWS}
RECIPE = load_recipe("start-up")


def seconds(chromosome):
    """A start-up whose best window is not the predicted one, with interactions."""
    window, bfq = chromosome["read_ahead_kb"], chromosome["scheduler"] == "bfq"
    waits = 6 / (1 + window / 16) + window / (600 if bfq else 300)
    shared = 0.6 + 0.05 * chromosome["slice_idle"] if bfq else 1.0
    swapping = {0: 1.3, 10: 1.05, 60: 1.0, 100: 0.9, 200: 0.95}[chromosome["swappiness"]]
    return (2 + waits * shared) * swapping


DEFAULT = seconds(SPACE.default())
BEST = min(map(seconds, SPACE.enumerate()))


def score(chromosome):
    """Return what one run tells, when another would tell the same."""
    return Scored(chromosome, DEFAULT / seconds(chromosome), final=True)


def engine(seed=1, predicted=PREDICTED, **changes):
    recipe = msgspec.structs.replace(RECIPE, **changes)
    return make_engine(recipe, SPACE, seed, predicted=predicted)


def founders_of(found):
    """Return the seeds, the default, it with the predicted window, and those that are spread."""
    return [one.chromosome for one in run(found, score, RECIPE.founders + 3)]


def regret(received):
    return min(seconds(one.chromosome) for one in received) / BEST - 1


def test_windows_that_cannot_win_are_not_tried_but_the_default_is():
    hopeless = {window: 1.0 if window in (16, 32) else 2.0 for window in WINDOWS}
    space = Prediction(hopeless).pruned(SPACE, 0.5)
    assert space.genes[1].alleles == (16, 32, 128)
    assert Prediction({}).pruned(SPACE, 0.5).genes[1].alleles == WINDOWS


def test_between_predicted_windows_it_interpolates():
    prediction = Prediction({0: 4.0, 64: 2.0})
    assert (prediction.seconds(16), prediction.seconds(1024)) == (3.5, 2.0)
    gains = prediction.gains(SPACE, [SPACE.default(), SPACE.default() | {"read_ahead_kb": 0}])
    assert gains == pytest.approx([0.0, -math.log(2)])


def test_the_founders_are_the_seeds_the_default_the_predicted_window_and_its_neighbours():
    seed = SPACE.default() | {"swappiness": 10}
    founders = founders_of(make_engine(RECIPE, SPACE, 1, [seed], PREDICTED))
    assert founders[:3] == [
        seed,
        SPACE.default(),
        SPACE.default() | {"read_ahead_kb": 64},
    ]
    assert len({one["swappiness"] for one in founders}) == 5


@pytest.mark.parametrize("predicted", [None, PREDICTED])
def test_the_founders_spread_over_all_windows(predicted):
    found = engine(predicted=predicted)
    windows = found.space.genes[1].alleles
    assert {windows[0], windows[-1]} < {one["read_ahead_kb"] for one in founders_of(found)}


def test_it_ends_when_all_have_had_all_their_runs():
    small, runs = Space(SPACE.genes[:2]), Counter()

    def scored(chromosome):
        runs[small.key(chromosome)] += 1
        return Scored(chromosome, 1.0, final=runs[small.key(chromosome)] == 2)

    run(make_engine(RECIPE, small, 1), scored, 10_000)
    assert len(runs) == small.size and set(runs.values()) == {2}


def test_with_noise_only_the_best_are_repeated():
    rng, gains = Random(1), {}

    def scored(chromosome):
        gain = math.log(DEFAULT / seconds(chromosome)) + rng.gauss(0, 0.03)
        known = gains.setdefault(SPACE.key(chromosome), [])
        known.append(gain)
        return Scored(chromosome, math.exp(median(known)), gains=list(known))

    found = engine()
    run(found, scored, 60)
    assert len(gains) > 30
    again = [median(known) for known in gains.values() if len(known) > 1]
    assert 1 <= len(again) <= 10 and min(again) > median(map(median, gains.values()))
    assert seconds(found.best()) < 1.03 * BEST


def test_one_that_was_lucky_once_is_not_believed_best():
    """It has two neighbours that were run often, and are worse; another one is as good for sure."""
    default, known = SPACE.default(), [0.0, 0.02, -0.02, 0.01]
    sure = default | {"scheduler": "kyber"}
    neighbours = [default | {"swappiness": 10}, default | {"swappiness": 100}]
    found = engine(predicted=None)
    received = [Scored(one, 1.0, gains=known) for one in neighbours]
    received += [Scored(sure, math.exp(0.04), gains=[0.04 + gain for gain in known])]
    found.tell([*received, Scored(default, math.exp(0.05), gains=[0.05])])
    assert found.best() == sure


def test_two_genes_that_help_only_together_are_found():
    """Neither scheduler nor window does any good by itself; one of 25 chromosomes has both."""

    def scored(chromosome):
        both = chromosome["scheduler"] == "bfq" and chromosome["read_ahead_kb"] >= 512
        either = chromosome["scheduler"] == "bfq" or chromosome["read_ahead_kb"] >= 512
        return Scored(chromosome, 1.2 if both else 0.99 if either else 1.0, final=True)

    found = [engine(seed, predicted=None) for seed in range(5)]
    for one in found:
        run(one, scored, 40)
    assert sum(scored(one.best()).fitness == 1.2 for one in found) >= 4


def test_a_space_too_large_to_be_looked_at_whole_is_bred_in(monkeypatch):
    monkeypatch.setattr(start_up, "WHOLE", 100)
    found = engine()
    received = run(found, score, 60)
    assert len({SPACE.key(one.chromosome) for one in received}) == 60
    assert regret(received) < 0.05


def test_a_child_that_fails_costs_nothing_but_itself():
    def failing(chromosome):
        failed = chromosome["scheduler"] == "kyber"
        return Scored(chromosome, 0.0) if failed else score(chromosome)

    assert regret([one for one in run(engine(), failing, 45) if one.fitness > 0]) < 0.02


@given(st.integers(0, 1000))
@settings(max_examples=3, deadline=None)
def test_all_children_may_fail(seed):
    received = run(engine(seed), lambda chromosome: Scored(chromosome, 0.0), 20)
    assert len({SPACE.key(one.chromosome) for one in received}) == 20


def test_a_tenth_of_the_space_is_enough_and_better_spent_than_by_chance():
    space = Space(SPACE.genes[:4])

    def regrets(name):
        engines = [
            make_engine(load_recipe(name), space, seed, predicted=PREDICTED) for seed in range(10)
        ]
        return [regret(run(one, score, space.size // 10)) for one in engines]

    ours, chance = regrets("start-up"), regrets("random")
    assert sum(one <= 0.02 for one in ours) >= 9
    assert median(ours) <= median(chance)
