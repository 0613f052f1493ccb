"""From a recipe to the engine that follows it."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.tuner.engine import Engine
from analyzer.tuner.genes import Chromosome, Space
from analyzer.tuner.genetic import GeneticEngine
from analyzer.tuner.recipe import Genetic, Recipe
from analyzer.tuner.samplers import make_sampler


def make_engine(
    recipe: Recipe, space: Space, seed: int, seeds: Sequence[Chromosome] = ()
) -> Engine:
    """Return the engine of ``recipe`` over ``space``; ``seeds`` are evaluated first.

    Raises RecipeError where the recipe does not fit the space, or needs what is not installed.
    """
    if isinstance(recipe, Genetic):
        return GeneticEngine(recipe, space, seed, seeds)
    return make_sampler(recipe, space, seed, seeds)
