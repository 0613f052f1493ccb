"""The genes that matter: the effect of each on the cost of a run, with simultaneous intervals.

An additive model of log cost on the levels of all genes at once, fitted by ridge regression (Hoerl
and Kennard 1970; its strength by generalised cross-validation, Golub, Heath and Wahba 1979).
Repeats of a chromosome count once, by their mean: they share the error of the model. Intervals are
a wild bootstrap's (Liu 1988), widened so that they are simultaneous (by the largest studentised
deviation, as Romano and Wolf 2005): otherwise one gene in twenty would matter by chance.

A genetic search samples unevenly. Fitting all genes at once keeps the effects of other genes in the
same chromosomes from being attributed to a gene, unlike a mean by level. If two genes always
changed together, no method can separate their effects: such genes are reported as inseparable,
without an effect. Levels of few chromosomes have no estimate, and no level has one if there are
hardly more chromosomes than levels: confirm.py makes more runs. Effects are means over the tried
chromosomes, which crowd around good ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from foreread.analyzer.tuner.engines.racing import NEGLIGIBLE
from foreread.analyzer.tuner.findings.compare import CONFIDENCE, Runs
from foreread.analyzer.tuner.space.genes import Allele, Chromosome, Gene, Space, applies
from foreread.analyzer.tuner.space.levels import MOST_LEVELS, Level, levels_of

Floats = npt.NDArray[np.float64]
Verdict = Literal["matters", "not shown", "cannot be told"]

FEWEST_CHROMOSOMES = 3  # needed for an estimate of a level's effect
INSEPARABLE = 0.9  # share of a level's variance that other genes explain
_EACH = 2  # chromosomes for each level of a gene, where its numbers are cut into ranges
_SPARE = 2  # chromosomes for each independent level; with fewer, nothing is estimated
_RESAMPLES = 1000
_MOST_CELLS = 4_000_000  # chromosomes × levels: a larger campaign uses its last chromosomes
_PENALTIES = np.concatenate([[0.0], np.logspace(-3, 3, 25)])


@dataclass(frozen=True)
class LevelEffect:
    """The cost of one level of a gene relative to the gene's default: -0.12 is 12 % less.

    ``low`` and ``high`` are the interval, None where too few chromosomes had this level or the
    default's.
    """

    level: Level
    effect: float
    low: float | None
    high: float | None
    chromosomes: int

    def stands_out(self, noise: float) -> bool:
        """Return whether the interval excludes 0 and the effect is larger than ``noise``."""
        if self.low is None or self.high is None:
            return False
        return (self.low > 0 or self.high < 0) and abs(self.effect) > noise


@dataclass(frozen=True)
class GeneEffect:
    """The effects of all levels of a gene against its default, and whether the gene matters."""

    gene: str
    default: Level
    levels: tuple[LevelEffect, ...]
    verdict: Verdict
    inseparable_from: tuple[str, ...] = ()

    @property
    def largest(self) -> LevelEffect:
        """The level with the largest of the known effects, or of all."""
        estimated = [level for level in self.levels if level.low is not None]
        return max(estimated or self.levels, key=lambda level: abs(level.effect))

    def of(self, allele: Allele) -> LevelEffect | None:
        """Return the effect of the level with ``allele``; None for the default's level."""
        return next((level for level in self.levels if allele in level.level.alleles), None)


@dataclass(frozen=True)
class Effects:
    """The main effects of a campaign, largest first, and the quality of the model.

    ``noise`` is the standard deviation of a run relative to its cost, None where no chromosome was
    repeated; ``explained`` is the leave-one-out R²: a fit to few chromosomes is close to each of
    them by itself.
    """

    genes: tuple[GeneEffect, ...]
    noise: float | None
    explained: float
    chromosomes: int


