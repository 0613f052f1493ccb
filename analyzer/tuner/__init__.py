"""Tunes settings that cannot be predicted: genes, genetic algorithms, and their results."""

from analyzer.tuner.engine import Engine, Scored
from analyzer.tuner.engines.make import make_engine
from analyzer.tuner.engines.recipe import Recipe, RecipeError, load_recipe, recipe_names
from analyzer.tuner.space.genes import Allele, Chromosome, Gene, GeneError, Space

__all__ = [
    "Allele",
    "Chromosome",
    "Engine",
    "Gene",
    "GeneError",
    "Recipe",
    "RecipeError",
    "Scored",
    "Space",
    "load_recipe",
    "make_engine",
    "recipe_names",
]
