"""One gene at a time."""

import math

import msgspec
import pytest

from foreread.analyzer.tuner import Gene, Scored, Space, load_recipe, make_engine
from foreread.analyzer.tuner.engine import run
from foreread.analyzer.tuner.engines.one_gene import OneGeneEngine

SPACE = Space(
    (
        Gene(
            name="scheduler", kind="categorical", choices=("none", "kyber", "bfq"), default="none"
        ),
        Gene(
            name="nr_requests",
            kind="integer",
            choices=(2, 16, 64),
            default=2,
            requires={"scheduler": ("kyber", "bfq")},
        ),
        Gene(name="read_ahead_kb", kind="integer", choices=(8, 32, 64, 128, 512), default=128),
        Gene(name="swappiness", kind="integer", choices=(0, 60, 200), default=60),
    )
)
DEFAULT = SPACE.default()
ADDITIVE = {
    "scheduler": {"none": 0.0, "kyber": 0.02, "bfq": -0.1},
    "nr_requests": {2: 0.0, 16: -0.02, 64: 0.03, "none": 0.0},
    "read_ahead_kb": {8: 0.3, 32: 0.02, 64: -0.1, 128: 0.0, 512: 0.1},
    "swappiness": {0: -0.03, 60: 0.0, 200: 0.02},
}


def score(chromosome, costs=ADDITIVE):
    return Scored(chromosome, math.exp(-sum(costs[name][chromosome[name]] for name in costs)))


def engine(seed=1, starts=(DEFAULT,)):
    return OneGeneEngine(SPACE, seed, list(starts))


def differences(one, other):
    return [name for name in SPACE.names if one[name] != other[name]]


def test_it_begins_with_the_default_and_its_windows():
    begun = [one.chromosome for one in run(engine(), score, 5)]
    assert begun[0] == DEFAULT
    assert [differences(one, DEFAULT) for one in begun[1:]] == [["read_ahead_kb"]] * 4


def test_each_generation_differs_from_the_best_so_far_by_one_gene_and_what_depends_on_it():
    tuner = engine()
    best, known = score(DEFAULT), []
    for _ in range(6):
        asked = tuner.ask()
        if known:
            changed = {name for one in asked for name in differences(one, best.chromosome)}
            assert changed <= {"scheduler", "nr_requests"} or len(changed) == 1
        known += [score(one) for one in asked]
        tuner.tell(known[-len(asked) :])
        best = max(known, key=lambda one: one.fitness)


@pytest.mark.parametrize("seed", range(6))
def test_without_interactions_it_finds_the_optimum_in_two_passes(seed):
    least = min(SPACE.enumerate(), key=lambda one: -score(one).fitness)
    found = run(engine(seed), score, 20)
    assert max(found, key=lambda one: one.fitness).chromosome == least


def test_a_gain_that_is_negligible_moves_nothing():
    costs = {name: dict.fromkeys(values, 0.0) for name, values in ADDITIVE.items()}
    costs["swappiness"] = {0: -0.004, 60: 0.0, 200: 0.01}
    asked = [one.chromosome for one in run(engine(), lambda one: score(one, costs), 9)]
    # All alleles of each gene beside the default: 4 windows, 2 words, 2 of swappiness.
    assert [len(differences(one, DEFAULT)) for one in asked if one["scheduler"] == "none"] == (
        [0] + [1] * (len([one for one in asked if one["scheduler"] == "none"]) - 1)
    )


def test_it_begins_anew_where_no_gene_alone_helps_and_ends_with_the_space():
    found = run(engine(), score, 10_000)
    keys = [SPACE.key(one.chromosome) for one in found]
    assert len(keys) == len(set(keys)) == SPACE.size


def test_the_same_seed_asks_for_the_same():
    one, same, other = (
        [SPACE.key(each.chromosome) for each in run(engine(seed), score, 40)] for seed in (1, 1, 2)
    )
    assert one == same != other


def test_the_recipe_begins_at_the_predicted_window_and_is_judged_by_the_model():
    recipe = load_recipe("one-gene")
    assert recipe.judged_by == "model"
    raced = msgspec.structs.replace(recipe, judged_by="race")
    predicted = {8: 3.0, 64: 1.0, 512: 2.0}
    (begun,) = make_engine(raced, SPACE, 1, predicted=predicted).ask()
    assert begun == {**DEFAULT, "read_ahead_kb": 64}
    (seeded,) = make_engine(raced, SPACE, 1, [{**DEFAULT, "swappiness": 0}], predicted).ask()
    assert seeded == {**DEFAULT, "swappiness": 0}
