"""Samplers of Optuna: which there are, what they receive, and what they need."""

import sys

import optuna
import pytest
from tuner_spaces import BOARD

from foreread.analyzer.tuner import RecipeError, Scored, make_engine
from foreread.analyzer.tuner.engines.optuna_samplers import OptunaSampler, make_optuna_sampler
from foreread.analyzer.tuner.space.genes import NONE
from studies.tuning.study_recipes import load_recipe


class StandIn(optuna.samplers.RandomSampler):
    """Draws at random; notes which genes all trials have, as those are what GPSampler models."""

    def __init__(self, seed):
        super().__init__(seed=seed)
        self.common = []

    def infer_relative_search_space(self, study, trial):
        self.common.append(optuna.search_space.intersection_search_space(study.get_trials(False)))
        return {}


def asked(sampler, count, fitness=lambda _: 1.0):
    found = []
    for _ in range(count):
        (one,) = sampler.ask()
        sampler.tell([Scored(one, fitness(one))])
        found.append(one)
    return found


@pytest.mark.parametrize("every_gene", [False, True])
def test_a_model_of_all_trials_sees_every_gene_only_if_every_gene_is_suggested(every_gene):
    stand_in = StandIn(1)
    found = asked(OptunaSampler(BOARD, stand_in, 1, every_gene=every_gene), 30)
    assert any(one["slice_idle"] == NONE for one in found)
    assert any(one["slice_idle"] != NONE for one in found)
    assert all(BOARD.valid(one) for one in found)
    everything = set(BOARD.names)
    expected = everything if every_gene else everything - {"slice_idle"}
    assert set(stand_in.common[-1]) == expected


@pytest.mark.parametrize("every_gene", [False, True])
def test_each_chromosome_is_asked_once_and_the_same_seed_asks_the_same(every_gene):
    one, same = (
        [BOARD.key(each) for each in asked(OptunaSampler(BOARD, StandIn(7), 7, (), every_gene), 40)]
        for _ in range(2)
    )
    assert one == same
    assert len(set(one)) == 40


def test_multivariate_tpe_prefers_what_was_good():
    good = {"none", "kyber"}

    def fitness(one):
        return 2.0 + one["flag"] if one["scheduler"] in good else 1.0

    found = asked(make_optuna_sampler("multivariate-tpe", BOARD, 3), 60, fitness)
    early, late = (sum(fitness(one) == 3.0 for one in part) for part in (found[:20], found[40:]))
    assert late > early


@pytest.mark.parametrize("missing", ["torch", "scipy"])
def test_the_gaussian_process_names_what_it_needs(monkeypatch, missing):
    for module in ("torch", "scipy"):
        monkeypatch.setitem(sys.modules, module, None if module == missing else optuna)
    with pytest.raises(RecipeError, match=f"gaussian-process needs {missing}") as caught:
        make_engine(load_recipe("gaussian-process"), BOARD, 1)
    assert "pip install 'foreread[gaussian-process]'" in caught.value.remedy


def test_without_optuna_its_samplers_name_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(RecipeError, match="multivariate-tpe needs Optuna") as caught:
        make_engine(load_recipe("multivariate-tpe"), BOARD, 1)
    assert "foreread[optuna]" in caught.value.remedy
