"""Recipes: a tuning algorithm and its parameters, as TOML.

Unknown keys and values out of range are errors that name their path. The shipped recipes are in
recipes/, one for each paper.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.tuner.engines.phenotypes import Phenotype
from foreread.boards.base.bounded import UnboundedError
from foreread.boards.base.document import DocumentError
from foreread.boards.base.toml_document import decode_toml, read_toml

RECIPES = Path(__file__).parent / "recipes"
SUFFIX = ".toml"

Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=1, le=1 << 20)]
Text = Annotated[str, Meta(min_length=1, max_length=4000)]
Bounds = tuple[int, int]
Judge = Literal["race", "model"]


class RecipeError(AnalyzerError, ValueError):
    """A missing or invalid recipe; ``remedy`` says what to do."""


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a recipe; unknown keys and values out of range are errors."""


class Crossover(Part, frozen=True, kw_only=True):
    """``rate``: probability that parents are crossed; it changes to ``last_rate``."""

    kind: Literal["blend", "single-point", "uniform"]
    rate: Share = 1.0
    last_rate: Share | None = None


class Adaptation(Part, frozen=True, kw_only=True):
    """The mutation rate goes up by ``step`` when average fitness falls by more than ``threshold``.

    The threshold is a share of the previous average. The rate goes down by ``step`` when the
    average improves, and stays between ``lowest`` and ``highest``.
    """

    step: Share
    lowest: Share
    highest: Share
    threshold: Share


class Mutation(Part, frozen=True, kw_only=True):
    """``rate``: the chance of each of ``of`` to mutate; changes to ``last_rate``, or adapts."""

    of: Literal["genes", "chromosomes"] = "genes"
    rate: Share
    last_rate: Share | None = None
    adapts: Adaptation | None = None


class Niches(Part, frozen=True, kw_only=True):
    """Every combination of ``ranges`` (bounds included, by gene) keeps ``least`` individuals."""

    least: Count
    ranges: dict[str, list[Bounds]]


class Fingerprints(Part, frozen=True, kw_only=True):
    """Genes return with the workload that they suited (reintroduction.py).

    ``decay``: the share of a top fitness left after a generation. ``published``: the average
    distance decides what is random, not the share of jumps (fingerprint.py); top genes are means of
    values, not of places; and they are updated before they return.
    """

    decay: Share
    published: bool = False


class Genetic(Part, frozen=True, kw_only=True, tag_field="algorithm", tag="genetic"):
    """A genetic algorithm.

    ``first``: how the first generation is spread over the space: ``random``, or ``spread`` (each
    gene's range evenly). ``chromosome``: whether crossover and mutation work on genes or on bits.
    ``repair``: whether children are made valid; otherwise they get the fitness of the evaluation.
    ``parents``: how they are chosen. ``replaces``: the whole population; its worse half, with the
    other half as parents; or the worst of parents and children together. ``generations``: the
    number at which it ends and rates reach their last values; 0: never. ``turns``: the number of
    generations of a scenario before the next one (turns.py); 0: every chromosome is measured in
    all. ``judged_by``: as in Sampler.
    """

    name: Text
    source: Text
    population: Annotated[int, Meta(ge=2, le=10_000)]
    generations: Annotated[int, Meta(ge=0, le=1 << 20)] = 0
    turns: Annotated[int, Meta(ge=0, le=1 << 20)] = 0
    first: Literal["random", "spread"] = "random"
    chromosome: Literal["genes", "bits"] = "genes"
    repair: bool = True
    parents: Literal["random", "roulette", "tournament"] = "random"
    tournament: Count = 2
    replaces: Literal["all", "worse-half", "worst"]
    crossover: Crossover
    mutation: Mutation
    niches: Niches | None = None
    phenotypes: list[Phenotype] = []
    fingerprints: Fingerprints | None = None
    judged_by: Judge = "race"

    def __post_init__(self) -> None:
        """Raise ValueError for parts that contradict each other."""
        changing = (self.crossover.last_rate, self.mutation.last_rate)
        if any(rate is not None for rate in changing) and not self.generations:
            raise ValueError("a last_rate needs generations, over which it is reached")
        if self.mutation.adapts and self.mutation.last_rate is not None:
            raise ValueError("a mutation rate that adapts has no last_rate")
        if self.chromosome == "bits" and self.crossover.kind != "single-point":
            raise ValueError("bits are crossed at a single-point")
        if self.mutation.of != "chromosomes" and (
            self.chromosome == "bits" or self.replaces == "worst"
        ):
            raise ValueError('bits, and replaces = "worst", need mutation of "chromosomes"')
        if self.niches and self.replaces != "worst":
            raise ValueError('niches need replaces = "worst"')
        if self.niches and self.population < self.niches.least * math.prod(
            len(ranges) for ranges in self.niches.ranges.values()
        ):
            raise ValueError("the population is too small for its niches")
        if self.fingerprints and self.turns == 1:
            raise ValueError("genes come back in a workload's second generation: turns must be 2")
        if self.judged_by == "model" and (self.turns or self.fingerprints):
            raise ValueError("scenarios in turn are judged by the race")
        if self.phenotypes and max(p.uid.bit_count() for p in self.phenotypes) < 2:
            raise ValueError("one phenotype's uid must hold the bits of the others")


