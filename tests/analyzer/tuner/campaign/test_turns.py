"""Scenarios that take turns: what is measured where, what comes back, and what comes out."""

from dataclasses import replace
from itertools import groupby

import msgspec
import pytest
from tuned_stores import KnownLandscape, spec_of
from tuner_landscapes import SPACE as WHOLE

from foreread.analyzer.apply import plan_of_tuning
from foreread.analyzer.apply.plan import ApplyError
from foreread.analyzer.report.tuning import tuning_sections
from foreread.analyzer.tuner.campaign.campaign import Campaign, Rules
from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.engines.fingerprint import BY_NAME, Snapshot
from foreread.analyzer.tuner.engines.recipe import load_recipe
from foreread.analyzer.tuner.engines.stopping import Budget, Patience
from foreread.analyzer.tuner.evaluation import key_of
from foreread.analyzer.tuner.findings.confirming import ConfirmingRuns
from foreread.analyzer.tuner.findings.document import document
from foreread.analyzer.tuner.findings.plans import learn, read_plans
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.space.genes import Space
from foreread.analyzer.tuner.store.store import Store, StoreError
from foreread.cli.text.tuning import outcome_text

SCENARIOS = ("idle", "reader")
SPACE = Space(WHOLE.genes[:4])
TURNS = 3
RECIPE = msgspec.structs.replace(load_recipe("fingerprinting"), turns=TURNS)
WORKLOADS = {
    "idle": Snapshot(writes=100, sectors=800, followers=99),
    "reader": Snapshot(reads=100, sectors=800, followers=99),
}
PRINTS = {"idle": "write-sequential-small", "reader": "read-sequential-small"}


class Workloads(KnownLandscape):
    """A landscape whose scenarios have fingerprints; it lasts for so many evaluations."""

    def __init__(self, lasts=-1, **how):
        super().__init__(**how)
        self._lasts = lasts

    def evaluate(self, chromosome, scenario):
        if self.made == self._lasts:
            raise KeyboardInterrupt
        attempt = super().evaluate(chromosome, scenario)
        return replace(attempt, metrics=WORKLOADS[scenario].metrics())


def spec(scenarios=SCENARIOS):
    recipe = CampaignSetup(RECIPE, SPACE).recipe_text
    return replace(spec_of(scenarios, space=SPACE), recipe=recipe, sampler="fingerprinting")


def search(store, evaluator=None, received=None, rules=None):
    ground = CampaignSetup.of(store.spec)
    campaign = Campaign(
        store,
        ground.engine(store.spec.seed),
        evaluator or Workloads(),
        rules or Rules(Budget(evaluations=200), patience=None),
        None if received is None else received.append,
        ground.turns,
    )
    return campaign.run()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("turns") / "app.tuning"
    with Store.create(path, spec()) as store:
        search(store)
        for contest in Results.of(store).contests:
            ConfirmingRuns(store, Workloads(), contest=contest).run()
    return path


@pytest.fixture
def results(path):
    with Store.read(path) as store:
        return Results.of(store)


