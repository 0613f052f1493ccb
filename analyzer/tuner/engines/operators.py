"""Selection, crossover and mutation: pure functions of an explicit random generator.

A larger fitness is better. Operators on genes keep to each gene's alleles but ignore dependencies
between genes: ``Space.repair`` follows them, or the evaluation gives zero fitness. Tests compare
them with DEAP's (docs/decisions/006).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from foreread.analyzer.tuner.space.genes import (
    NONE,
    Allele,
    Chromosome,
    Gene,
    Mutation,
    Space,
    nearest,
)

Child = dict[str, Allele]
LARGEST_CHANGE = 1.0  # of a value, when it is changed by a random percentage


def random_child(space: Space, rng: Random) -> Child:
    """Return a valid chromosome: each gene is a random option beside the earlier genes."""
    child: Child = {}
    for gene in space.genes:
        child[gene.name] = rng.choice(space.options(gene, child))
    return child


def spread(space: Space, count: int, rng: Random) -> list[Child]:
    """Return ``count`` valid chromosomes that spread each gene's values evenly over its range.

    Moilanen and Williams 2005, 2.2.1; values of different genes are combined at random.
    """
    columns = {gene.name: rng.sample(_evenly(gene.alleles, count), count) for gene in space.genes}
    return [
        space.repair({name: column[row] for name, column in columns.items()})
        for row in range(count)
    ]


def _evenly(alleles: Sequence[Allele], count: int) -> list[Allele]:
    last = max(count - 1, 1)
    return [alleles[_scaled(row, last, len(alleles) - 1)] for row in range(count)]


def ranks(fitness: Sequence[float]) -> list[float]:
    """Return the rank of each value: 1 for the worst, the count for the best; ties share."""
    order = sorted(fitness)
    first = {value: place for place, value in reversed(list(enumerate(order, 1)))}
    return [first[value] + (order.count(value) - 1) / 2 for value in fitness]


def truncation(fitness: Sequence[float], keep: int) -> list[int]:
    """Return the indices of the ``keep`` best, best first; of equals the earliest."""
    return sorted(range(len(fitness)), key=lambda index: -fitness[index])[:keep]


def roulette(fitness: Sequence[float], count: int, rng: Random) -> list[int]:
    """Return ``count`` indices, each chosen in proportion to its fitness; equally if all are 0."""
    weights = fitness if sum(fitness) > 0 else [1.0] * len(fitness)
    return rng.choices(range(len(fitness)), weights, k=count)


def tournament(fitness: Sequence[float], count: int, size: int, rng: Random) -> list[int]:
    """Return ``count`` indices, each the best of ``size`` drawn with replacement."""
    indices = range(len(fitness))
    return [
        max(rng.choices(indices, k=size), key=lambda index: fitness[index]) for _ in range(count)
    ]


def blend(space: Space, one_parent: Chromosome, other: Chromosome, rng: Random) -> Child:
    """Return a child with X % of one parent's gene and 100 − X % of the other's, X anew by gene.

    Moilanen and Williams 2005, 2.2.6. Shares are of the place among the gene's alleles (for powers
    of two: of the exponent); unordered alleles come from one parent or the other.
    """
    return {
        gene.name: _blended(gene, one_parent[gene.name], other[gene.name], rng)
        for gene in space.genes
    }


def _blended(gene: Gene, allele: Allele, other: Allele, rng: Random) -> Allele:
    share = rng.random()
    if not gene.ordered or NONE in (allele, other):
        return allele if share >= 0.5 else other
    alleles = gene.alleles
    return alleles[round(share * alleles.index(allele) + (1 - share) * alleles.index(other))]


def single_point(
    space: Space, one_parent: Chromosome, other: Chromosome, rng: Random
) -> tuple[Child, Child]:
    """Return two children: the genes after a random cut are exchanged."""
    names = space.names
    cut = rng.randint(1, max(len(names) - 1, 1))
    head, tail = names[:cut], names[cut:]
    return (
        {name: one_parent[name] for name in head} | {name: other[name] for name in tail},
        {name: other[name] for name in head} | {name: one_parent[name] for name in tail},
    )


def uniform(
    space: Space, one_parent: Chromosome, other: Chromosome, rng: Random
) -> tuple[Child, Child]:
    """Return two children: each gene changes places with probability one half."""
    swapped = {name for name in space.names if rng.random() < 0.5}
    return (
        {name: (other if name in swapped else one_parent)[name] for name in space.names},
        {name: (one_parent if name in swapped else other)[name] for name in space.names},
    )


def mutate(gene: Gene, allele: Allele, rng: Random, how: Mutation = "any") -> Allele:
    """Return another allele of ``gene`` (the same if it has only one).

    ``new``: any other; ``percent``: the value up or down by a random percentage, the neighbour if
    that is too little; ``any``: one of these two (Moilanen and Williams 2005, 2.2.7); ``step``: a
    neighbour; ``flip``: one bit of its place among the alleles. An unordered gene, or the allele
    NONE, changes to any other allele.
    """
    choice_count = len(gene.alleles) - (allele != NONE)
    if not choice_count:
        return allele
    if how == "any":
        how = rng.choice(("new", "percent"))
    if how == "flip" and allele != NONE:
        return decode_gene(gene, flip(encode_gene(gene, allele), rng))
    if how == "new" or not isinstance(allele, int) or not gene.ordered:
        place = rng.randrange(choice_count)
        at = len(gene.alleles) if allele == NONE else gene.alleles.index(allele)
        return gene.alleles[place + (place >= at)]
    return _moved(gene, allele, rng, LARGEST_CHANGE if how == "percent" else 0.0)


def _moved(gene: Gene, allele: int, rng: Random, largest: float) -> Allele:
    """Return an allele above or below, by up to ``largest`` parts of the value, or one place."""
    alleles = gene.alleles
    at = alleles.index(allele)
    up = at == 0 or (at < len(alleles) - 1 and rng.random() < 0.5)
    change = math.ceil(abs(allele) * largest * rng.random())
    moved = nearest(gene, alleles, allele + change if up else allele - change)
    return moved if moved != allele else alleles[at + (1 if up else -1)]


def encode_gene(gene: Gene, allele: Allele) -> str:
    """Return the place of ``allele``, scaled to all numbers of the gene's bits."""
    alleles = gene.alleles
    bits = (len(alleles) - 1).bit_length()
    if not bits:
        return ""
    at = 0 if allele == NONE else alleles.index(allele)
    return f"{_scaled(at, len(alleles) - 1, (1 << bits) - 1):0{bits}b}"


