"""Estimates the fitness of chromosomes from measured ones.

A Gaussian process over log fitness (Rasmussen and Williams, *Gaussian Processes for Machine
Learning*, 2006, algorithm 2.1) with a kernel that is a product over the genes of 1 − s + s·r: r is
the correlation of two alleles, s how much the gene matters. The product expands into the constant,
all main effects and all interactions (as in functional ANOVA); a gene with s = 0 does not matter.
In addition each chromosome has a part of its *own*, independent of all others, and each run has
noise. Scenarios are one more gene of words: a chromosome's gain in one of them is learnt from its
runs there, and from its runs in the others as far as they agree. Each scenario has its own noise.
The weighted mean over the scenarios counts (``guess``), and each run shows a part of it.

A few dozen runs do not determine s, own and noise; relying on the most likely values would be
overconfident. So estimates are averaged over several *views* of them, drawn by Gibbs sampling from
their posterior distribution (Snoek, Larochelle and Adams, *Practical Bayesian Optimization of
Machine Learning Algorithms*, 2012, section 3.2, who slice a continuous scale).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt

from foreread.analyzer.tuner.space.genes import Chromosome, Gene, Space

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

# The possible values of a view; variances are relative to the process's.
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
TINY = 1e-8  # variance of log fitness, so that equal values are not a special case


def correlation(gene: Gene) -> Floats:
    """Return the correlation of the gene's alleles: a square matrix, NONE last.

    Numbers by their distance on the scale of the gene's places (Matérn 3/2); words are
    uncorrelated.
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
    each source expects of them in each scenario: chromosomes × scenarios × sources (a prediction,
    an earlier campaign). ``before``: the expectation of all sources together, before any data:
    chromosomes × scenarios.
    """

    places: Places
    expected: Floats
    before: Floats


@dataclass(frozen=True)
class Runs:
    """Measurements: the number of runs of a chromosome in a scenario, and their mean log fitness.

    ``rows``: places of the chromosomes among the points, ``scenarios``: places of the scenarios.
    ``squares``: by scenario, the sum of squared deviations of single runs from those means.
    """

    rows: Places
    scenarios: Places
    counts: Floats
    means: Floats
    squares: Floats


@dataclass(frozen=True)
class Guess:
    """Mean log fitness over the scenarios: its mean and standard deviation, views × chromosomes.

    ``noise``: standard deviation of one run in every scenario, by view.
    """

    mean: Floats
    deviation: Floats
    noise: Floats


@dataclass(frozen=True)
class _View:
    """``matters``: of each gene, the scenario last; ``noise``: by scenario."""

    matters: Floats
    own: float
    noise: Floats


class Surrogate:
    """Learns from measured chromosomes (``learn``), estimates the fitness of others (``guess``).

    ``weights``: of the scenarios in their order, with the sum 1.
    """

    def __init__(self, space: Space, rng: Random, weights: Sequence[float] = (1.0,)) -> None:
        self._tables = {
            gene.name: {allele: place for place, allele in enumerate(gene.alleles)}
            for gene in space.genes
        }
        self._alike = [correlation(gene) for gene in space.genes]
        self._weights = np.array(weights, dtype=np.float64)
        self._rng = rng
        scenarios = len(self._weights)
        first = _View(np.full(len(space.genes) + 1, 0.15), 0.01, np.full(scenarios, 0.03))
        self._views = deque([first], VIEWS)
        self._untaught = True

    @property
    def matters(self) -> Floats:
        """How much each gene matters, the mean over the views."""
        return np.asarray(np.mean([view.matters[:-1] for view in self._views], axis=0))

    def points(self, chromosomes: Sequence[Chromosome], expected: Floats, before: Floats) -> Points:
        """Return chromosomes as places; see Points for ``expected`` and ``before``."""
        columns = [
            [table.get(chromosome[name], len(table)) for chromosome in chromosomes]
            for name, table in self._tables.items()
        ]
        shape = len(self._tables), len(chromosomes)
        places = np.array(columns, dtype=np.intp).reshape(shape).T
        return Points(places, expected, before)

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
        self._known = points.places[runs.rows]
        self._expected = points.expected[runs.rows, runs.scenarios]
        self._same_scenario = (runs.scenarios[:, None] == runs.scenarios).astype(np.float64)
        before = points.before[runs.rows, runs.scenarios]
        self._level = float(np.mean(runs.means - before))
        self._rest = runs.means - before - self._level
        self._trust = TRUST**2 / max(float(np.var(self._rest)), TINY)

    def _condition(self) -> None:
        runs = self._runs
        self._matters = np.array([view.matters for view in self._views])
        self._own = np.array([[[view.own]] for view in self._views])
        self._noise = np.array([view.noise for view in self._views])
        each = self._own[:, 0] + self._noise[:, runs.scenarios] / runs.counts
        self._logs = list(self._logs_of(self._matters, self._known))
        covariance = self._product(self._known)
        covariance *= self._scenario_factor(self._same_scenario)
        covariance += self._slopes(self._expected)
        self._inverse = np.linalg.inv(covariance + each[:, None] * np.eye(len(self._rest)))
        self._pulled = self._inverse @ self._rest
        squares = self._pulled @ self._rest + (runs.squares / self._noise).sum(axis=1) + TINY
        self._variance = squares / runs.counts.sum()

    def guess(self, points: Points) -> Guess:
        """Return the estimated mean fitness of chromosomes over the scenarios, measured or not."""
        expected = self._mean_over_scenarios(points.expected)
        across = self._across(points, self._weights, expected)
        mean, pull = across @ self._pulled[:, :, None], across @ self._inverse
        s = self._matters[:, -1:]
        of_all = float((self._weights**2).sum())
        before = 1 - s + s * of_all + self._own[:, 0] * of_all
        slopes = self._trust * (expected**2).sum(axis=1)
        variance = np.maximum(before + slopes - (pull * across).sum(axis=2), TINY)
        scale = np.sqrt(self._variance)[:, None]
        return Guess(
            self._level + self._mean_over_scenarios(points.before) + mean[:, :, 0],
            scale * np.sqrt(variance),
            scale * np.sqrt((self._noise * self._weights**2).sum(axis=1))[:, None],
        )

    def informs(self, point: Points) -> Floats:
        """Return how much one more run of a chromosome shows of its mean fitness, by scenario.

        The result is the variance of the mean that such a run explains, averaged over the views.
        """
        expected = self._mean_over_scenarios(point.expected)
        pull = self._across(point, self._weights, expected) @ self._inverse
        s, own = self._matters[:, -1], self._own[:, 0, 0]
        informs = []
        for scenario, weight in enumerate(self._weights):
            alone, expected_alone = (
                np.eye(len(self._weights))[scenario],
                point.expected[:, scenario],
            )
            across = self._across(point, alone, expected_alone)
            slopes = self._trust * float((expected @ expected_alone.T)[0, 0])
            shared = 1 - s + (s + own) * weight + slopes - (pull * across).sum(axis=2)[:, 0]
            reduction = ((across @ self._inverse) * across).sum(axis=2)[:, 0]
            variance = 1 + own + self._trust * float((expected_alone**2).sum()) - reduction
            explained = shared**2 / (np.maximum(variance, TINY) + self._noise[:, scenario])
            informs.append(float((self._variance * explained).mean()))
        return np.array(informs)

    def strangeness(self, points: Points) -> Floats:
        """Return how different chromosomes are from all measured ones, from 0 to 1.

        The result is the remaining variance if every gene and every combination matters.
        """
        unlearnt = np.full((1, len(self._alike)), UNLEARNT)
        logs = list(self._logs_of(unlearnt, self._points.places))
        covariance = self._product(self._points.places, logs)[0]
        across = self._product(points.places, logs)[0]
        inverse = np.linalg.inv(covariance + 1e-6 * np.eye(len(covariance)))
        return np.asarray(np.maximum(1 - ((across @ inverse) * across).sum(axis=1), 0.0))

    def _mean_over_scenarios(self, values: Floats) -> Floats:
        """Return the weighted mean over the second axis."""
        return np.asarray(np.tensordot(values, self._weights, axes=(1, 0)))

    def _across(self, points: Points, weights: Floats, expected: Floats) -> Floats:
        """Return the covariance of a weighted sum of points over scenarios with the known runs.

        views × points × known, without noise.
        """
        run_weights = weights[self._runs.scenarios]
        across = self._product(points.places)
        across *= self._scenario_factor(run_weights[None])
        same = (points.places[:, None] == self._known).all(axis=2) * run_weights
        across += self._own * same
        return np.asarray(across + self._slopes(expected))

    def _scenario_factor(self, same: Floats) -> Floats:
        """Return the kernel's factor of the scenario; ``same``: the weight of equal scenarios."""
        s = self._matters[:, -1][:, None, None]
        return np.asarray(1 - s + s * same)

    def _slopes(self, expected: Floats) -> Floats:
        """Return the covariance with known runs by the present trust in the sources."""
        return np.asarray(self._trust * (expected @ self._expected.T))

    def _logs_of(self, matters: Floats, run_places: Places) -> Iterator[Floats]:
        """Yield each gene's factor of the kernel as logarithms: views × alleles × known runs.

        ``matters``: of the genes, one row for each view.
        """
        for gene, alike in enumerate(self._alike):
            unlike = 1 - alike[:, run_places[:, gene]]
            yield np.log1p(-matters[:, gene, None, None] * unlike)

    def _product(self, places: Places, logs: Sequence[Floats] | None = None) -> Floats:
        """Return the kernel of places × known runs by view; ``logs``: factors of other views.

        The alleles of the first place are summed up once: the other places differ in few genes.
        """
        logs = self._logs if logs is None else logs
        first = sum(log[:, place] for log, place in zip(logs, places[0], strict=True))
        product = np.repeat(np.asarray(first)[:, None], len(places), axis=1)
        for gene, log in enumerate(logs):
            (changed,) = np.nonzero(places[:, gene] != places[0, gene])
            if len(changed):
                changes = log - log[:, places[0, gene]][:, None]
                product[:, changed] += changes[:, places[changed, gene]]
        return np.asarray(np.exp(product, out=product))

    def _factors(self) -> Iterator[Floats]:
        """Yield the correlation of the known runs in each gene, and in their scenario."""
        for gene, alike in enumerate(self._alike):
            yield alike[self._known[:, gene, None], self._known[None, :, gene]]
        yield self._same_scenario

    def _drawn(self, view: _View) -> _View:
        """Return the next view: each part is drawn in turn, given the others.

        A gene with the same allele in all known chromosomes is drawn from its prior.
        """
        matters, own, noise = view.matters.copy(), view.own, view.noise.copy()
        runs, count = self._runs, len(self._rest)
        trust = self._slopes(self._expected)
        alike = list(self._factors())
        product = np.ones((count, count))
        for s, factor in zip(matters, alike, strict=True):
            product *= 1 - s + s * factor
        each = np.eye(count)
        values = MATTERS[:, None, None]
        for gene in self._rng.sample(range(len(matters)), len(matters)):
            factor = alike[gene]
            if factor.min() == 1.0:
                matters[gene] = MATTERS[self._chosen(MATTERS_PRIOR)]
                continue
            product_without = product / (1 - matters[gene] + matters[gene] * factor)
            products = product_without * (1 - values + values * factor)
            diagonal = each * (own + noise[runs.scenarios] / runs.counts)
            at = self._draw(products + trust + diagonal, noise[None], MATTERS_PRIOR)
            matters[gene], product = MATTERS[at], products[at]
        base = product + trust
        tried = base + each * (OWN[:, None, None] + noise[runs.scenarios] / runs.counts)
        own = float(OWN[self._draw(tried, noise[None], OWN_PRIOR)])
        for scenario in range(len(noise)):
            noises = np.repeat(noise[None], len(NOISE), axis=0)
            noises[:, scenario] = NOISE
            added = (own + noises[:, runs.scenarios] / runs.counts)[:, None] * each
            noise = noises[self._draw(base + added, noises, NOISE_PRIOR)]
        return _View(matters, own, noise)

    def _draw(self, covariances: Floats, noise: Floats, prior: Floats) -> int:
        """Return the index of a covariance (× known × known), drawn at random.

        Each has a probability by its marginal likelihood, the process's variance integrated out
        (prior 1/variance), and its prior. ``noise``: of each, or of all, × scenarios.
        """
        white, logs = whitened(covariances, self._rest)
        runs = self._runs
        squares = (white**2).sum(axis=1) + (runs.squares / noise).sum(axis=1) + TINY
        total = np.bincount(runs.scenarios, runs.counts, noise.shape[1])
        repeats = total - np.bincount(runs.scenarios, minlength=noise.shape[1])
        logs = prior - logs - 0.5 * total.sum() * np.log(squares)
        return self._chosen(logs - 0.5 * (np.log(noise) * repeats).sum(axis=1))

    def _chosen(self, logs: Floats) -> int:
        """Return a random index, by the logarithms of probabilities."""
        chances = np.exp(logs - logs.max())
        return self._rng.choices(range(len(chances)), chances.tolist())[0]


