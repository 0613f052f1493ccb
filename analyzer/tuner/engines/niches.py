"""Niches: ranges of genes that a population always keeps some individuals of, to stay diverse.

IOPerf, section 5: five ranges of the share of reads by five of random accesses, at least two
individuals in each; the rest of the population are the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from random import Random

from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.engines.operators import Child, random_child
from foreread.analyzer.tuner.engines.recipe import Bounds, Niches, RecipeError
from foreread.analyzer.tuner.space.genes import Chromosome, Space

Cell = dict[str, Bounds]


def cells(niches: Niches) -> list[Cell]:
    """Return every combination of the ranges, by gene."""
    names = list(niches.ranges)
    return [dict(zip(names, bounds, strict=True)) for bounds in product(*niches.ranges.values())]


def inside(chromosome: Chromosome, cell: Cell) -> bool:
    """Return whether the chromosome's alleles lie within the cell's bounds."""
    return all(
        isinstance(allele := chromosome[name], int) and low <= allele <= high
        for name, (low, high) in cell.items()
    )


def fill(space: Space, niches: Niches, population: Sequence[Child], rng: Random) -> list[Child]:
    """Return ``population`` with as many random individuals as each cell lacks.

    Raises RecipeError for a cell without alleles in the space.
    """
    if strangers := niches.ranges.keys() - set(space.names):
        raise RecipeError(
            f"the recipe keeps niches of {', '.join(sorted(strangers))}, which is not a gene here",
            "add the gene, or leave its niches out of the recipe",
        )
    filled = list(population)
    for cell in cells(niches):
        present = sum(inside(chromosome, cell) for chromosome in population)
        filled += [_inhabitant(space, cell, rng) for _ in range(niches.least - present)]
    return filled


def _inhabitant(space: Space, cell: Cell, rng: Random) -> Child:
    child = random_child(space, rng)
    alleles = {gene.name: gene.alleles for gene in space.genes}
    for name, (low, high) in cell.items():
        within = [a for a in alleles.get(name, ()) if isinstance(a, int) and low <= a <= high]
        if not within:
            raise RecipeError(
                f"the niche {name} = {low} to {high} holds no allele of this space",
                f"give the gene {name} alleles in it, or change the recipe's niches",
            )
        child[name] = rng.choice(within)
    return space.repair(child)


def survivors(pool: Sequence[Scored], size: int, niches: Niches | None) -> list[Scored]:
    """Return the ``size`` fittest different individuals, after the best of each cell."""
    fittest = sorted(_different(pool), key=lambda individual: -individual.fitness)
    chosen: list[Scored] = []
    if niches:
        for cell in cells(niches):
            chosen += [individual for individual in fittest if inside(individual.chromosome, cell)][
                : niches.least
            ]
    rest = [individual for individual in fittest if individual not in chosen]
    return chosen + rest[: max(size - len(chosen), 0)]


def _different(pool: Sequence[Scored]) -> list[Scored]:
    """Return the first individual of each chromosome."""
    first: dict[frozenset[tuple[str, object]], Scored] = {}
    for individual in pool:
        first.setdefault(frozenset(individual.chromosome.items()), individual)
    return list(first.values())
