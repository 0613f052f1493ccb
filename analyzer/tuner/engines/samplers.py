"""Tuners that are not genetic algorithms, for comparison: the kinds of a ``Sampler`` recipe.

None of them requests a chromosome twice. Repeats come from the campaign, in which chromosomes race
against the best one (racing.py), or from the model of ``start-up`` (judged.py). A race spends runs
that ``start-up`` does not spend, and begins with five rounds of the default in place of three. So
at equal runs a raced sampler has tried fewer chromosomes: studies compare both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from random import Random

from foreread.analyzer.tuner.engine import Engine
from foreread.analyzer.tuner.engines.listed import ListSampler, distinct, shuffled
from foreread.analyzer.tuner.engines.one_gene import OneGeneEngine
from foreread.analyzer.tuner.engines.optuna_samplers import make_optuna_sampler
from foreread.analyzer.tuner.engines.predicted import Prediction
from foreread.analyzer.tuner.engines.recipe import Sampler
from foreread.analyzer.tuner.space.genes import Chromosome, Space


def make_sampler(
    recipe: Sampler,
    space: Space,
    seed: int,
    seeds: Sequence[Chromosome] = (),
    predicted: Mapping[int, float] | None = None,
) -> Engine:
    """Return the sampler of ``recipe``; raises RecipeError if it needs an uninstalled package."""
    if recipe.kind == "one-gene":
        window = Prediction(predicted or {}).window(space)
        return OneGeneEngine(space, seed, [*reversed(seeds), space.default() | window])
    rest: Iterator[Chromosome]
    if recipe.kind == "random":
        rest = shuffled(space, Random(seed))
    elif recipe.kind == "exhaustive":
        rest = space.enumerate()
    else:
        return make_optuna_sampler(recipe.kind, space, seed, seeds)
    first = (space.repair(seed) for seed in seeds)
    return ListSampler(distinct(space, chain(first, rest)), recipe.batch)
