"""Campaigns of an engine that decides what is run again, and what is best."""

from collections import Counter

import pytest
import tuning

from foreread.analyzer.tuner.campaign.campaign import DEFAULT_FIRST, Campaign, Rules
from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.engine import Believer
from foreread.analyzer.tuner.engines.recipe import load_recipe
from foreread.analyzer.tuner.evaluation import Attempt, key_of
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.store.store import Store
from studies.tuning.landscape import Landscape

DEFAULT, BEST = tuning.SPACE.default(), tuning.BEST
OTHER = {**BEST, "window": 64}
RULES = Rules(patience=None)


class Stubborn:
    """Asks for what it is made with, in turn, and believes in the last of it."""

    def __init__(self, *asked):
        self.asked = list(asked)
        self.belief = asked[-1]
        self.received = []

    def ask(self):
        return [self.asked.pop(0)] if self.asked else []

    def tell(self, scored):
        self.received.append({key_of(one.chromosome): one for one in scored})

    def best(self):
        return self.belief

    def gain(self, chromosome):
        return 0.0


def runs(store, scenario="idle"):
    made = [one for one in store.evaluations() if one.scenario == scenario]
    return Counter(key_of(one.chromosome) for one in made)


def run(store, engine, evaluator=None):
    assert isinstance(engine, Believer)
    campaign = Campaign(store, engine, evaluator or Landscape(tuning.table()), RULES)
    campaign.run()
    return campaign


@pytest.mark.parametrize(("fewest", "expected"), [(1, 2), (2, 3), (3, 4)])
def test_a_repeated_request_is_run_once_more(fewest, expected):
    with Store.in_memory(tuning.spec(fewest=fewest)) as store:
        run(store, Stubborn(BEST, OTHER, BEST))
        assert runs(store) == {
            key_of(DEFAULT): DEFAULT_FIRST,
            key_of(BEST): expected,
            key_of(OTHER): fewest,
        }


def test_nothing_is_run_more_often_than_all_its_repeats():
    with Store.in_memory(tuning.spec(most=2)) as store:
        engine = Stubborn(*[BEST] * 5)
        run(store, engine)
        assert runs(store)[key_of(BEST)] == runs(store)[key_of(DEFAULT)] == 2
        assert [received[key_of(BEST)].final for received in engine.received] == [
            False,
            True,
            True,
            True,
            True,
        ]


def test_it_receives_the_current_fitness_of_every_chromosome():
    with Store.in_memory(tuning.spec()) as store:
        engine = Stubborn(BEST, OTHER, BEST)
        campaign = run(store, engine)
        last = engine.received[-1]
        assert list(last) == [key_of(one) for one in (DEFAULT, BEST, OTHER)]
        for one, times in zip(last.values(), [DEFAULT_FIRST, 2, 1], strict=True):
            assert {name: len(runs) for name, runs in one.gains.items()} == {
                "idle": times,
                "reader": times,
            }
        for key, one in last.items():
            assert one.fitness == campaign.standings.fitness(key)
        idle, reader = (
            [run.attempt.value for run in store.evaluations() if run.scenario == scenario]
            for scenario in ("idle", "reader")
        )
        level = (sorted(idle[:3])[1] * sorted(reader[:3])[1]) ** 0.5
        gain = sum(gain for (gain,) in last[key_of(OTHER)].gains.values()) / 2
        assert 2.718281828**gain == pytest.approx(level / (idle[4] * reader[4]) ** 0.5)


def test_a_failed_attempt_is_reported_as_failed():
    class Refusing(Landscape):
        def evaluate(self, chromosome, scenario):
            refused = chromosome == OTHER
            return Attempt("refused") if refused else super().evaluate(chromosome, scenario)

    with Store.in_memory(tuning.spec()) as store:
        engine = Stubborn(OTHER, OTHER, BEST)
        run(store, engine, Refusing(tuning.table()))
        failed = engine.received[-1][key_of(OTHER)]
        assert (failed.fitness, failed.final, failed.gains) == (0.0, True, {})
        assert runs(store)[key_of(OTHER)] == 1


def test_its_belief_is_the_winner_and_is_kept(tmp_path):
    path = tmp_path / "x.tuning"
    setup = CampaignSetup(load_recipe("start-up"), tuning.SPACE)
    spec = tuning.spec(recipe=setup.recipe_text, space=setup.space_text)
    with Store.create(path, spec) as store:
        assert Results.of(store).winner == DEFAULT
        campaign = run(store, Stubborn(BEST, OTHER))
        assert campaign.standings.best() == key_of(BEST)
        assert campaign.best == store.best == key_of(OTHER)
        assert campaign.progress().best == OTHER
    with Store.read(path) as store:
        assert Results.of(store).winner == OTHER
