"""An earlier campaign on a like board: the gains that it predicts, and its best settings.

Its measurements train a separate model (surrogate.py), whose mean is the expected log fitness of a
chromosome. The new campaign's model learns how far to trust it: the expectation has a slope there.
So an unlike board costs runs, and does not mislead permanently.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from foreread.analyzer.tuner.engines.surrogate import VIEWS, Floats, Points, Runs, Surrogate
from foreread.analyzer.tuner.space.genes import (
    MOST_GENES,
    NONE,
    Allele,
    Chromosome,
    Gene,
    GeneError,
    Space,
    Whole,
    Word,
    nearest,
)

MOST = 150  # chromosomes: the model's time grows with their cube
FOUNDERS = 3
_LARGEST = 100.0  # of a log

_Alleles = Annotated[list[Whole | Word], Meta(max_length=MOST_GENES)]
_Log = Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)]


class Measured(msgspec.Struct, frozen=True, array_like=True):
    """A chromosome: its alleles in the order of the genes, good runs, and mean log fitness."""

    alleles: _Alleles
    runs: Annotated[int, Meta(ge=1, le=1_000_000)]
    gain: _Log


class Earlier(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The knowledge of an earlier campaign; ``best``: its best chromosomes, best first.

    ``squares``: sum of squared deviations of single runs from the mean of their chromosome, in
    logarithms. ``board`` and ``attempts`` describe it.
    """

    board: str
    attempts: int
    genes: Annotated[list[Gene], Meta(max_length=MOST_GENES)]
    measured: Annotated[list[Measured], Meta(min_length=1, max_length=MOST)]
    best: Annotated[list[_Alleles], Meta(max_length=FOUNDERS)]
    squares: Annotated[float, Meta(ge=0, le=1e12)] = 0.0

    def __post_init__(self) -> None:
        """Raise GeneError for chromosomes of other genes: a file may be hostile."""
        space = Space(tuple(self.genes))
        for alleles in (*(measured.alleles for measured in self.measured), *self.best):
            if wrong := space.lacking(self.chromosome(alleles)):
                raise GeneError(
                    f"the record of the earlier campaign is damaged: {wrong}",
                    "begin a new campaign: foreread tune -o TUNING -- COMMAND",
                )

    def founders(self) -> list[Chromosome]:
        """Return the first chromosomes to try; a space repairs them."""
        return [self.chromosome(alleles) for alleles in self.best]

    def chromosome(self, alleles: Sequence[Allele]) -> Chromosome:
        """Return the chromosome with these alleles, in the order of the genes."""
        return dict(zip((gene.name for gene in self.genes), alleles, strict=False))


class Expectation:
    """The log fitness that an earlier campaign expects of chromosomes of another space."""

    def __init__(self, earlier: Earlier, seed: int) -> None:
        space = Space(tuple(earlier.genes))
        chromosomes = [earlier.chromosome(measured.alleles) for measured in earlier.measured]
        places = np.arange(len(chromosomes), dtype=np.intp)
        runs = Runs(
            places,
            np.zeros_like(places),  # its scenarios count together, as one
            np.array([measured.runs for measured in earlier.measured], dtype=np.float64),
            np.array([measured.gain for measured in earlier.measured], dtype=np.float64),
            np.array([earlier.squares]),
        )
        self._space = space
        self._model = Surrogate(space, Random(seed))
        self._known: dict[tuple[Allele, ...], float] = {}
        points = self._points(chromosomes)
        for _ in range(VIEWS):
            self._model.learn(points, runs)

    def gains(self, chromosomes: Sequence[Chromosome]) -> Floats:
        """Return the expected log fitness of chromosomes, up to a constant."""
        mapped = [self._mapped(chromosome) for chromosome in chromosomes]
        keys = [self._space.key(chromosome) for chromosome in mapped]
        new = {
            key: chromosome
            for key, chromosome in zip(keys, mapped, strict=True)
            if key not in self._known
        }
        if new:
            means = self._model.guess(self._points(list(new.values()))).mean.mean(axis=0)
            self._known.update(zip(new, means.tolist(), strict=True))
        return np.array([self._known[key] for key in keys], dtype=np.float64)

    def _points(self, chromosomes: Sequence[Chromosome]) -> Points:
        nothing = np.zeros((len(chromosomes), 1))
        return self._model.points(chromosomes, nothing[:, :, None], nothing)

    def _mapped(self, chromosome: Chromosome) -> dict[str, Allele]:
        """Return a chromosome in the earlier genes: nearest numbers, defaults of missing genes.

        A word that the earlier campaign did not have stays, and is unlike any other.
        """
        mapped: dict[str, Allele] = {}
        for gene in self._space.genes:
            allele = chromosome.get(gene.name, gene.default)
            if gene.ordered and allele != NONE:
                allele = nearest(gene, gene.alleles, allele)
            mapped[gene.name] = allele
        return mapped
