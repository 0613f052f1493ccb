"""Recipes of the studies; ``foreread tune`` has its own.

IOPerf's genes describe workloads, Storage v1's and v2's are options of mkfs.
"""

from __future__ import annotations

from pathlib import Path

from foreread.analyzer.tuner.engines import recipe
from foreread.analyzer.tuner.engines.recipe import Recipe

RECIPES = Path(__file__).parent / "recipes"


def study_names() -> list[str]:
    """Return the names of the recipes that only studies run."""
    return sorted(path.stem for path in RECIPES.glob(f"*{recipe.SUFFIX}"))


def load_recipe(name: str) -> Recipe:
    """Return a recipe of the studies, or whatever ``foreread tune`` knows by that name."""
    return recipe.load_recipe(
        str(RECIPES / f"{name}{recipe.SUFFIX}") if name in study_names() else name
    )
