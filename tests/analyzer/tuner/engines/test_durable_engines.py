"""No engine leaves a durable space: not by seeds, mutation, genes that come back, or averages."""

import pytest
from rings import further

from foreread.analyzer.tuner.engine import Scored, run
from foreread.analyzer.tuner.engines.genetic import GeneticEngine
from foreread.analyzer.tuner.engines.make import make_engine
from foreread.analyzer.tuner.engines.recipe import load_recipe
from foreread.analyzer.tuner.space.catalogue import space_of
from foreread.analyzer.tuner.space.losses import losses_of, worst_losses

PROBE = {
    "/proc/sys/vm/swappiness": "60",
    "/proc/sys/vm/dirty_ratio": "20",
    "/proc/sys/vm/dirty_background_ratio": "10",
    "/proc/sys/vm/dirty_expire_centisecs": "3000",
    "/proc/sys/vm/dirty_writeback_centisecs": "500",
    "mount:nolazytime,lazytime:/": "[nolazytime] lazytime",
    "mount:commit=:/": "5",
}
EVERY = space_of(PROBE, ["sda"], mounted="/", risked=["commit", "lazytime", "dirty_ratio"])
DURABLE = space_of(PROBE, ["sda"], mounted="/")
LOSING = {**EVERY.default(), "commit": 60, "lazytime": "lazytime", "dirty_ratio": 80}


def tempting(chromosome):
    """Return a fitness that rises with what is lost."""
    gain = 1.0 + chromosome["commit"] / 60 + chromosome["dirty_ratio"] / 80
    return Scored(chromosome, gain, {"seconds": 1 / gain, "io_reads": 50.0})


RECIPES = ("genetic-library", "fingerprinting", "random", "exhaustive", "tpe", "start-up")


@pytest.mark.parametrize("recipe", further(RECIPES, 5))
def test_a_durable_space_stays_durable(recipe):
    engine = make_engine(load_recipe(recipe), DURABLE, 3, [LOSING])
    made = run(engine, tempting, 60)
    assert len(made) == 60
    assert not [one for one in made if losses_of(EVERY, one.chromosome)]
    if recipe != "exhaustive":
        assert {one.chromosome["commit"] for one in made} == {1, 5}


def test_genes_that_come_back_are_those_of_the_space():
    engine = GeneticEngine(load_recipe("genetic-library"), DURABLE, 3)
    engine.reintroduce(LOSING)
    (returned, *_) = engine.ask()
    assert (returned["commit"], returned["dirty_ratio"]) == (5, 20)
    assert not losses_of(EVERY, returned)


def test_a_space_says_what_it_may_lose():
    assert worst_losses(DURABLE) == []
    assert [loss.gene for loss in worst_losses(EVERY)] == ["dirty_ratio", "lazytime", "commit"]
    assert [loss.value for loss in losses_of(EVERY, LOSING)] == [80, "lazytime", 60]
