"""What attempts mean: hand-computed gains, drift, and intervals that hold what they say."""

import math
import random

import pytest
import tuning

from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.campaign.standings import Standings
from foreread.analyzer.tuner.engines.recipe import load_recipe
from foreread.analyzer.tuner.evaluation import Attempt, key_of
from foreread.analyzer.tuner.space.genes import GeneError
from foreread.analyzer.tuner.store.records import Evaluation

DEFAULT, BEST = tuning.SPACE.default(), tuning.BEST
OTHER = {**BEST, "window": 64}


def fed(*attempts, **changes):
    """Return standings of (chromosome, scenario, value or status), in that order."""
    standings = Standings(tuning.spec(**changes))
    for number, (chromosome, scenario, result) in enumerate(attempts, 1):
        bad = isinstance(result, str)
        attempt = Attempt(result) if bad else Attempt("ok", result)
        standings.add(Evaluation(number, chromosome, scenario, 0, 0, attempt, 10.0, 12.5))
    return standings


def runs(chromosome, scenario, *results):
    return [(chromosome, scenario, result) for result in results]


def test_fitness_by_hand():
    standings = fed(
        *runs(DEFAULT, "idle", 4.0, 8.0, 5.0),
        *runs(DEFAULT, "reader", 16.0),
        *runs(BEST, "idle", 2.0, 1.0, 2.5),
        *runs(BEST, "reader", 8.0, 2.0),
    )
    assert standings.fitness(key_of(DEFAULT)) == pytest.approx(1)
    expected = math.sqrt((5 / 2) * (16 / 4))  # of medians of logs: of two values the geometric mean
    assert standings.fitness(key_of(BEST)) == pytest.approx(expected)
    assert standings.best() == key_of(BEST)
    assert standings.ranking() == [key_of(BEST), key_of(DEFAULT)]
    assert (standings.attempts, standings.seconds) == (9, 22.5)


def test_one_that_lacks_a_scenario_has_no_fitness():
    standings = fed(*runs(DEFAULT, "idle", 4.0), *runs(DEFAULT, "reader", 4.0))
    assert standings.best() == key_of(DEFAULT)
    standings = fed(
        *runs(DEFAULT, "idle", 4.0), *runs(DEFAULT, "reader", 4.0), *runs(BEST, "idle", 1.0)
    )
    assert standings.fitness(key_of(BEST)) == 0
    assert standings.best() == key_of(DEFAULT)
    assert standings.ranking() == [key_of(DEFAULT)]


def test_the_best_has_its_fewest_repeats():
    course = [
        *runs(DEFAULT, "idle", 4.0, 4.0),
        *runs(BEST, "idle", 1.0),
        *runs(OTHER, "idle", 2.0, 2.0),
    ]
    assert fed(*course, scenarios=("idle",)).best() == key_of(BEST)
    assert fed(*course, scenarios=("idle",), fewest=2).best() == key_of(OTHER)


@pytest.mark.parametrize(
    ("results", "given_up", "fitness"),
    [
        (["failed", "failed", 2.0], False, 2),
        ([2.0, "failed", "warm", "hung"], True, 0),
        ([2.0, "failed", "failed", "warm"], True, 2),  # the last was the machine's fault
        (["contended"] * 3, True, 0),
        (["failed", 2.0, "failed", 2.0, "failed"], False, 2),
        ([2.0, "refused"], True, 0),
        (["invalid"], True, 0),
    ],
)
def test_which_chromosomes_are_dropped_and_the_cost(results, given_up, fitness):
    standings = fed(*runs(DEFAULT, "idle", 4.0), *runs(BEST, "idle", *results), scenarios=("idle",))
    assert standings.given_up(key_of(BEST), "idle") == given_up
    assert standings.fitness(key_of(BEST)) == pytest.approx(fitness)
    assert standings.tried(key_of(BEST), "idle") == len(results)


def test_a_machine_that_drifts_moves_no_gain():
    """The machine gets a third slower half-way; what ran before and after is judged alike."""
    rng, course = random.Random(3), []
    for attempt in range(60):
        slow = 1.0 if attempt < 30 else 1.3
        chromosome, seconds = (DEFAULT, 4.0) if attempt % 3 else (BEST, 2.0)
        course += runs(chromosome, "idle", seconds * slow * rng.gauss(1, 0.01))
    standings = fed(*course, scenarios=("idle",))
    assert standings.fitness(key_of(BEST)) == pytest.approx(2, rel=0.01)
    assert len(standings.drifts) == 1 and abs(standings.drifts[0] - 31) <= 3
    low, high = standings.interval(key_of(BEST))
    assert low < math.log(2) < high < low + 0.05


def test_noise_alone_is_not_drift():
    drifting = 0
    for seed in range(50):
        rng = random.Random(seed)
        course = runs(DEFAULT, "idle", *(rng.gauss(4, 0.2) for _ in range(40)))
        drifting += bool(fed(*course, scenarios=("idle",)).drifts)
    assert drifting <= 5


