"""Two chromosomes compared by their runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, fmean

from analyzer.tuner.engines.racing import NEGLIGIBLE
from analyzer.tuner.evaluation import key_of
from analyzer.tuner.space.genes import Chromosome

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Run:
    """One good evaluation; ``cost`` is seconds, or one over a rate: less is better."""

    chromosome: Chromosome
    scenario: str
    cost: float


@dataclass(frozen=True)
class Change:
    """The cost of one chromosome relative to another: -0.12 is 12 % less.

    ``low`` and ``high`` are the interval, None where no chromosome was run twice.
    """

    effect: float
    low: float | None = None
    high: float | None = None

    @property
    def saves(self) -> bool:
        """Whether it certainly costs less, and by more than is negligible."""
        return self.high is not None and self.high < 0 and self.effect < -NEGLIGIBLE

    @property
    def costs(self) -> bool:
        """Whether it certainly costs more, and by more than is negligible."""
        return self.low is not None and self.low > 0 and self.effect > NEGLIGIBLE


@dataclass
class _Spread:
    """Sum of squared deviations of log cost from their chromosomes' means, and its freedom."""

    squares: float = 0.0
    freedom: int = 0

    @property
    def variance(self) -> float | None:
        return self.squares / self.freedom if self.freedom else None


@dataclass
class Runs:
    """All good runs of a campaign, by chromosome and scenario."""

    all: Sequence[Run]
    _logs: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    _spread: dict[str, _Spread] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for run in self.all:
            logs = self._logs.setdefault((key_of(run.chromosome), run.scenario), [])
            logs.append(math.log(run.cost))
        for (_, scenario), logs in self._logs.items():
            spread = self._spread.setdefault(scenario, _Spread())
            middle = fmean(logs)
            spread.squares += sum((log - middle) ** 2 for log in logs)
            spread.freedom += len(logs) - 1

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The scenarios that were run, in order of their first run."""
        return tuple(dict.fromkeys(run.scenario for run in self.all))

    @property
    def chromosomes(self) -> list[Chromosome]:
        """The chromosomes that were run, in order of their first run."""
        return list({key_of(run.chromosome): run.chromosome for run in self.all}.values())

    def costs(self, chromosome: Chromosome, scenario: str) -> list[float]:
        """Return the costs of its good runs in a scenario."""
        return [math.exp(log) for log in self._logs.get((key_of(chromosome), scenario), [])]

    def count(self, chromosome: Chromosome, scenarios: Iterable[str]) -> int:
        """Return its number of good runs in the one of ``scenarios`` with the fewest."""
        key = key_of(chromosome)
        return min((len(self._logs.get((key, one), [])) for one in scenarios), default=0)

    def noise(self, scenario: str | None = None) -> float | None:
        """Return the standard deviation of a run, relative to its cost; None if it is unknown.

        From all repeats of any chromosome, in one scenario or over all of them.
        """
        chosen = [s for name, s in self._spread.items() if scenario in (None, name)]
        freedom = sum(one.freedom for one in chosen)
        return math.sqrt(sum(one.squares for one in chosen) / freedom) if freedom else None

    def change(
        self,
        chromosome: Chromosome,
        other: Chromosome,
        scenario: str | None = None,
        confidence: float = CONFIDENCE,
    ) -> Change | None:
        """Return the extra cost of ``chromosome`` over ``other``; None if one was not run.

        Over several scenarios, those in which both were run, it is the geometric mean. The interval
        (two-sided) takes the noise of each scenario from all chromosomes that were repeated in it,
        as a handful of runs cannot show their own noise.
        """
        pairs = [
            (self._spread[name], self._logs[one], self._logs[two])
            for name in self.scenarios
            if scenario in (None, name)
            and (one := (key_of(chromosome), name)) in self._logs
            and (two := (key_of(other), name)) in self._logs
        ]
        if not pairs:
            return None
        middle = fmean(fmean(ours) - fmean(theirs) for _, ours, theirs in pairs)
        width = _width(pairs, confidence)
        if width is None:
            return Change(math.expm1(middle))
        return Change(math.expm1(middle), math.expm1(middle - width), math.expm1(middle + width))


def _width(
    pairs: Sequence[tuple[_Spread, list[float], list[float]]], confidence: float
) -> float | None:
    """Return half an interval's width in log cost; None where a scenario's noise is unknown."""
    total, of_freedom = 0.0, 0.0
    for spread, ours, theirs in pairs:
        if spread.variance is None:
            return None
        part = spread.variance * (1 / len(ours) + 1 / len(theirs)) / len(pairs) ** 2
        total += part
        of_freedom += part**2 / spread.freedom
    if not total:
        return 0.0
    return student_t(total**2 / of_freedom, confidence) * math.sqrt(total)


def student_t(freedom: float, confidence: float = CONFIDENCE) -> float:
    """Return the two-sided quantile of Student's t distribution.

    Fisher and Cornish's expansion about the normal quantile (Abramowitz and Stegun 26.7.5), within
    1 % from 4 degrees of freedom on.
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom**n for n, term in enumerate(terms, 1))
