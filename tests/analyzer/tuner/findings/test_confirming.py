"""A winner's confirmation, made and stored."""

import json

import pytest
from tuned_stores import KnownLandscape, spec_of, tuned
from tuner_landscapes import SPACE, USELESS

from foreread.analyzer.tuner.campaign.attempts import CampaignError
from foreread.analyzer.tuner.campaign.campaign import Campaign, Rules
from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.engines.stopping import Budget
from foreread.analyzer.tuner.evaluation import Attempt
from foreread.analyzer.tuner.findings.confirm import SHOWN
from foreread.analyzer.tuner.findings.confirming import ConfirmingRuns
from foreread.analyzer.tuner.findings.document import document
from foreread.analyzer.tuner.findings.results import Results, read_results
from foreread.analyzer.tuner.store.store import Store


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("tuned") / "app.tuning"
    tuned(path, runs=160)
    return path


def test_genes_that_matter_are_kept_and_read_back(path):
    results = read_results(path)
    confirmed = results.confirmed
    assert not confirmed.to_run
    assert {gain.gene for gain in confirmed.gains} >= {"scheduler", "slice_idle"}
    assert not {gain.gene for gain in confirmed.gains} & {*USELESS, "swappiness"}
    assert confirmed.chromosome["scheduler"] == "bfq"
    assert confirmed.over_default.high < -0.25
    for chromosome in (SPACE.default(), results.winner, confirmed.chromosome):
        assert results.confirming.count(chromosome, ("reader",)) >= SHOWN


def test_a_decided_confirmation_makes_no_runs(path):
    evaluator = KnownLandscape()
    before = read_results(path)
    with Store.resume(path) as store:
        assert ConfirmingRuns(store, evaluator).run() == before.confirmed
    assert evaluator.made == 0


@pytest.mark.thorough
def test_the_search_can_be_resumed_beside_it(path, tmp_path):
    """The confirmation's runs are not taken for the search's."""
    copy = tmp_path / "copy.tuning"
    copy.write_bytes(path.read_bytes())
    before = read_results(copy)
    with Store.resume(copy) as store:
        rules = Rules(budget=Budget(evaluations=len(before.search) + 10), patience=None)
        engine = CampaignSetup.of(store.spec).engine(store.spec.seed)
        Campaign(store, engine, KnownLandscape(), rules).run()
    after = read_results(copy)
    assert after.search[: len(before.search)] == before.search
    assert len(after.search) == len(before.search) + 10
    assert after.confirmation == before.confirmation


class Interrupting(KnownLandscape):
    def __init__(self, after):
        super().__init__()
        self._after = after

    def evaluate(self, chromosome, scenario):
        if self.made == self._after:
            raise KeyboardInterrupt
        return super().evaluate(chromosome, scenario)


def test_interrupted_it_goes_on_where_it_was(path, tmp_path):
    whole = tmp_path / "whole.tuning"
    tuned(whole, runs=60)
    parts = tmp_path / "parts.tuning"
    tuned(parts, runs=60, confirm=False)
    for after in (3, 1, 7):
        with Store.resume(parts) as store, pytest.raises(KeyboardInterrupt):
            ConfirmingRuns(store, Interrupting(after)).run()
    with Store.resume(parts) as store:
        ConfirmingRuns(store, Interrupting(1000)).run()
    one, other = read_results(whole), read_results(parts)
    assert other.confirmed.chromosome == one.confirmed.chromosome
    assert len(other.confirmation) == len(one.confirmation)


def test_a_target_that_fails_ends_it_with_a_remedy(tmp_path):
    path = tmp_path / "app.tuning"
    tuned(path, runs=60, confirm=False)

    class Broken:
        def evaluate(self, chromosome, scenario):
            return Attempt("failed", notes=("it is gone",))

    with Store.resume(path) as store, pytest.raises(CampaignError, match="it is gone") as caught:
        ConfirmingRuns(store, Broken()).run()
    assert "--resume" in caught.value.remedy


@pytest.mark.thorough
def test_of_a_rate_more_is_better():
    class Rates(KnownLandscape):
        def evaluate(self, chromosome, scenario):
            attempt = super().evaluate(chromosome, scenario)
            return Attempt(attempt.status, attempt.value and 1 / attempt.value)

    with Store.in_memory(spec_of(objective="rate")) as store:
        engine = CampaignSetup.of(store.spec).engine(1)
        Campaign(store, engine, Rates(), Rules(budget=Budget(evaluations=120))).run()
        ConfirmingRuns(store, Rates()).run()
        results = Results.of(store)
    assert results.confirmed.chromosome["scheduler"] == "bfq"
    found = document(results)
    assert found.over_default.effect < -0.2
    scenario = found.scenarios[0]
    assert min(scenario.tuned) > max(scenario.default) > 0.1


def test_the_document_is_json_of_the_same(path):
    results = read_results(path)
    found = json.loads(document(results).to_json())
    assert found["confirmed"] and found["runs"] == len(results.search)
    assert [gene["gene"] for gene in found["genes"]] == [g.gene for g in results.confirmed.gains]
    assert {effect["gene"] for effect in found["effects"]} <= set(SPACE.names)