@pytest.mark.parametrize("repeats", [1, 3])
def test_intervals_have_their_nominal_coverage(repeats):
    """Nine of ten; few repeats widen them, also where there is one only."""
    held = 0
    for seed in range(150):
        rng = random.Random(seed)

        def noisy(seconds, rng=rng):
            return seconds * math.exp(rng.gauss(0, 0.05))

        course = runs(DEFAULT, "idle", *(noisy(4.0) for _ in range(8)))
        for _ in range(5):  # others, whose noise is the same
            course += runs({**BEST, "window": rng.random()}, "idle", noisy(3.0), noisy(3.0))
        course += runs(BEST, "idle", *(noisy(2.0) for _ in range(repeats)))
        standings = fed(*course, scenarios=("idle",))
        low, high = standings.interval(key_of(BEST))
        held += low <= math.log(2) <= high
    assert 0.82 <= held / 150 <= 0.98


def test_nothing_repeated_gives_no_interval():
    standings = fed(*runs(DEFAULT, "idle", 4.0), *runs(BEST, "idle", 2.0), scenarios=("idle",))
    assert standings.interval(key_of(BEST)) is None
    assert standings.interval("unknown") is None
    assert standings.best_from_second() == 0


def test_order_of_the_run_queue():
    quiet = runs(DEFAULT, "idle", *[4.0, 4.001] * 3)
    key = key_of(BEST)
    scenarios = ("idle",)
    assert fed(*quiet, scenarios=scenarios).next_to_run(key) == key
    for decided in (1.0, 4.01, 8.0):  # better, as good, worse
        assert (
            fed(*quiet, *runs(BEST, "idle", decided), scenarios=scenarios).next_to_run(key) is None
        )
    noisy = [*runs(DEFAULT, "idle", *[4.0, 4.4] * 3), *runs(OTHER, "idle", 3.0, 3.0)]
    close = runs(BEST, "idle", 2.9)
    assert fed(*noisy, *close, scenarios=scenarios).next_to_run(key) == key
    close = runs(BEST, "idle", 2.9, 3.0, 2.8)
    assert fed(*noisy, *close, scenarios=scenarios).next_to_run(key) == key_of(OTHER)
    close = runs(BEST, "idle", *[2.9, 3.0] * 3)
    assert fed(*noisy, *close, scenarios=scenarios).next_to_run(key) is None
    assert fed(*noisy, *runs(BEST, "idle", "refused"), scenarios=scenarios).next_to_run(key) is None


def weighed(**weights):
    return CampaignSetup(load_recipe("start-up"), tuning.SPACE, weights=weights).space_text


IN_TWO = [
    *runs(DEFAULT, "idle", 4.0, 4.0),
    *runs(DEFAULT, "reader", 16.0, 16.0),
    *runs(BEST, "idle", 5.0, 5.0),
    *runs(BEST, "reader", 8.0, 8.0),
    *runs(OTHER, "idle", 2.0, 2.0),
    *runs(OTHER, "reader", 16.0, 16.0),
]


def test_weights_decide_between_scenarios():
    alike, reader = fed(*IN_TWO), fed(*IN_TWO, space=weighed(reader=3))
    assert alike.best() == key_of(OTHER) and reader.best() == key_of(BEST)
    assert alike.fitness(key_of(BEST)) == pytest.approx(math.sqrt(0.8 * 2))
    assert reader.fitness(key_of(BEST)) == pytest.approx((0.8 * 2**3) ** (1 / 4))
    assert reader.gains(key_of(BEST)) == [pytest.approx(math.log(0.8 * 2**3) / 4)] * 2


def test_equal_weights_change_nothing():
    alike, twice = fed(*IN_TWO), fed(*IN_TWO, space=weighed(idle=3, reader=3))
    for key in alike.chromosomes():
        assert alike.gain(key) == twice.gain(key) and alike.gains(key) == twice.gains(key)


def test_a_heavy_scenario_has_most_of_the_interval():
    """Only the reader's runs vary."""
    noisy = [
        *runs(DEFAULT, "idle", 4.0, 4.0),
        *runs(DEFAULT, "reader", 15.0, 17.0, 16.0),
        *runs(BEST, "idle", 2.0, 2.0),
        *runs(BEST, "reader", 7.0, 9.0, 8.0),
    ]
    idle, reader = (
        fed(*noisy, space=weighed(**weight)).interval(key_of(BEST))
        for weight in ({"idle": 100}, {"reader": 100})
    )
    assert (idle[1] - idle[0]) * 90 < reader[1] - reader[0]


@pytest.mark.parametrize("weights", ['{"reader": 0}', '{"reader": 1e9}', '{"reader": "a"}', "[]"])
def test_forged_weights_are_refused(weights):
    with pytest.raises(GeneError, match="weights"):
        fed(*IN_TWO, space=f'{{"weights": {weights}}}')
