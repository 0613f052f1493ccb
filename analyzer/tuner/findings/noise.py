"""The noise of a chromosome's runs: its own, moderated towards the others' where they agree.

A handful of runs shows its own noise poorly, and one noise pooled over all chromosomes is wrong
where they differ: beside a reader, bfq with two requests takes 1.6 s or more than 20, which says
nothing about any other setting. So variances are *moderated* (Smyth, *Linear models and empirical
Bayes methods for assessing differential expression in microarray experiments*, 2004, sections 3 and
6.2): they are assumed to come from a scaled inverse chi-square distribution, with a scale and
degrees of freedom from the mean and the variance of their logarithms. If they differ by no more
than chance, all chromosomes have the pooled one. A variance that stands out upwards is not
moderated, as that would make the noisiest chromosome seem better known than it is (for the reason
see Phipson et al., *Robust hyperparameter estimation protects against hypervariable genes*, 2016).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median, variance

from foreread.analyzer.tuner.campaign.budget import LADDER

OWN = LADDER[0]  # runs of a chromosome; with fewer it has the pooled noise
STANDS_OUT = 1.0  # standard deviations of the logarithm of a variance
_LEAST = 1e-5  # of the median variance: the variance 0 of equal runs has no logarithm
_BISECTIONS = 60


@dataclass(frozen=True)
class Noise:
    """The variance of a run's log cost, and the degrees of freedom of its estimate."""

    variance: float
    freedom: float


@dataclass(frozen=True)
class _Spread:
    """Sum of squared deviations of log costs from their mean, and its degrees of freedom."""

    squares: float
    freedom: int

    @classmethod
    def of(cls, logs: Sequence[float]) -> _Spread:
        middle = fmean(logs)
        return cls(sum((log - middle) ** 2 for log in logs), len(logs) - 1)

    @property
    def variance(self) -> float:
        return self.squares / self.freedom


@dataclass(frozen=True)
class _Prior:
    """The distribution of a variance, and of its logarithm, before its runs are seen."""

    variance: float
    freedom: float
    log_mean: float
    log_variance: float

    def moderated(self, spread: _Spread) -> Noise:
        known_by = trigamma(spread.freedom / 2)
        above = _unbiased_log(spread, 0.0) - self.log_mean
        if above > STANDS_OUT * math.sqrt(self.log_variance + known_by):
            return Noise(spread.variance, spread.freedom)
        freedom = self.freedom + spread.freedom
        return Noise((self.freedom * self.variance + spread.squares) / freedom, freedom)


@dataclass(frozen=True)
class Noises:
    """The noise in one scenario; ``logs``: the log costs of the runs of each chromosome."""

    logs: Sequence[Sequence[float]]

    @cached_property
    def pooled(self) -> Noise | None:
        """The noise of all repeats; None if there are none."""
        spreads = [_Spread.of(logs) for logs in self.logs]
        freedom = sum(spread.freedom for spread in spreads)
        return (
            Noise(sum(spread.squares for spread in spreads) / freedom, freedom) if freedom else None
        )

    def of(self, logs: Sequence[float]) -> Noise | None:
        """Return the noise of the chromosome with these runs; None if nothing was run twice."""
        if len(logs) < OWN or self._prior is None:
            return self.pooled
        return self._prior.moderated(_Spread.of(logs))

    @cached_property
    def _prior(self) -> _Prior | None:
        """The distribution of the variances; None if they differ by no more than chance."""
        spreads = [_Spread.of(logs) for logs in self.logs if len(logs) >= OWN]
        variances = [spread.variance for spread in spreads if spread.squares]
        if len(spreads) < 2 or not variances:
            return None
        logs = [_unbiased_log(spread, _LEAST * median(variances)) for spread in spreads]
        excess = variance(logs) - fmean(trigamma(spread.freedom / 2) for spread in spreads)
        if excess <= 0:
            return None
        half, mean = _inverse_trigamma(excess), fmean(logs)
        scale = math.exp(mean + digamma(half) - math.log(half))
        return _Prior(scale, 2 * half, mean, excess)


def _unbiased_log(spread: _Spread, least: float) -> float:
    """Return the logarithm of a variance, without its bias by few degrees of freedom."""
    log = math.log(max(spread.variance, least)) if max(spread.variance, least) else -math.inf
    return log - digamma(spread.freedom / 2) + math.log(spread.freedom / 2)


def digamma(x: float) -> float:
    """Return ψ(x) of a positive number (Abramowitz and Stegun 6.3.5 and 6.3.18)."""
    below = 0.0
    while x < 6:
        below += 1 / x
        x += 1
    return math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6) - below


def trigamma(x: float) -> float:
    """Return ψ′(x) of a positive number (Abramowitz and Stegun 6.4.6 and 6.4.12)."""
    below = 0.0
    while x < 6:
        below += 1 / x**2
        x += 1
    return below + 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5) + 1 / (42 * x**7)


def _inverse_trigamma(value: float) -> float:
    """Return the inverse of ψ′, which falls from infinity to 0, for a positive value."""
    low, high = 1e-3, 1e6
    for _ in range(_BISECTIONS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if trigamma(middle) > value else (low, middle)
    return math.sqrt(low * high)
