"""Campaigns leave out genes that cannot act by the counters of their runs, and say so."""

import pytest
from rings import further

from foreread.analyzer.tuner.campaign.campaign import Campaign, Rules
from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.campaign.left_out import left_out
from foreread.analyzer.tuner.engines.recipe import load_recipe
from foreread.analyzer.tuner.engines.stopping import Budget
from foreread.analyzer.tuner.evaluation import Attempt
from foreread.analyzer.tuner.space.genes import Gene, Space
from foreread.analyzer.tuner.store.records import Board, Spec
from foreread.analyzer.tuner.store.store import Store

WINDOW = Gene(name="read_ahead_kb", kind="integer", choices=(16, 64, 128, 512), default=128)
SWAPPINESS = Gene(name="swappiness", kind="integer", choices=(0, 60, 100), default=60)
SPACE = Space((WINDOW, SWAPPINESS))
SETUP = CampaignSetup(load_recipe("start-up"), SPACE)
SPEC = Spec(
    board=Board("b"),
    scenarios=("idle", "reader"),
    default=SPACE.default(),
    recipe=SETUP.recipe_text,
    space=SETUP.space_text,
    most=2,
)


class Machine:
    """Reclaims memory with windows of ``from_kb`` and more, beside the reader."""

    def __init__(self, from_kb, lasts=1000):
        self.from_kb, self.lasts = from_kb, lasts

    def evaluate(self, chromosome, scenario):
        if not self.lasts:
            raise KeyboardInterrupt
        self.lasts -= 1
        reclaims = scenario == "reader" and chromosome["read_ahead_kb"] >= self.from_kb
        metrics = {"vmstat.pgscan_kswapd": float(reclaims)}
        return Attempt("ok", 1.0 + chromosome["read_ahead_kb"] / 1e4, metrics)


def search(store, machine, budget=40):
    said = []
    rules = Rules(Budget(evaluations=budget), patience=None)
    Campaign(store, SETUP.engine(1), machine, rules, tell=said.append).run()
    return said


def swappiness_in(store):
    return [one.chromosome["swappiness"] for one in store.evaluations()]


def test_without_reclaim_swappiness_is_never_tried():
    with Store.in_memory(SPEC) as store:
        said = search(store, Machine(from_kb=10_000))
        assert set(swappiness_in(store)) == {60}
        assert said == ["swappiness: not tuned, it cannot act: no run reclaimed memory"]
        assert left_out(SPACE, store.evaluations()) == {
            "swappiness": "it cannot act: no run reclaimed memory"
        }


def test_a_counter_that_appears_later_brings_the_gene_back():
    with Store.in_memory(SPEC) as store:
        said = search(store, Machine(from_kb=512), budget=48)
        tried = swappiness_in(store)
        shown = [
            number
            for number, one in enumerate(store.evaluations())
            if one.attempt.metrics["vmstat.pgscan_kswapd"]
        ]
        assert set(tried[: shown[1] + 1]) == {60}
        assert set(tried) == {0, 60, 100}
        assert len(said) == 2 and said[1].startswith("swappiness: tuned from now on")
        assert left_out(SPACE, store.evaluations()) == {}


def test_where_it_occurs_from_the_start_nothing_is_said():
    with Store.in_memory(SPEC) as store:
        assert search(store, Machine(from_kb=0)) == []
        assert set(swappiness_in(store)) == {0, 60, 100}


@pytest.mark.parametrize("lasts", further([6, 3, 17, 30]))
def test_an_interrupted_campaign_leaves_out_the_same(lasts):
    with Store.in_memory(SPEC) as whole, Store.in_memory(SPEC) as store:
        search(whole, Machine(from_kb=512))
        with pytest.raises(KeyboardInterrupt):
            search(store, Machine(512, lasts))
        search(store, Machine(from_kb=512))

        def made(one):
            return [(e.chromosome, e.scenario) for e in one.evaluations()], one.generations()

        assert made(store) == made(whole)


def test_other_recipes_keep_all_genes():
    setup = CampaignSetup(load_recipe("random"), SPACE)
    with Store.in_memory(SPEC) as store:
        rules = Rules(Budget(evaluations=60), patience=None)
        Campaign(store, setup.engine(1), Machine(10_000), rules).run()
        assert len(set(swappiness_in(store))) == 3