def main_effects(runs: Runs, space: Space, scenario: str | None = None) -> Effects:
    """Return the effects of the varied genes, in one scenario or over all of them.

    Over all scenarios, a cost is the weighted geometric mean of the scenarios' costs, and
    chromosomes that were not run in all of them are left out. The same runs give the same figures.
    Of tens of thousands of chromosomes, the last ones are used.
    """
    scenarios = runs.scenarios if scenario is None else (scenario,)
    found_in_all = [
        chromosome for chromosome in runs.chromosomes if runs.count(chromosome, scenarios)
    ]
    chromosomes = found_in_all[-(_MOST_CELLS // max(_most_levels(space), 1)) :]
    weights = [runs.weight(s) for s in scenarios]
    by_scenario = [[np.mean(np.log(runs.costs(c, s))) for s in scenarios] for c in chromosomes]
    log_costs = np.array([np.average(logs, weights=weights) for logs in by_scenario])
    noise = runs.noise(scenario)
    most = max(len(chromosomes) // (_EACH * max(len(space.genes), 1)), 2)
    varied = (_Columns.of(gene, chromosomes, min(most, MOST_LEVELS)) for gene in space.genes)
    columns = [each for each in varied if each.varies]
    effects: list[GeneEffect] = []
    explained = 0.0
    if columns:
        fit = _Fit(log_costs - log_costs.mean(), columns)
        explained = fit.explained
        effects = [
            _gene_effect(gene_columns, columns, fit, max(noise or 0, NEGLIGIBLE))
            for gene_columns in columns
        ]
    order = {"matters": 0, "cannot be told": 1, "not shown": 2}
    effects.sort(key=lambda gene: (order[gene.verdict], -abs(gene.largest.effect)))
    return Effects(tuple(effects), noise, explained, len(chromosomes))


def _most_levels(space: Space) -> int:
    return sum(max(len(gene.choices), MOST_LEVELS) for gene in space.genes)


@dataclass(frozen=True)
class _Columns:
    """A gene's levels other than the default, and which rows have them (rows × levels)."""

    gene: str
    default: Level
    levels: list[Level]
    indicator: Floats
    has_default: npt.NDArray[np.bool_]

    @property
    def varies(self) -> bool:
        """Whether chromosomes differ in the gene."""
        return bool((self.indicator != self.indicator[:1]).any())

    @classmethod
    def of(cls, gene: Gene, chromosomes: Sequence[Chromosome], most: int) -> _Columns:
        alleles = [c[gene.name] if applies(gene, c) else None for c in chromosomes]
        default, other_levels = levels_of(
            [allele for allele in alleles if allele is not None], gene.default, most
        )
        columns = [[float(allele in level.alleles) for allele in alleles] for level in other_levels]
        indicator = np.array(columns).reshape(len(other_levels), len(alleles)).T
        has_default = np.array([allele in default.alleles for allele in alleles])
        return cls(gene.name, default, other_levels, indicator, has_default)


class _Fit:
    """The ridge regression and its bootstrap; columns are in the order of the genes' levels."""

    def __init__(self, y: Floats, columns: Sequence[_Columns]) -> None:
        indicators = np.hstack([gene_columns.indicator for gene_columns in columns])
        self.x = indicators - indicators.mean(axis=0)
        # R of X = QR: regressions of columns on others are the same as for X, with few rows.
        self.triangle = np.asarray(np.linalg.qr(self.x, mode="r"), dtype=np.float64)
        solve, influence = self._solver(y)
        self.beta = solve @ y
        residuals = y - self.x @ self.beta
        self.explained = _explained(y, residuals, influence)
        rng = np.random.default_rng(0)  # resampling only: the same runs give the same intervals
        signs = rng.choice([-1.0, 1.0], (_RESAMPLES, len(y)))
        # A residual shrinks by the weight of its own row in the fit (HC3: MacKinnon, White 1985).
        deviations = (signs * (residuals / np.maximum(1 - influence, 0.1))) @ solve.T
        error = np.sqrt(np.mean(deviations**2, axis=0) + 1e-18)
        self.counts = np.count_nonzero(indicators, axis=0)
        of_default = [
            np.count_nonzero(gene_columns.has_default)
            for gene_columns in columns
            for _ in gene_columns.levels
        ]
        enough = len(y) - 1 >= _SPARE * int(np.linalg.matrix_rank(self.x))
        self.estimated = (np.minimum(self.counts, of_default) >= FEWEST_CHROMOSOMES) & enough
        largest = np.abs(deviations / error)[:, self.estimated].max(axis=1, initial=0.0)
        self.width = float(np.quantile(largest, CONFIDENCE)) * error

    def _solver(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the matrix from y to coefficients, and each row's influence on itself."""
        u, s, vt = np.linalg.svd(self.x, full_matrices=False)
        keep = s > 1e-9 * s[0]
        u, s, vt = u[:, keep], s[keep], vt[keep]
        shrink = s**2 / (s**2 + _penalty(u, s, y))
        return (vt.T * (shrink / s)) @ u.T, np.sum(u**2 * shrink, axis=1)


def _penalty(u: Floats, s: Floats, y: Floats) -> float:
    """Return the penalty with the least generalised cross-validation error."""
    rows, projected = len(y), u.T @ y
    beyond = float(y @ y - projected @ projected)

    def error(penalty: float) -> float:
        shrink = s**2 / (s**2 + penalty)
        freedom = rows - 1 - float(shrink.sum())
        if freedom <= 0:
            return math.inf
        error_squares = float(np.sum(((1 - shrink) * projected) ** 2)) + beyond
        return max(error_squares, 0.0) / freedom**2

    return float(min(_PENALTIES, key=error))


def _explained(y: Floats, residuals: Floats, influence: Floats) -> float:
    """Return the share of variance predicted for left-out rows (PRESS: Allen 1974); at least 0.

    Without a row, the mean changes, too: each row weighs 1/n in it.
    """
    rows = len(y)
    by_genes = residuals / np.maximum(1 - influence - 1 / rows, 1e-9)
    by_mean = y * rows / max(rows - 1, 1)
    total = float(by_mean @ by_mean)
    return max(1 - float(by_genes @ by_genes) / total, 0.0) if total else 0.0


def _gene_effect(
    gene_columns: _Columns, all_of: Sequence[_Columns], fit: _Fit, noise: float
) -> GeneEffect:
    begin = 0
    for other in all_of:
        if other is gene_columns:
            break
        begin += len(other.levels)
    mine = range(begin, begin + len(gene_columns.levels))
    levels = tuple(
        _level_effect(level, i, fit) for level, i in zip(gene_columns.levels, mine, strict=True)
    )
    estimated = [i for i in mine if fit.estimated[i]]
    partners = _partners(gene_columns, all_of, fit, estimated)
    if not estimated or partners:
        verdict: Verdict = "cannot be told"
    else:
        verdict = "matters" if any(level.stands_out(noise) for level in levels) else "not shown"
    return GeneEffect(gene_columns.gene, gene_columns.default, levels, verdict, partners)


def _level_effect(level: Level, column: int, fit: _Fit) -> LevelEffect:
    beta, width, count = fit.beta[column], fit.width[column], int(fit.counts[column])
    if not fit.estimated[column]:
        return LevelEffect(level, math.expm1(beta), None, None, count)
    low, high = math.expm1(beta - width), math.expm1(beta + width)
    return LevelEffect(level, math.expm1(beta), low, high, count)


def _partners(
    gene_columns: _Columns, all_of: Sequence[_Columns], fit: _Fit, estimated: Sequence[int]
) -> tuple[str, ...]:
    """Return the genes that changed together with a gene; empty if they can be distinguished.

    By the adjusted share of explained variance, since many genes explain anything by chance.
    """
    owners = [other.gene for other in all_of for _ in other.levels]
    other_columns = [i for i, owner in enumerate(owners) if owner != gene_columns.gene]
    rank = int(np.linalg.matrix_rank(fit.triangle[:, other_columns])) if other_columns else 0
    freedom = (len(fit.x) - 1) / max(len(fit.x) - 1 - rank, 1)
    partners: Counter[str] = Counter()
    if other_columns and estimated:
        y = fit.triangle[:, estimated]
        weights = np.linalg.lstsq(fit.triangle[:, other_columns], y, rcond=None)[0]
        residuals = y - fit.triangle[:, other_columns] @ weights
        explained = np.sum(residuals**2, axis=0) * freedom < (1 - INSEPARABLE) * np.sum(
            y**2, axis=0
        )
        heaviest = np.argmax(np.abs(weights), axis=0)
        partners.update(owners[other_columns[row]] for row in heaviest[explained].tolist())
    return tuple(sorted(partners))
