import math
from collections import Counter
from random import Random
from statistics import median

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreread.analyzer.tuner import Gene, Scored, Space, load_recipe, make_engine
from foreread.analyzer.tuner.engine import run
from foreread.analyzer.tuner.engines import start_up
from foreread.analyzer.tuner.engines.predicted import Prediction

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
    """Return all founders: of the seeds, the predicted window and windows alone some are equal."""
    return found.ask()


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
def test_windows_from_the_smallest_to_the_largest_are_founders_alone(predicted):
    found = engine(predicted=predicted)
    assert found.tried.size <= start_up.WHOLE
    windows = found.tried.genes[1].alleles
    alone = [SPACE.default() | {"read_ahead_kb": window} for window in windows]
    founders = [one for one in founders_of(found) if one in alone]
    assert alone[0] in founders and alone[-1] in founders
    assert len(founders) >= RECIPE.windows


def test_in_a_large_space_the_founders_are_spread_over_all_windows(monkeypatch):
    monkeypatch.setattr(start_up, "WHOLE", 100)
    founders = founders_of(engine(predicted=None))
    assert len(founders) == RECIPE.founders + 1
    assert len({one["read_ahead_kb"] for one in founders}) >= RECIPE.founders
    assert {0, 1024} < {one["read_ahead_kb"] for one in founders}


@pytest.mark.parametrize(
    ("scenarios", "hopeless"),
    [(["idle"], True), (["reader"], False), (["idle", "reader:/x"], False)],
)
def test_hopeless_windows_are_left_out_only_if_every_scenario_is_idle(scenarios, hopeless):
    found = engine(predicted={16: 1.0, 32: 1.0, 64: 3.0, 1024: 3.0})
    found.inform(dict.fromkeys(scenarios, 1.0), SPACE.default(), ())
    windows = found.tried.genes[1].alleles
    assert (1024 not in windows) == hopeless
    assert 16 in windows and 128 in windows
    assert SPACE.default() not in founders_of(found)


def test_beside_a_load_the_predicted_window_is_hardly_expected_to_be_best():
    """One run each of the default and of another window, which are equal: a prior of two."""
    best = {"idle": [], "reader": []}
    for scenario, slopes in best.items():
        found = engine(predicted={4: 2.0, 128: 1.0})
        found.inform({scenario: 1.0}, SPACE.default(), ())
        small, default = SPACE.default() | {"read_ahead_kb": 4}, SPACE.default()
        far = SPACE.default() | {"swappiness": 200}
        found.tell([Scored(default, 1.0), Scored(far, 1.0)])
        slopes.extend(found._guess([default, small]).mean.mean(axis=0))
    losses = {scenario: default - small for scenario, (default, small) in best.items()}
    assert losses["idle"] > 2 * losses["reader"] > 0


REACHES = ("idle", "reader")


def beside(chromosome, scenario):
    """Beside the reader large windows are best, and the start takes twice as long."""
    if scenario == "idle":
        return seconds(chromosome)
    return 2 * seconds(chromosome) * (1.5 - 0.1 * chromosome["read_ahead_kb"].bit_length() / 2)


def by_run(found, runs, noise=0.0, most=5):
    """Make ``runs`` as a campaign does, each in its scenario; return all gains by key."""
    rng, gains = Random(4), {}
    default = SPACE.default()

    def once(chromosome, scenario):
        gain = math.log(beside(default, scenario) / beside(chromosome, scenario))
        known = gains.setdefault(SPACE.key(chromosome), (chromosome, {}))[1]
        known.setdefault(scenario, []).append(gain + rng.gauss(0, noise))

    def received():
        for chromosome, known in gains.values():
            whole = len(known) == len(REACHES)
            means = [median(some) for some in known.values()]
            spent = [scenario for scenario, some in known.items() if len(some) >= most]
            fitness = math.exp(sum(means) / len(means)) if whole else 0.0
            yield Scored(chromosome, fitness, gains=known, final=len(spent) == 2, spent=spent)

    for scenario in REACHES:
        once(default, scenario)
    found.inform(dict.fromkeys(REACHES, 1.0), default, ())
    for _ in range(runs):
        for wanted in found.ask_runs(1):
            for scenario in REACHES if wanted.scenario is None else (wanted.scenario,):
                once(wanted.chromosome, scenario)
        found.tell(list(received()))
    return gains


def mean_seconds(chromosome):
    return math.prod(beside(chromosome, scenario) for scenario in REACHES) ** 0.5


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_the_best_over_all_scenarios_is_found_run_by_run(seed):
    found = engine(seed, predicted=None)
    gains = by_run(found, 90, noise=0.01)
    best = min(map(mean_seconds, SPACE.enumerate()))
    assert mean_seconds(found.best()) < 1.03 * best
    assert {len(known) for _, known in gains.values()} == {1, 2}  # not each in each


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [2, 3])
def test_the_believed_best_was_run_in_every_scenario(seed):
    found = engine(seed, predicted=None)
    gains = by_run(found, 40, noise=0.02)
    assert len(gains[SPACE.key(found.best())][1]) == len(REACHES)


def test_no_run_is_requested_where_a_chromosome_has_had_all_of_its_runs():
    small = Space(SPACE.genes[:2])
    found = make_engine(RECIPE, small, 1)
    default = small.default()
    found.inform(dict.fromkeys(REACHES, 1.0), default, ())
    found.tell([Scored(one, 1.0, gains={"idle": [0.0]}, spent=["idle"]) for one in found.ask()])
    found.tell([Scored(default, 1.0, gains={"idle": [0.0], "reader": [0.0]}, final=True)])
    for _ in range(6):
        (wanted,) = found.ask_runs(1)
        if found.knows(wanted.chromosome):
            assert wanted.scenario == "reader"