class StartUp(Part, frozen=True, kw_only=True, tag_field="algorithm", tag="start-up"):
    """foreread's own algorithm (start_up.py).

    ``founders``: number of first chromosomes in addition to the known ones, spread over the space;
    in a space small enough to be its own brood, ``windows`` of them are windows with the defaults
    of all other genes. ``strange``: one of so many children is the one least similar to all others,
    the rest are the most promising of a ``brood``; ``population``: number of possible parents,
    chosen by ``tournament``; ``hopeless``: a window predicted to be slower by this share of the
    best is not tried. ``breeds``: whether children are bred ``always``, or only in ``large
    spaces``, of more than 2,000 chromosomes: a smaller one is considered whole, without selection,
    crossover or mutation.
    """

    name: Text
    source: Text
    founders: Count
    windows: Annotated[int, Meta(ge=0, le=1 << 20)] = 0
    strange: Count
    brood: Count
    population: Count
    tournament: Count
    hopeless: Annotated[float, Meta(gt=0, le=1e6)]
    breeds: Literal["always", "large spaces"] = "large spaces"


class Sampler(Part, frozen=True, kw_only=True, tag_field="algorithm", tag="sampler"):
    """No genetic algorithm, for comparison; ``batch``: chromosomes requested at a time.

    ``kind``: random or all chromosomes; one gene at a time (one_gene.py); Optuna's samplers.
    ``judged_by``: the method that repeats its chromosomes and chooses the best one: a race against
    the best (racing.py), or the model of the recipe start-up, by its rule (judged.py).
    """

    name: Text
    source: Text
    kind: Literal["random", "exhaustive", "one-gene", "tpe", "multivariate-tpe", "gaussian-process"]
    batch: Count = 1
    judged_by: Judge = "race"


Recipe = Genetic | StartUp | Sampler


def decode_recipe(data: bytes, where: str) -> Recipe:
    """Return the recipe in TOML; raises RecipeError with a message that begins with ``where``."""
    try:
        recipe: Recipe = decode_toml(data, Recipe)  # type: ignore[arg-type]
    except DocumentError as error:
        remedy = (
            f"correct it; {RECIPES.name}/ in foreread's analyzer/tuner has recipes that are right"
        )
        raise RecipeError(f"{where}: {error}", remedy) from error
    return recipe


def recipe_names() -> list[str]:
    """Return the names of the shipped recipes."""
    return sorted(path.stem for path in RECIPES.glob(f"*{SUFFIX}"))


def load_recipe(name: str) -> Recipe:
    """Return the recipe of that name, or in that file (a name with a dot or a slash)."""
    path = RECIPES / f"{name}{SUFFIX}" if name in recipe_names() else Path(name)
    if path.suffix != SUFFIX:
        raise RecipeError(f"no recipe {name!r}", f"choose one of: {', '.join(recipe_names())}")
    try:
        return decode_recipe(read_toml(path, "give a recipe's TOML file"), str(path))
    except UnboundedError as error:
        raise RecipeError(str(error), error.remedy) from error
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror}", "give a file that can be read") from error
