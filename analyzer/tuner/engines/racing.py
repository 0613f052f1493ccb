"""How often a chromosome is measured: clear losers and winners few times, close ones more often.

A chromosome races against the best one known. Both are run again, the one with fewer runs first,
until it cannot be better by more than a negligible amount (lead + z·error ≤ NEGLIGIBLE), or is
better (lead − z·error ≥ 0), or both have had all their repeats. The lead is the difference of the
logarithms of fitness, its error comes from the noise pooled over all repeats of the campaign.

This is a race under Gaussian errors (Maron and Moore, *The Racing Algorithm*, 1997) with the
incumbent only (Hutter, Hoos and Leyton-Brown, *Sequential Model-Based Optimization for General
Algorithm Configuration*, 2011, algorithm 2) and with an indifference zone (Kim and Nelson 2001):
equally good ones are not measured for ever. The rule depends on measured values alone, so a resumed
campaign races alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

Z = 1.645  # an equal chromosome is judged worse in one look of twenty
NEGLIGIBLE = 0.005  # of the objective: a smaller gain does not justify a setting


@dataclass(frozen=True)
class Sample:
    """The runs of two chromosomes in one scenario.

    ``noise`` is the standard deviation of one run's log, ``weight`` the scenario's weight.
    """

    noise: float
    runs: int
    other_runs: int
    weight: float = 1.0


def decided(lead: float, error: float) -> bool:
    """Return whether a chromosome with this lead (in log fitness) has won, or cannot win."""
    return lead + Z * error <= NEGLIGIBLE or lead - Z * error >= 0


def error_of_difference(samples: Iterable[Sample]) -> float:
    """Return the standard error of the difference of two weighted means of scenarios' medians.

    The variance of a median is π/2 times the variance of a mean; less for few runs, so this is
    conservative.
    """
    variance = weights = 0.0
    for sample in samples:
        each = math.pi / 2 * sample.noise**2 * (1 / sample.runs + 1 / sample.other_runs)
        variance += sample.weight**2 * each
        weights += sample.weight
    return math.sqrt(variance) / weights


def noise(squares: float, freedom: int) -> float:
    """Return the standard deviation of one run, from squared residuals and degrees of freedom.

    Widened as Student's t is wider than a normal distribution; infinite with too few data.
    """
    if freedom <= 2:
        return math.inf
    return math.sqrt(squares / freedom) * math.sqrt(freedom / (freedom - 2))
