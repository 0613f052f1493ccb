"""Makes the engine of a recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foreread.analyzer.tuner.engine import Engine
from foreread.analyzer.tuner.engines.earlier import Earlier
from foreread.analyzer.tuner.engines.fingerprint import PAGE_BYTES
from foreread.analyzer.tuner.engines.genetic import GeneticEngine
from foreread.analyzer.tuner.engines.judged import Judged
from foreread.analyzer.tuner.engines.recipe import Genetic, Recipe, StartUp, load_recipe
from foreread.analyzer.tuner.engines.reintroduction import Fingerprinting
from foreread.analyzer.tuner.engines.samplers import make_sampler
from foreread.analyzer.tuner.engines.start_up import StartUpEngine
from foreread.analyzer.tuner.space.genes import Chromosome, Space

START_UP = "start-up"


def make_engine(
    recipe: Recipe,
    space: Space,
    seed: int,
    seeds: Sequence[Chromosome] = (),
    predicted: Mapping[int, float] | None = None,
    page_bytes: int = PAGE_BYTES,
    earlier: Earlier | None = None,
    under_load: Mapping[str, Mapping[int, float]] | None = None,
) -> Engine:
    """Return the engine of ``recipe`` over ``space``; ``seeds`` are evaluated first.

    ``predicted``: seconds by read_ahead_kb, which start-up and one-gene begin with; ``under_load``:
    the same beside the load of a scenario, which start-up expects there; ``page_bytes``: larger
    I/Os count as large; ``earlier``: a campaign with best chromosomes as seeds, and results that
    start-up expects. Raises RecipeError where the recipe does not fit the space, or needs an
    uninstalled package.
    """
    seeds = [*seeds, *(earlier.founders() if earlier else ())]
    if isinstance(recipe, StartUp):
        return StartUpEngine(recipe, space, seed, seeds, predicted, earlier, under_load)
    if isinstance(recipe, Genetic):
        genetic = GeneticEngine(recipe, space, seed, seeds)
        if kept := recipe.fingerprints:
            return Fingerprinting(genetic, kept.decay, page_bytes, kept.published)
        engine: Engine = genetic
    else:
        engine = make_sampler(recipe, space, seed, seeds, predicted)
    if recipe.judged_by == "model":
        return Judged(engine, StartUpEngine(_start_up(), space, seed))
    return engine


def _start_up() -> StartUp:
    recipe = load_recipe(START_UP)
    assert isinstance(recipe, StartUp)
    return recipe