@pytest.mark.thorough
def test_several_runs_at_once_are_not_all_the_same():
    found = engine(1, predicted=None)
    by_run(found, 40, noise=0.02)
    asked = found.ask_runs(4)
    assert len({(SPACE.key(one.chromosome), one.scenario) for one in asked}) >= 3
    known = dict(found.results)
    assert found.ask_runs(4) and found.results == known


BY_RECLAIM = Space(
    tuple(
        Gene(name=name, kind="integer", choices=(0, 10, 60, 100), default=60)
        for name in ("swappiness", "vfs_cache_pressure", "other")
    )
)


def test_genes_that_cannot_act_keep_their_defaults_until_they_can():
    found = make_engine(RECIPE, BY_RECLAIM, 1)
    found.inform({"idle": 1.0}, BY_RECLAIM.default(), ["reclaim"])
    received = run(found, lambda one: Scored(one, 1.0, final=True), 4)
    held = {
        (one.chromosome["swappiness"], one.chromosome["vfs_cache_pressure"]) for one in received
    }
    assert held == {(60, 60)}
    assert found.tried.size == 4
    found.inform({"idle": 1.0}, BY_RECLAIM.default(), [])
    more = run(found, lambda one: Scored(one, 1.0, final=True), 30)
    assert {one.chromosome["swappiness"] for one in more} == {0, 10, 60, 100}


def test_it_ends_when_all_have_had_all_their_runs():
    small, runs = Space(SPACE.genes[:2]), Counter()

    def scored(chromosome):
        runs[small.key(chromosome)] += 1
        return Scored(chromosome, 1.0, final=runs[small.key(chromosome)] == 2)

    run(make_engine(RECIPE, small, 1), scored, 10_000)
    assert len(runs) == small.size and set(runs.values()) == {2}


@pytest.mark.thorough
def test_with_noise_only_the_best_are_repeated():
    rng, gains = Random(1), {}

    def scored(chromosome):
        gain = math.log(DEFAULT / seconds(chromosome)) + rng.gauss(0, 0.03)
        known = gains.setdefault(SPACE.key(chromosome), [])
        known.append(gain)
        return Scored(chromosome, math.exp(median(known)), gains={"idle": list(known)})

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
    received = [Scored(one, 1.0, gains={"idle": known}) for one in neighbours]
    received += [Scored(sure, math.exp(0.04), gains={"idle": [0.04 + gain for gain in known]})]
    found.tell([*received, Scored(default, math.exp(0.05), gains={"idle": [0.05]})])
    assert found.best() == sure


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_a_space_too_large_to_be_looked_at_whole_is_bred_in(monkeypatch):
    monkeypatch.setattr(start_up, "WHOLE", 100)
    found = engine()
    received = run(found, score, 60)
    assert len({SPACE.key(one.chromosome) for one in received}) == 60
    assert regret(received) < 0.05


@pytest.mark.thorough
def test_a_recipe_may_breed_in_a_small_space_too():
    small, bred = engine(predicted=None), engine(predicted=None, breeds="always")
    for found in (small, bred):
        found.tell([score(one) for one in found.ask()])
    assert len(small._unknown(iter(()))) == SPACE.size - len(small.results)
    assert bred._unknown(iter(())) == []
    received = run(engine(breeds="always"), score, 60)
    assert regret(received) < 0.05


def test_in_a_large_space_a_child_is_the_top_of_a_climb(monkeypatch):
    """The model knows of twenty numbers which side is good: most are there at once."""
    numbers = [Gene(name=f"g{n}", kind="integer", highest=4, default=2) for n in range(20)]
    space, rng = Space(tuple(numbers)), Random(3)

    def gain(one):
        return 0.02 * sum((1 if n % 2 else -1) * one[f"g{n}"] for n in range(20))

    def best_child(steps):
        monkeypatch.setattr(start_up, "STEPS", steps)
        found = make_engine(RECIPE, space, 1)
        known = [{g.name: rng.choice(g.alleles) for g in numbers} for _ in range(60)]
        found.tell([Scored(one, math.exp(gain(one)), final=True) for one in known])
        (child,) = found.ask()
        return gain(child)

    assert best_child(12) > best_child(0) + 0.05


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


def test_in_a_scenario_with_its_own_prediction_that_is_expected_in_full():
    beside = {"reader": {4: 1.0, 128: 2.0}}
    found = make_engine(RECIPE, SPACE, 1, predicted={4: 2.0, 128: 1.0}, under_load=beside)
    small, default = SPACE.default() | {"read_ahead_kb": 4}, SPACE.default()
    gains = {}
    for scenario in ("idle", "reader", "writer"):
        found.inform({scenario: 1.0}, default, ())
        _, before = found._expected.of([small], [scenario])
        gains[scenario] = before[0, 0]
    assert gains["reader"] == pytest.approx(math.log(2))
    assert gains["idle"] == pytest.approx(-math.log(2))
    assert gains["writer"] == pytest.approx(gains["idle"] / 4)


def test_the_predicted_founder_is_the_best_window_of_all_scenarios_as_they_are_weighted():
    beside = {"reader": {0: 4.0, 16: 1.0, 64: 1.1, 1024: 4.0}}
    predicted = {16: 4.0, 64: 1.1, 1024: 1.0}
    windows = {}
    for scenarios, weights in (
        ("idle", {"idle": 1.0}),
        ("reader", {"reader": 1.0}),
        ("both", {"idle": 1.0, "reader": 1.0}),
    ):
        found = make_engine(RECIPE, SPACE, 1, predicted=predicted, under_load=beside)
        found.inform(weights, SPACE.default(), ())
        windows[scenarios] = found.prediction.window(SPACE)["read_ahead_kb"]
    assert windows == {"idle": 1024, "reader": 16, "both": 64}
