"""One gene at a time: all alleles of a gene with the present best of the others, then the next.

Coordinate descent, as an engineer does it manually. When no gene alone improves the chromosome any
more, the search begins again at a random one. Genes that help only together are not found unless a
beginning has one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from random import Random

from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.engines.listed import distinct, shuffled
from foreread.analyzer.tuner.engines.predicted import is_window
from foreread.analyzer.tuner.engines.racing import NEGLIGIBLE
from foreread.analyzer.tuner.space.genes import Allele, Chromosome, Gene, Space


class OneGeneEngine:
    """Requests the unmeasured alleles of a gene, and moves to the best of them.

    ``starts``: chromosomes to begin at, in turn, before random ones. Genes come in a random order.
    """

    def __init__(self, space: Space, seed: int, starts: Sequence[Chromosome]) -> None:
        rng = Random(seed)
        self._space = space
        shuffled_genes = rng.sample(space.genes, len(space.genes))
        self._order = sorted(shuffled_genes, key=lambda gene: not is_window(gene))
        beginnings = chain(map(space.repair, starts), shuffled(space, rng))
        self._beginnings = distinct(space, beginnings)
        self._fitness: dict[tuple[Allele, ...], float] = {}
        self._here: Chromosome = {}
        self._left: list[Gene] = []

    def ask(self) -> list[Chromosome]:
        """Return the next gene's alleles, or a new beginning; empty in an exhausted space."""
        while self._left:
            neighbours = self._neighbours(self._left[0])
            if new := [
                chromosome
                for chromosome in neighbours
                if self._space.key(chromosome) not in self._fitness
            ]:
                return new
            self._move(self._left.pop(0), neighbours)
        return self._begin()

    def tell(self, scored: Sequence[Scored]) -> None:
        """Process the fitness of the last requested chromosomes."""
        self._fitness.update({self._space.key(score.chromosome): score.fitness for score in scored})

    def _begin(self) -> list[Chromosome]:
        for beginning in self._beginnings:
            if self._space.key(beginning) not in self._fitness:
                self._here, self._left = beginning, list(self._order)
                return [beginning]
        return []

    def _neighbours(self, gene: Gene) -> list[Chromosome]:
        """Return the chromosomes that differ by ``gene`` and by genes that depend on it."""
        other_alleles = (allele for allele in gene.alleles if allele != self._here[gene.name])
        changed = (
            self._space.repair({**self._here, gene.name: allele}) for allele in other_alleles
        )
        here = self._space.key(self._here)
        return [
            chromosome
            for chromosome in distinct(self._space, changed)
            if self._space.key(chromosome) != here
        ]

    def _move(self, gene: Gene, neighbours: Sequence[Chromosome]) -> None:
        """Move to the best neighbour if it is better; then all other genes are tried again."""
        best = max(neighbours, key=self._fitness_of, default=self._here)
        if self._fitness_of(best) > self._fitness_of(self._here) * (1 + NEGLIGIBLE):
            at = self._order.index(gene)
            self._here, self._left = best, self._order[at + 1 :] + self._order[:at]

    def _fitness_of(self, chromosome: Chromosome) -> float:
        return self._fitness[self._space.key(chromosome)]