def whitened(covariances: Floats, rest: Floats) -> tuple[Floats, Floats]:
    """Return L⁻¹·rest of each covariance L·Lᵀ, and the sum of the logarithms of L's diagonal.

    The last row of the factor of the matrix bordered by ``rest`` is L⁻¹·rest: no system is solved.
    """
    count, size = covariances.shape[:2]
    bordered = np.empty((count, size + 1, size + 1))
    bordered[:, :size, :size] = covariances
    bordered[:, size, :size] = bordered[:, :size, size] = rest
    bordered[:, size, size] = 1e30  # any number so large that the matrix stays positive
    factors = np.linalg.cholesky(bordered)
    diagonals = np.diagonal(factors, axis1=1, axis2=2)[:, :size]
    return factors[:, size, :size], np.log(diagonals).sum(axis=1)


def expected_improvement(guess: Guess, best: Floats) -> Floats:
    """Return the expected improvement on ``best`` (views × 1) by one more run of each.

    Averaged over the views. It is the augmented expected improvement of Huang, Allen, Notz and Zeng
    (*Global optimization of stochastic black-box systems via sequential kriging meta-models*, 2006,
    equation 12): the criterion of Jones, Schonlau and Welch, reduced if a run adds little
    information beyond its noise. So a measured chromosome is repeated only if that is more
    informative than a new one.
    """
    z = (guess.mean - best) / guess.deviation
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    below = 0.5 * np.vectorize(math.erfc)(-z / math.sqrt(2))
    weight = 1 - guess.noise / np.hypot(guess.noise, guess.deviation)
    return np.asarray((guess.deviation * (z * below + density) * weight).mean(axis=0))
