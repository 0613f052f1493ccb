"""An earlier campaign in the model of start-up: what it expects, and what it may not do."""

import math
from statistics import median

import pytest
import tuning

from foreread.analyzer.tuner import Gene, Scored, Space, load_recipe, make_engine
from foreread.analyzer.tuner.campaign.campaign import Campaign, Rules
from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.engine import run
from foreread.analyzer.tuner.engines.earlier import MOST, Earlier, Expectation, Measured
from foreread.analyzer.tuner.engines.stopping import Budget
from foreread.analyzer.tuner.findings import earlier as of_findings
from foreread.analyzer.tuner.findings.earlier import earlier_of
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.store.store import Store
from studies.tuning.landscape import Landscape

RECIPE = load_recipe("start-up")
NUMBER = Gene(name="number", kind="integer", highest=20, default=10)
WORD = Gene(name="word", kind="categorical", choices=("none", "a", "b"), default="none")
OTHERS = tuple(Gene(name=f"other{n}", kind="integer", highest=9, default=5) for n in range(3))
SPACE = Space((NUMBER, WORD, *OTHERS))


def gain(chromosome, sign=1.0):
    """Return a log fitness with its best at number 3, word b."""
    near = -0.04 * abs(chromosome["number"] - 3)
    return sign * (near + (0.2 if chromosome["word"] == "b" else 0.0))


def earlier(count=60, sign=1.0):
    every = list(SPACE.enumerate())[:: SPACE.size // count]
    measured = [Measured(list(one.values()), 1, gain(one, sign)) for one in every[:count]]
    measured.sort(key=lambda one: -one.gain)
    best = [one.alleles for one in measured[:3]]
    return Earlier(board="b", attempts=count, genes=list(SPACE.genes), measured=measured, best=best)


def regret(known, runs, seed, sign=1.0):
    engine = make_engine(RECIPE, SPACE, seed, earlier=known)
    score = lambda one: Scored(one, math.exp(gain(one, sign)), final=True)  # noqa: E731
    done = run(engine, score, runs)
    best = max(gain(one, sign) for one in SPACE.enumerate())
    return best - max(gain(one.chromosome, sign) for one in done)


def test_its_expectation_follows_what_was_measured_and_maps_other_genes():
    expects = Expectation(earlier(), seed=1)
    default = SPACE.default()
    better, same, worse, strange = expects.gains(
        [
            default | {"number": 3, "word": "b"},
            {"number": 10},  # of a space without the other genes: they are at their defaults
            default | {"number": 25},  # beyond its range: as the nearest, 20
            default | {"word": "kyber"},
        ]
    )
    assert better > same + 0.2 > worse + 0.4
    assert same == pytest.approx(expects.gains([default])[0])
    assert math.isfinite(strange)


@pytest.mark.thorough
def test_a_search_from_a_like_board_has_after_few_runs_what_a_fresh_one_has_after_many():
    ours = [regret(earlier(), 12, seed) for seed in range(3)]
    fresh = [regret(None, 40, seed) for seed in range(3)]
    assert median(ours) <= median(fresh) + 1e-9


@pytest.mark.thorough
def test_a_board_where_the_contrary_is_true_does_no_lasting_harm():
    wrong = [regret(earlier(sign=-1.0), 50, seed) for seed in range(3)]
    assert median(wrong) <= 0.08  # two steps of the number, of a range of 0.88


def test_the_best_are_founders_of_any_recipe():
    known = earlier()
    first = make_engine(load_recipe("random"), SPACE, 1, earlier=known).ask()[0]
    assert list(first.values()) == known.best[0]


def test_a_campaign_becomes_an_earlier_one(monkeypatch):
    results = results_of(runs=40)
    found = earlier_of(results)
    ranked = results.standings.ranking()
    assert found.attempts == 40 and len(found.measured) == results.standings.measured()
    assert [one.gain for one in found.measured[: len(ranked)]] == sorted(
        (one.gain for one in found.measured[: len(ranked)]), reverse=True
    )
    monkeypatch.setattr(of_findings, "MOST", 10)
    assert len(earlier_of(results).measured) == 10 < MOST
    setup = CampaignSetup(RECIPE, tuning.SPACE, earlier=found)
    spec = tuning.spec(recipe=setup.recipe_text, space=setup.space_text)
    assert CampaignSetup.of(spec).earlier == found


def results_of(runs):
    landscape = Landscape(tuning.table())
    setup = CampaignSetup(RECIPE, tuning.SPACE)
    spec = tuning.spec(recipe=setup.recipe_text, space=setup.space_text)
    with Store.in_memory(spec) as store:
        rules = Rules(budget=Budget(evaluations=runs), patience=None)
        Campaign(store, setup.engine(1), landscape, rules).run()
        return Results.of(store)
