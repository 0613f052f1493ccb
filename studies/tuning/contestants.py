"""What competes in the studies of samplers: recipes, and who repeats their chromosomes.

Every sampler competes twice. Once its chromosomes race against the best (``race``: what ``foreread
tune`` does for all recipes but ``start-up`` and ``one-gene``), once the model of ``start-up``
repeats them and chooses the best one, as it does for ``start-up`` (``model``). The rows that
``foreread tune`` runs are marked *as shipped*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import msgspec

from analyzer.tuner.engine import Engine
from analyzer.tuner.engines.make import make_engine
from analyzer.tuner.engines.recipe import Judge, Recipe, StartUp, recipe_names
from analyzer.tuner.space.genes import Space
from studies.tuning.competition import MakeEngine
from studies.tuning.study_recipes import load_recipe

SLOW = 4  # the seeds of others for one of the Gaussian process, which takes 0.1 s a chromosome
LANDSCAPES_LACK = ("genetic-library",)  # its phenotypes need counters, which no landscape has


@dataclass(frozen=True)
class Contestant:
    """A row of the tables.

    ``predicted``: whether it is given the predicted seconds by window.
    """

    recipe: str
    judged_by: Judge
    predicted: bool = False

    @property
    def name(self) -> str:
        """Its name in tables and figures."""
        notes = ["window predicted"] if self.predicted else []
        notes += ["without its counters"] if self.recipe in LANDSCAPES_LACK else []
        return ", ".join([self.recipe, *notes])

    @property
    def as_shipped(self) -> bool:
        """Whether ``foreread tune`` runs this."""
        found = load_recipe(self.recipe)
        same = isinstance(found, StartUp) or found.judged_by == self.judged_by
        return same and self.recipe in recipe_names() and self.recipe not in LANDSCAPES_LACK

    def seeds(self, seeds: int) -> int:
        """Return how many of ``seeds`` it has time for."""
        return max(seeds // SLOW, 1) if self.recipe == "gaussian-process" else seeds

    def loaded(self) -> Recipe:
        """Return its recipe."""
        found = load_recipe(self.recipe)
        if isinstance(found, StartUp):
            return found
        return msgspec.structs.replace(found, judged_by=self.judged_by)

    def engines(self, space: Space, predicted: Mapping[int, float] | None) -> MakeEngine:
        """Return what makes its engine of a seed."""
        return partial(_engine, self.loaded(), space, predicted if self.predicted else None)


def _engine(
    recipe: Recipe, space: Space, predicted: Mapping[int, float] | None, seed: int
) -> Engine:
    return make_engine(recipe, space, seed, predicted=predicted)


SAMPLERS = (
    *("one-gene", "multivariate-tpe", "tpe", "random", "exhaustive"),
    *("genetic-library", "gaussian-process"),
)
OURS = (Contestant("start-up", "model", predicted=True), Contestant("start-up", "model"))
EVERY = (
    *OURS,
    *(Contestant(recipe, "model") for recipe in SAMPLERS),
    *(Contestant(recipe, "race") for recipe in SAMPLERS),
)
