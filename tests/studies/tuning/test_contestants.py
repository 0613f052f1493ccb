"""What competes: every sampler with the race and with the rule of start-up."""

from __future__ import annotations

from itertools import groupby

import pytest

from analyzer.tuner.engine import Believer
from analyzer.tuner.engines.recipe import recipe_names
from studies.tuning.contestants import EVERY, SAMPLERS, Contestant
from studies.tuning.study_recipes import load_recipe
from studies.tuning.whole_catalogue import board_space

SPACE = board_space()
QUICK = [one for one in EVERY if one.recipe != "gaussian-process"]  # which needs torch


def test_every_sampler_competes_with_both_rules():
    rules = sorted((one.recipe, one.judged_by) for one in EVERY if one.recipe != "start-up")
    by_recipe = {name: [rule for _, rule in some] for name, some in groupby(rules, lambda r: r[0])}
    assert by_recipe == {name: ["model", "race"] for name in SAMPLERS}


@pytest.mark.parametrize("one", QUICK, ids=str)
def test_the_rule_decides_whether_the_campaign_races(one):
    engine = one.engines(SPACE, {32: 1.0, 128: 2.0})(1)
    assert isinstance(engine, Believer) == (one.judged_by == "model")


def test_as_shipped_are_the_rows_that_the_command_runs():
    shipped = {(one.recipe, one.judged_by) for one in EVERY if one.as_shipped}
    assert ("start-up", "model") in shipped and ("one-gene", "model") in shipped
    assert ("tpe", "race") in shipped and ("tpe", "model") not in shipped
    assert {name for name, _ in shipped} <= set(recipe_names())


def test_the_genetic_library_is_named_without_its_counters_and_not_as_shipped():
    one = Contestant("genetic-library", "race")
    assert one.name == "genetic-library, without its counters" and not one.as_shipped
    figures = {name for each in load_recipe(one.recipe).phenotypes for name in each.figures}
    assert figures and all(name.startswith("disk.") for name in figures)


def test_the_slow_one_has_fewer_seeds():
    assert Contestant("gaussian-process", "race").seeds(20) == 5
    assert Contestant("tpe", "race").seeds(20) == 20
