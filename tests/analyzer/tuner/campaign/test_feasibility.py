"""Constraints: what counts as writing more than the default, and what is chance."""

import json
import math
import random

import pytest
import tuning

from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.campaign.feasibility import (
    CONSTRAINTS,
    ExcessLimits,
    compared,
    limits_of,
)
from foreread.analyzer.tuner.campaign.standings import Standings
from foreread.analyzer.tuner.engines.recipe import load_recipe
from foreread.analyzer.tuner.evaluation import Attempt, key_of
from foreread.analyzer.tuner.space.genes import GeneError
from foreread.analyzer.tuner.store.records import Evaluation

WEAR, MEMORY = CONSTRAINTS
DEFAULT, BEST = tuning.SPACE.default(), tuning.BEST
OTHER = {**BEST, "window": 64}
SECTORS, STALLED = WEAR.counter, MEMORY.counter


USUAL = ExcessLimits()


def spec(limits=USUAL, scenarios=("idle",), **changes):
    setup = CampaignSetup(load_recipe("start-up"), tuning.SPACE, limits=limits)
    found = tuning.spec(
        scenarios=scenarios, space=setup.space_text, recipe=setup.recipe_text, **changes
    )
    assert CampaignSetup.of(found).limits == limits
    return found


def standings_of(made, **changes):
    """Return standings of (chromosome, seconds, metrics) in the first scenario."""
    found = spec(**changes)
    standings = Standings(found)
    for number, (chromosome, seconds, metrics) in enumerate(made, 1):
        attempt = Attempt("ok", seconds, metrics)
        scenario = found.scenarios[0]
        standings.add(Evaluation(number, chromosome, scenario, 0, 0, attempt, 10.0, 12.5))
    return standings


def writing(chromosome, seconds, *sectors):
    return [(chromosome, seconds, {SECTORS: float(one)}) for one in sectors]


def test_a_figure_by_hand():
    found = compared(WEAR, 0.5, "idle", [4000.0, 4200.0], [1000.0, 1200.0, 1000.0, 1000.0])
    assert (found.value, found.default, found.limit) == (4100, 1000, 1500)
    squares = 2 * 100**2 + 150**2 + 3 * 50**2
    noise = math.sqrt(squares / 4) * math.sqrt(4 / 2)
    error = noise * math.sqrt(math.pi / 2 * (1 / 2 + 1 / 4))
    assert found.violated == (1.645 * error < 2600)
    assert found.violated


@pytest.mark.parametrize(
    ("default", "value", "violated"),
    [
        (4, 8, False),  # twice as much of next to nothing
        (4, 259, False),
        (4, 261, True),
        (10_000, 10_999, False),
        (10_000, 11_001, True),
        (0, 0, False),
        (10_000, 0, False),
    ],
)
def test_share_and_floor(default, value, violated):
    found = compared(WEAR, 0.1, "idle", [value] * 2, [default] * 4)
    assert found.violated == violated


def test_without_enough_runs_nothing_is_shown():
    assert not compared(WEAR, 0.1, "idle", [1e9], [0.0, 0.0, 0.0]).violated
    few = [*writing(DEFAULT, 4.0, 8, 8, 8, 8), *writing(BEST, 1.0, 90_000)]
    assert standings_of(few).best() == key_of(BEST)
    assert standings_of([*few, *writing(BEST, 1.0, 90_000)]).best() == key_of(DEFAULT)
    assert standings_of(few, fewest=1, most=1).best() == key_of(DEFAULT)


def bursty(rng, runs, base):
    """Return sectors of runs that a daemon writes into now and then."""
    return [base + rng.randrange(40) + 2000 * (rng.random() < 0.2) for _ in range(runs)]


def test_bursts_of_others_rarely_refuse_and_steady_writes_always():
    rng = random.Random(1)
    draws = 2000
    equal = sum(
        compared(WEAR, 0.1, "idle", bursty(rng, 3, 800), bursty(rng, 6, 800)).violated
        for _ in range(draws)
    )
    assert equal < 0.02 * draws
    tenfold = sum(
        compared(WEAR, 0.1, "idle", bursty(rng, 5, 8000), bursty(rng, 6, 800)).violated
        for _ in range(draws)
    )
    assert tenfold > 0.99 * draws


def test_an_infeasible_chromosome_has_no_fitness_and_is_not_run_again():
    standings = standings_of(
        [
            *writing(DEFAULT, 4.0, 800, 820, 810, 790, 800),
            *writing(BEST, 1.0, 9000, 9100),
            *writing(OTHER, 2.0, 810, 800),
        ]
    )
    assert standings.fitness(key_of(BEST)) == 0 and standings.gain(key_of(BEST)) == -math.inf
    assert standings.best() == key_of(OTHER)
    assert key_of(BEST) not in standings.ranking()
    assert standings.next_to_run(key_of(BEST)) is None
    (violation,) = standings.violations(key_of(BEST))
    assert (violation.value, violation.default, violation.runs) == (9050, 800, 2)


def test_more_runs_of_the_default_change_the_verdict():
    made = [*writing(DEFAULT, 4.0, 800, 800, 800, 800), *writing(BEST, 1.0, 3000, 3000)]
    assert standings_of(made).best() == key_of(DEFAULT)
    more = [*made, *writing(DEFAULT, 4.0, 3000, 3100, 2900, 3000, 3000)]
    assert standings_of(more).best() == key_of(BEST)


def test_memory_pressure_is_limited_alike():
    made = [(DEFAULT, 4.0, {STALLED: 0.001})] * 4
    made += [(BEST, 1.0, {STALLED: 0.4})] * 2 + [(OTHER, 2.0, {STALLED: 0.03})] * 2
    assert standings_of(made).best() == key_of(OTHER)
    assert standings_of(made, limits=ExcessLimits(memory=None)).best() == key_of(BEST)
    assert standings_of(made, limits=None).best() == key_of(BEST)


def test_what_a_machine_does_not_count_is_not_limited_and_said():
    made = [*writing(DEFAULT, 4.0, 8, 8, 8, 8), (BEST, 1.0, {STALLED: 9.0, SECTORS: 8.0})] * 2
    standings = standings_of(made)
    assert standings.best() == key_of(BEST)
    assert "CONFIG_PSI" in standings.feasibility.unchecked(MEMORY)["idle"]
    assert standings.feasibility.unchecked(WEAR) == {}


def test_the_writes_of_a_load_of_writes_are_not_limited():
    made = [*writing(DEFAULT, 4.0, 8, 8, 8, 8), *writing(BEST, 1.0, 90_000, 90_000)]
    standings = standings_of(made, scenarios=("writer:/data",))
    assert standings.best() == key_of(BEST)
    assert "as fast as" in standings.feasibility.unchecked(WEAR)["writer:/data"]


def test_the_limits_are_in_the_file():
    for limits in (ExcessLimits(), ExcessLimits(wear=0.5, memory=None), None):
        assert limits_of(spec(limits)) == limits
    assert limits_of(tuning.spec()) is None
    text = json.loads(spec().space)
    for wrong in ({"wear": -1}, {"wear": "x"}, {"disk": 1}):
        forged = tuning.spec(space=json.dumps({**text, "limits": wrong}))
        with pytest.raises(GeneError, match="limits"):
            Standings(forged)
