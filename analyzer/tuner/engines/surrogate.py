"""Estimates the fitness of chromosomes from those that were measured.

A Gaussian process over log fitness (Rasmussen and Williams, *Gaussian Processes for Machine
Learning*, 2006, algorithm 2.1) whose kernel is a product over the genes of 1 − s + s·r: r is the
correlation of two alleles, s how much the gene matters. The product expands into the constant, all
main effects and all interactions (as in functional ANOVA); a gene with s = 0 does not matter. In
addition each chromosome has a part of its *own*, independent of all others, and each run has noise.

A few dozen runs do not determine s, own and noise; relying on the most likely values would be
overconfident. So estimates are averaged over several *views* of them, drawn by Gibbs sampling from
their posterior distribution (Snoek, Larochelle and Adams, *Practical Bayesian Optimization of
Machine Learning Algorithms*, 2012, section 3.2, who slice a continuous scale).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt

from analyzer.tuner.space.genes import Chromosome, Gene, Space

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

# The possible values of a view; variances are relative to that of the process.
MATTERS = np.array([0.002, 0.02, 0.06, 0.15, 0.35, 0.7])
OWN = np.array([1e-6, 0.01, 0.03, 0.1, 0.3])
NOISE = np.array([1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0])
# Logarithms of the prior, up to a constant: few genes matter, the own part is small.
MATTERS_PRIOR = -2.0 * MATTERS
OWN_PRIOR = np.array([0.0, -0.5, -1.0, -1.5, -2.5])
NOISE_PRIOR = np.zeros(len(NOISE))
VIEWS = 10
BEFORE_THE_FIRST = 3  # burn-in: draws that still depend on the starting point
UNLEARNT = 0.5  # s of every gene before any data
REACH = 0.4  # of a gene's range: correlation length of alleles
TRUST = 0.5  # standard deviation of the slope of each expectation
TINY = 1e-8  # variance of log fitness, so that equal values are not special case


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
class Points:
    """Chromosomes in the surrogate's representation.

    ``places``: of their alleles, NONE last: chromosomes × genes. ``expected``: the log fitness that
    each source expects of them: chromosomes × sources (a prediction, an earlier campaign).
    """

    places: Places
    expected: Floats

    @property
    def before(self) -> Floats:
        """The log fitness expected before any data: the mean of the sources."""
        return np.asarray(self.expected.mean(axis=1))


@dataclass(frozen=True)
class Runs:
    """Measurements of chromosomes: number of runs, mean log fitness.

    ``squares``: sum of squared deviations of single runs from their chromosome's mean.
    """

    counts: Floats
    means: Floats
    squares: float


@dataclass(frozen=True)
class Guess:
    """Log fitness: mean and standard deviation, views × chromosomes; ``noise`` of a run by view."""

    mean: Floats
    deviation: Floats
    noise: Floats


@dataclass(frozen=True)
class _View:
    matters: Floats
    own: float
    noise: float


class Surrogate:
    """Learns from measured chromosomes (``learn``), estimates the fitness of others (``guess``)."""

    def __init__(self, space: Space, rng: Random) -> None:
        self._tables = {
            gene.name: {allele: place for place, allele in enumerate(gene.alleles)}
            for gene in space.genes
        }
        self._alike = [correlation(gene) for gene in space.genes]
        self._rng = rng
        self._views = deque([_View(np.full(len(space.genes), 0.15), 0.01, 0.03)], VIEWS)
        self._untaught = True

    @property
    def matters(self) -> Floats:
        """How much each gene matters, the mean over the views."""
        return np.asarray(np.mean([view.matters for view in self._views], axis=0))

    def points(self, chromosomes: Sequence[Chromosome], expected: Floats) -> Points:
        """Return chromosomes as places; ``expected`` is their log fitness by source (Points)."""
        rows = [
            [table.get(one[name], len(table)) for name, table in self._tables.items()]
            for one in chromosomes
        ]
        shape = len(rows), len(self._tables)
        return Points(np.array(rows, dtype=np.intp).reshape(shape), expected)

    def learn(self, points: Points, runs: Runs) -> None:
        """Train with all data; views change by one draw."""
        self._take(points, runs)
        for _ in range(1 + BEFORE_THE_FIRST * self._untaught):
            self._views.append(self._drawn(self._views[-1]))
        if self._untaught:
            self._views = deque([self._views[-1]], VIEWS)
            self._untaught = False
        self._condition()

    def suppose(self, points: Points, runs: Runs) -> None:
        """Estimate from other data with the same views, until the next ``learn``."""
        self._take(points, runs)
        self._condition()

    def _take(self, points: Points, runs: Runs) -> None:
        self._points, self._runs = points, runs
        self._level = float(np.mean(runs.means - points.before))
        self._rest = runs.means - points.before - self._level
        self._trust = TRUST**2 / max(float(np.var(self._rest)), TINY)

    def _condition(self) -> None:
        runs = self._runs
        self._matters = np.array([view.matters for view in self._views])
        self._own = np.array([[[view.own]] for view in self._views])
        self._noise = np.array([[[view.noise]] for view in self._views])
        count = len(self._rest)
        each = (self._own + self._noise / runs.counts) * np.eye(count)
        self._inverse = np.linalg.inv(self._covariance(self._points, self._matters) + each)
        squares = np.einsum("i,vij,j->v", self._rest, self._inverse, self._rest)
        squares += runs.squares / self._noise[:, 0, 0] + TINY
        self._variance = squares / runs.counts.sum()

    def guess(self, points: Points) -> Guess:
        """Return the estimated fitness of chromosomes, measured or not."""
        same = (points.places[:, None] == self._points.places).all(axis=2)
        across = self._covariance(points, self._matters) + self._own * same
        pull = across @ self._inverse
        slopes = self._trust * (points.expected**2).sum(axis=1)
        before = 1 + slopes + self._own[:, 0]
        variance = np.maximum(before - (pull * across).sum(axis=2), TINY)
        scale = np.sqrt(self._variance)[:, None]
        return Guess(
            self._level + points.before + pull @ self._rest,
            scale * np.sqrt(variance),
            scale * np.sqrt(self._noise[:, 0]),
        )

    def strangeness(self, points: Points) -> Floats:
        """Return how different chromosomes are from all measured ones, from 0 to 1.

        It is the remaining variance if every gene and every combination matters.
        """
        unlearnt = np.full((1, len(self._alike)), UNLEARNT)
        known = self._product(self._points.places, unlearnt)[0]
        across = self._product(points.places, unlearnt)[0]
        inverse = np.linalg.inv(known + 1e-6 * np.eye(len(known)))
        return np.asarray(np.maximum(1 - ((across @ inverse) * across).sum(axis=1), 0.0))

    def _covariance(self, points: Points, matters: Floats) -> Floats:
        """Return the covariance of points with known ones by view, without own parts and noise."""
        return self._product(points.places, matters) + self._slopes(points)

    def _slopes(self, points: Points) -> Floats:
        """Return the covariance of points with known ones since sources are trusted so far."""
        return np.asarray(self._trust * (points.expected @ self._points.expected.T))

    def _product(self, places: Places, matters: Floats) -> Floats:
        """Return the kernel of places × known ones, one for each row (view) of ``matters``."""
        product = np.ones((len(matters), len(places), len(self._rest)))
        for gene, s in enumerate(matters.T[:, :, None, None]):
            product *= 1 - s + s * self._factor(places, gene)
        return product

    def _factor(self, places: Places, gene: int) -> Floats:
        return self._alike[gene][np.ix_(places[:, gene], self._points.places[:, gene])]

    def _drawn(self, view: _View) -> _View:
        """Return the next view: each part is drawn in turn, given the others."""
        matters, own, noise = view.matters.copy(), view.own, view.noise
        counts, places = self._runs.counts, self._points.places
        trust = self._slopes(self._points)
        product = self._product(places, matters[None])[0]
        each = np.eye(len(counts))
        s = MATTERS[:, None, None]
        for gene in self._rng.sample(range(len(matters)), len(matters)):
            factor = self._factor(places, gene)
            others = product / (1 - matters[gene] + matters[gene] * factor)
            products = others * (1 - s + s * factor)
            at = self._draw(products + trust + each * (own + noise / counts), noise, MATTERS_PRIOR)
            matters[gene], product = MATTERS[at], products[at]
        base = product + trust
        tried = base + each * (OWN[:, None, None] + noise / counts)
        own = float(OWN[self._draw(tried, noise, OWN_PRIOR)])
        tried = base + each * (own + NOISE[:, None, None] / counts)
        return _View(matters, own, float(NOISE[self._draw(tried, NOISE, NOISE_PRIOR)]))

    def _draw(self, covariances: Floats, noise: float | Floats, prior: Floats) -> int:
        """Return the index of a covariance (× known × known), drawn at random.

        Each has a probability by its marginal likelihood, the process's variance integrated out
        (prior 1/variance), and its prior.
        """
        factors = np.linalg.cholesky(covariances)
        rest = np.broadcast_to(self._rest[:, None], (*covariances.shape[:2], 1))
        white = np.linalg.solve(factors, rest)[..., 0]
        squares = (white**2).sum(axis=1) + self._runs.squares / noise + TINY
        runs, known = self._runs.counts.sum(), len(self._rest)
        logs = prior - 0.5 * runs * np.log(squares) - 0.5 * (runs - known) * np.log(noise)
        logs -= np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        chances = np.exp(logs - logs.max())
        return self._rng.choices(range(len(chances)), chances.tolist())[0]


def expected_improvement(guess: Guess, best: Floats) -> Floats:
    """Return the expected improvement on ``best`` (views × 1) by one more run of each.

    Averaged over the views. It is the augmented expected improvement of Huang, Allen, Notz and Zeng
    (*Global optimization of stochastic black-box systems via sequential kriging meta-models*, 2006,
    equation 12): that of Jones, Schonlau and Welch, reduced if a run adds little information beyond
    its noise. So a measured chromosome is repeated only if that is more informative than a new one.
    """
    z = (guess.mean - best) / guess.deviation
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    below = 0.5 * np.vectorize(math.erfc)(-z / math.sqrt(2))
    weight = 1 - guess.noise / np.hypot(guess.noise, guess.deviation)
    return np.asarray((guess.deviation * (z * below + density) * weight).mean(axis=0))
