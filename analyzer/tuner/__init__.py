"""Tunes settings that cannot be predicted: genes, genetic algorithms, and their results."""

from foreread.analyzer.tuner.engine import Engine, Scored
from foreread.analyzer.tuner.engines.make import make_engine
from foreread.analyzer.tuner.engines.recipe import Recipe, RecipeError, load_recipe, recipe_names
from foreread.analyzer.tuner.space.genes import Allele, Chromosome, Gene, GeneError, Space

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
