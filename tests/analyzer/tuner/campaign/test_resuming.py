"""Every engine that is shipped: interrupted again and again, it ends as if it had not been."""

import msgspec
import pytest
import tuning
from rings import further

from foreread.analyzer.tuner.campaign.campaign import Campaign, Rules
from foreread.analyzer.tuner.engines.make import make_engine
from foreread.analyzer.tuner.engines.stopping import Budget
from foreread.analyzer.tuner.store.store import Store
from studies.tuning.landscape import Landscape
from studies.tuning.study_recipes import load_recipe

LANDSCAPE = Landscape(tuning.table())
RULES = Rules(Budget(evaluations=50), patience=None)
RECIPES = (
    *("genetic-library", "fingerprinting", "storage-v1", "storage-v2", "start-up"),
    *("tpe", "multivariate-tpe", "random", "exhaustive", "one-gene"),
)
BY_MODEL = ("tpe", "multivariate-tpe", "random", "exhaustive", "genetic-library", "storage-v1")


class Interrupted(Landscape):
    """Lasts for so many evaluations."""

    left = 1000

    def evaluate(self, chromosome, scenario):
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        return super().evaluate(chromosome, scenario)


def recipe_of(name):
    """Return the recipe of that name; after "model:", with the rule of start-up."""
    by_model, _, name = name.rpartition(":")
    found = load_recipe(name)
    return msgspec.structs.replace(found, judged_by="model") if by_model else found


def course(store, recipe, lasts):
    evaluator = Interrupted(LANDSCAPE.table)
    evaluator.left = lasts
    engine = make_engine(recipe_of(recipe), LANDSCAPE.space, store.spec.seed)
    return Campaign(store, engine, evaluator, RULES).run()


def held(store):
    made = [(one.number, one.chromosome, one.scenario, one.attempt) for one in store.evaluations()]
    return made, store.generations(), store.best, store.ended


@pytest.mark.parametrize(
    "recipe",
    further(
        [*RECIPES, "model:tpe", *(f"model:{name}" for name in BY_MODEL if name != "tpe")],
        len(RECIPES) + 1,
    ),
)
def test_an_interrupted_engine_goes_on_with_the_same_random_stream(recipe):
    with Store.in_memory(tuning.spec(sampler=recipe)) as whole:
        course(whole, recipe, lasts=1000)
        expected = held(whole)
    with Store.in_memory(tuning.spec(sampler=recipe)) as store:
        for lasts in (5, 15, 21):
            with pytest.raises(KeyboardInterrupt):
                course(store, recipe, lasts)
        course(store, recipe, lasts=1000)
        assert held(store) == expected