def test_a_generation_is_measured_in_the_scenario_in_force(results):
    turns = [scenario for scenario, _ in groupby(one.scenario for one in results.search)]
    assert turns == [SCENARIOS[number % 2] for number in range(len(turns))]
    assert len(turns) == len(results.generations) // TURNS + 1 > 3
    measured = {scenario: set() for scenario in SCENARIOS}
    for one in results.search:
        measured[one.scenario].add(key_of(one.chromosome))
    for number, received in enumerate(results.generations):
        keys = {key_of(chromosome) for chromosome, _ in received}
        assert keys <= measured[SCENARIOS[number // TURNS % 2]]


def test_no_chromosome_is_measured_beyond_its_repeats_in_a_scenario(results):
    default = key_of(results.space.default())
    for scenario in SCENARIOS:
        good = [
            key_of(one.chromosome)
            for one in results.search
            if one.scenario == scenario and one.attempt.status == "ok"
        ]
        assert max(good.count(key) for key in {*good} - {default}) <= results.spec.most


def test_genes_come_back_with_their_workload():
    received = []
    with Store.in_memory(spec()) as store:
        search(store, received=received)
        generations, top = store.generations(), store.top_genes()
    returned = {one.generation: one.returned for one in received if one.returned is not None}
    # In the second generation of each turn but the first one, if anything is measured in it.
    assert [*returned][:3] == [TURNS + 1, 2 * TURNS + 1, 3 * TURNS + 1]
    assert {number % TURNS for number in returned} == {1}
    first, second, *_ = returned.values()
    assert first == SPACE.default()  # nothing was known of the second workload
    assert key_of(second) != key_of(SPACE.default())
    for number, genes in returned.items():
        if number < len(generations):
            assert key_of(generations[number][0][0]) == key_of(SPACE.repair(genes))
    assert set(top) == {*PRINTS.values()}
    assert all(SPACE.valid(SPACE.repair(genes.chromosome)) for genes in top.values())


def test_nothing_comes_back_without_fingerprints():
    received = []
    with Store.in_memory(spec()) as store:
        search(store, KnownLandscape(), received)
        assert store.top_genes() == {}
    assert all(one.returned is None for one in received)
    assert {one.scenario for one in received} == {*SCENARIOS}


def held(store):
    made = [(one.chromosome, one.scenario, one.attempt) for one in store.evaluations()]
    return made, store.generations(), store.top_genes(), store.ended


def test_interrupted_again_and_again_it_ends_as_if_it_had_not_been():
    with Store.in_memory(spec()) as whole:
        search(whole)
        expected = held(whole)
    with Store.in_memory(spec()) as store:
        for lasts in (3, 30, 41, 1, 66):
            with pytest.raises(KeyboardInterrupt):
                search(store, Workloads(lasts))
        search(store)
        assert held(store) == expected


def test_it_ends_by_itself_when_no_scenario_gains_more_than_the_noise():
    with Store.in_memory(spec()) as store:
        rules = Rules(Budget(evaluations=3000), Patience(generations=3, chromosomes=10))
        assert search(store, rules=rules) == "noise"
        assert len(Results.of(store).contests) == 2


def test_each_scenario_has_its_winner_and_that_is_confirmed(results):
    idle, reader = results.contests
    assert (idle.spec.scenarios, reader.spec.scenarios) == (("idle",), ("reader",))
    assert len(idle.generations) + len(reader.generations) == len(results.generations)
    assert not idle.confirmed.to_run and not reader.confirmed.to_run
    assert reader.confirmed.chromosome["scheduler"] == "bfq"
    assert idle.confirmed.chromosome["scheduler"] != "bfq"
    assert reader.confirmed.over_default.high < -0.2
    assert {one.scenario for one in idle.confirmation} == {"idle"}


def test_a_scenario_without_a_turn_has_no_outcome():
    with Store.in_memory(spec()) as store:
        assert Results.of(store).contests == []
        search(store, rules=Rules(Budget(evaluations=12)))
        (contest,) = Results.of(store).contests
    assert contest.spec.scenarios == ("idle",)


def test_one_scenario_takes_no_turns():
    with Store.in_memory(spec(("idle",))) as store:
        search(store, rules=Rules(Budget(evaluations=60)))
        results = Results.of(store)
    assert results.contests == [results]


def test_each_turn_has_its_own_outcome(results):
    idle, reader = document(results).turns
    assert reader.chromosome["scheduler"] == "bfq" and reader.confirmed
    assert idle.runs + reader.runs == document(results).runs
    text = outcome_text(results)
    assert text.index("idle") < text.index("reader") and text.count(" good runs") == 1
    sections = [section for section in tuning_sections(results) if section.blocks]
    anchors = [section.anchor for section in sections]
    assert {"tuned-turn-1", "tuned-turn-2", "search"} <= {*anchors}
    assert len(set(anchors)) == len(anchors)
    plots = [block.plot for one in sections for block in one.blocks if block.kind == "figure"]
    assert len({plot.name for plot in plots}) == len(plots)


def test_its_settings_follow_the_workload_and_make_no_boot_script(path, results):
    with pytest.raises(ApplyError) as refused:
        plan_of_tuning(results)
    assert "foreread fingerprint --apply" in refused.value.remedy
    assert set(read_plans(path)) == {*PRINTS.values()}
    with pytest.raises(StoreError, match="several workloads"):
        learn(path, BY_NAME[PRINTS["idle"]])