def decode_gene(gene: Gene, bits: str) -> Allele:
    """Return the allele that ``bits`` encode: every pattern encodes one."""
    alleles = gene.alleles
    return (
        alleles[_scaled(int(bits, 2), (1 << len(bits)) - 1, len(alleles) - 1)]
        if bits
        else alleles[0]
    )


def _scaled(place: int, last: int, other_last: int) -> int:
    """Return round(place · other_last / last), halves up."""
    return (2 * place * other_last + last) // (2 * last)


def encode(space: Space, chromosome: Chromosome) -> str:
    """Return the binary chromosome: the genes' bits in order."""
    return "".join(encode_gene(gene, chromosome[gene.name]) for gene in space.genes)


def decode(space: Space, bits: str) -> Child:
    """Return the chromosome that ``bits`` encode."""
    chromosome: Child = {}
    start = 0
    for gene in space.genes:
        end = start + (len(gene.alleles) - 1).bit_length()
        chromosome[gene.name] = decode_gene(gene, bits[start:end])
        start = end
    return chromosome


def single_point_bits(one_code: str, other: str, rng: Random) -> tuple[str, str]:
    """Return two binary chromosomes: the bits after a random cut are exchanged."""
    cut = rng.randint(1, max(len(one_code) - 1, 1))
    return one_code[:cut] + other[cut:], other[:cut] + one_code[cut:]


def flip(bits: str, rng: Random) -> str:
    """Return ``bits`` with a random bit inverted."""
    at = rng.randrange(len(bits))
    return bits[:at] + ("0" if bits[at] == "1" else "1") + bits[at + 1 :]


def average(space: Space, population: Sequence[Chromosome], values: bool = False) -> Child:
    """Return the mean gene: for numbers the mean place, otherwise the most frequent allele.

    A fingerprint stores it (Moilanen 2006, 5.4). ``values``: for numbers, the allele nearest to the
    mean value, as there. The result is repaired.
    """
    return space.repair({gene.name: _mean(gene, population, values) for gene in space.genes})


def _mean(gene: Gene, population: Sequence[Chromosome], values: bool) -> Allele:
    alleles = [chromosome[gene.name] for chromosome in population]
    numbers_and_words = [allele for allele in alleles if allele != NONE or NONE in gene.choices]
    if not numbers_and_words:
        return NONE
    numbers = [allele for allele in numbers_and_words if isinstance(allele, int)]
    if gene.ordered and values and numbers:
        return nearest(gene, gene.alleles, round(sum(numbers) / len(numbers)))
    if gene.ordered:
        return gene.alleles[
            round(sum(map(gene.alleles.index, numbers_and_words)) / len(numbers_and_words))
        ]
    return max(sorted(numbers_and_words, key=str), key=numbers_and_words.count)
