"""The study of scenarios in turn counts right, on a landscape made up for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from study_modules import imported
from tuned_stores import KnownLandscape, spec_of
from tuner_landscapes import SPACE

from analyzer.tuner.campaign.campaign import Campaign, Rules
from analyzer.tuner.campaign.campaign_setup import CampaignSetup
from analyzer.tuner.engines.stopping import Budget
from analyzer.tuner.findings.results import Results
from analyzer.tuner.space.genes import Space
from analyzer.tuner.store.store import Store

FOLDER = Path(__file__).parents[3] / "studies/tuning"


@pytest.fixture
def study(monkeypatch):
    with imported(FOLDER, ("measure", "compete", "turns", "turns_live")) as modules:
        yield modules


def test_a_turn_counts_evaluations_until_children_are_good(study):
    taken = study["turns"].taken
    assert taken([[1, 1, 0, 0], [1, 1, 1, 1]]) == {"converged": 0, "found": 0}
    assert taken([[0.9, 0.5, 0, 0], [0.96, 0.9, 0, 0], [0.96, 0.95, 0, 0]]) == {
        "converged": 8,
        "found": 4,
    }
    assert taken([[0.5, 0.5]] * 3) == {"converged": 6, "found": 6}


def test_genes_that_come_back_are_found_sooner(study, monkeypatch, tmp_path, capsys):
    module, out = study["turns"], tmp_path / "out.json"
    monkeypatch.setattr(module, "SEEDS", 12)
    monkeypatch.setattr("sys.argv", ["turns.py", "-o", str(out)])
    module.main()
    found = json.loads(out.read_text())["scenarios"]
    for goals in found.values():
        assert {len(passes) for goal in goals.values() for passes in goal.values()} == {4}
    sums = [
        sum(sum(goals["found"][name][1:]) for goals in found.values())
        for name in ("with", "without")
    ]
    assert sums[0] < sums[1]
    assert "| reader |" in capsys.readouterr().out


class Told(KnownLandscape):
    """Scenarios by their true fingerprints."""

    def __init__(self, received):
        super().__init__(noise=0, contended=0)
        self.received = received

    def evaluate(self, chromosome, scenario):
        metrics = self.received[scenario].metrics()
        return replace(super().evaluate(chromosome, scenario), metrics=metrics)


def test_the_course_of_a_search(study, tmp_path):
    turns, live = study["turns"], study["turns_live"]
    space, recipe = Space(SPACE.genes[:3]), turns.recipe_of("with")
    ground = CampaignSetup(recipe, space)
    spec = replace(spec_of(turns.SCENARIOS, space=space), recipe=ground.recipe_text, most=1)
    with Store.in_memory(spec) as store:
        rules = Rules(Budget(evaluations=90), patience=None)
        Campaign(store, ground.engine(1), Told(turns.TOLD), rules, turns=ground.turns).run()
        found = live.course(Results.of(store), store.top_genes())
    first, second, third, *_ = found["turns"]
    assert (first["scenario"], second["scenario"], third["scenario"]) == ("idle", "reader", "idle")
    assert {*first["fingerprints"]} == {"read-random-small"}
    assert {*second["fingerprints"]} == {"read-sequential-small"}
    assert first["came_back"] is None
    assert space.repair(second["came_back"]) == space.default()
    assert third["came_back"] != second["came_back"]
    assert max(max(one) for turn in found["turns"] for one in turn["worths"]) == 1
    live.draw(found, tmp_path / "turns.png")
    assert (tmp_path / "turns.png").stat().st_size > 1000
    json.dumps(found)
