"""What unmeasured chromosomes are probably worth, guessed from those that were measured.

A Gaussian process over log fitness (Rasmussen and Williams, *Gaussian Processes for Machine
Learning*, 2006, algorithm 2.1) whose kernel is a product over the genes of 1 − s + s·r: r is the
correlation of two alleles, s how much the gene matters. The product expands into the constant, all
main effects and all interactions, each interaction less probable than its parts (as in functional
ANOVA); a gene with s = 0 does not matter. The s are those under which the data are most likely,
with a prior against genes that matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analyzer.tuner.genes import Chromosome, Gene, Space

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

# The s that are tried. None is 0: what seems useless after few measurements is still looked at.
MATTERS = (0.01, 0.05, 0.15, 0.4, 0.8)
SPARSE = 2.0  # log prior lost from s = 0 to s = 1
NOISE = (1e-4, 1e-3, 1e-2, 1e-1)  # variances of one measurement, in parts of the process's own
REACH = 0.4  # of a gene's range, over which alleles are alike
TRUST = 0.5  # standard deviation of the slope of what is expected, about 1
SWEEPS = 2
CLEARLY = 1e-6  # log likelihood; so that the last bits of a sum, which vary by CPU, decide nothing


def correlation(gene: Gene) -> Floats:
    """Return how alike the gene's alleles are: a square matrix, NONE last.

    Numbers by their distance on the scale of the gene's places (Matérn 3/2); words not at all.
    """
    count = len(gene.alleles)
    alike = np.eye(count + 1)
    if gene.ordered and count > 1:
        places = np.arange(count) / (count - 1)
        distance = math.sqrt(3) * np.abs(places[:, None] - places) / REACH
        alike[:count, :count] = (1 + distance) * np.exp(-distance)
    return alike


@dataclass(frozen=True)
class Guess:
    """Mean and standard deviation of log fitness, by chromosome."""

    mean: Floats
    deviation: Floats


class Surrogate:
    """Learns from measured chromosomes (``learn``), guesses others (``guess``)."""

    def __init__(self, space: Space) -> None:
        self._tables = {
            gene.name: {allele: place for place, allele in enumerate(gene.alleles)}
            for gene in space.genes
        }
        self._alike = [correlation(gene) for gene in space.genes]
        self.matters = np.full(len(space.genes), 0.15)
        self._noise = 1e-2

    def learn(
        self, chromosomes: Sequence[Chromosome], worth: Floats, expected: Floats, fit: bool
    ) -> None:
        """Take what was measured, log fitness, and what was expected of it.

        ``fit``: find out anew which genes matter.
        """
        self._places, self._expected = self._places_of(chromosomes), expected
        self._level = float(np.mean(worth - expected))
        self._rest = worth - expected - self._level
        self._scale = max(float(np.var(self._rest)), 1e-8)
        self._factors = [
            alike[np.ix_(column, column)]
            for alike, column in zip(self._alike, self._places.T, strict=True)
        ]
        if fit:
            self._fit()
        self._factor = np.linalg.cholesky(self._covariance(self.matters, self._noise))
        self._weights = np.linalg.solve(self._factor.T, np.linalg.solve(self._factor, self._rest))
        self._variance = max(float(self._rest @ self._weights) / len(worth), 1e-10)

    def guess(self, chromosomes: Sequence[Chromosome], expected: Floats) -> Guess:
        """Return what chromosomes are probably worth."""
        places = self._places_of(chromosomes)
        factors = [
            alike[np.ix_(column, known)]
            for alike, column, known in zip(self._alike, places.T, self._places.T, strict=True)
        ]
        trust = TRUST**2 / self._scale
        across = self._product(factors, self.matters) + trust * np.outer(expected, self._expected)
        half = np.linalg.solve(self._factor, across.T)
        own = 1 + trust * expected**2 - (half**2).sum(axis=0)
        return Guess(
            self._level + expected + across @ self._weights,
            np.sqrt(np.maximum(own, 1e-12) * self._variance),
        )

    def _places_of(self, chromosomes: Sequence[Chromosome]) -> Places:
        """Return each gene's place among its alleles, NONE last: chromosomes × genes."""
        rows = [
            [table.get(one[name], len(table)) for name, table in self._tables.items()]
            for one in chromosomes
        ]
        return np.array(rows, dtype=np.intp).reshape(len(rows), len(self._tables))

    def _product(self, factors: Sequence[Floats], matters: Floats) -> Floats:
        product = np.ones_like(factors[0])
        for factor, s in zip(factors, matters, strict=True):
            product *= 1 - s + s * factor
        return product

    def _covariance(self, matters: Floats, noise: float) -> Floats:
        trust = TRUST**2 / self._scale * np.outer(self._expected, self._expected)
        covariance = self._product(self._factors, matters) + trust
        covariance[np.diag_indices_from(covariance)] += noise
        return covariance

    def _likelihood(self, matters: Floats, noise: float) -> float:
        """Return the log marginal likelihood, the variance profiled out, plus the log prior."""
        factor = np.linalg.cholesky(self._covariance(matters, noise))
        count = len(self._rest)
        white = np.linalg.solve(factor, self._rest)
        variance = max(float(white @ white) / count, 1e-10)
        fit = -0.5 * count * math.log(variance) - float(np.log(np.diag(factor)).sum())
        return fit - SPARSE * float(matters.sum())

    def _fit(self) -> None:
        """Choose s of each gene and the noise, one at a time."""
        best = self._likelihood(self.matters, self._noise)
        for _ in range(SWEEPS):
            for noise in NOISE:
                value = self._likelihood(self.matters, noise)
                if value > best + CLEARLY:
                    best, self._noise = value, noise
            for gene in range(len(self.matters)):
                for s in MATTERS:
                    tried = self.matters.copy()
                    tried[gene] = s
                    value = self._likelihood(tried, self._noise)
                    if value > best + CLEARLY:
                        best, self.matters = value, tried


def expected_improvement(guess: Guess, best: float) -> Floats:
    """Return the expected improvement over ``best`` (Jones, Schonlau and Welch 1998, eq. 15)."""
    z = (guess.mean - best) / guess.deviation
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    below = np.array([0.5 * math.erfc(-one / math.sqrt(2)) for one in z])
    return np.asarray(guess.deviation * (z * below + density))
