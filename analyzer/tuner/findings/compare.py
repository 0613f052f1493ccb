"""Two chromosomes compared by their runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, fmean

from foreread.analyzer.tuner.campaign.weights import weighted_mean
from foreread.analyzer.tuner.engines.racing import NEGLIGIBLE
from foreread.analyzer.tuner.evaluation import key_of
from foreread.analyzer.tuner.findings.noise import Noise, Noises
from foreread.analyzer.tuner.space.genes import Chromosome

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
        """Whether it certainly costs less, by more than a negligible amount."""
        return self.high is not None and self.high < 0 and self.effect < -NEGLIGIBLE

    @property
    def costs(self) -> bool:
        """Whether it certainly costs more, by more than a negligible amount."""
        return self.low is not None and self.low > 0 and self.effect > NEGLIGIBLE


@dataclass
class Runs:
    """All good runs of a campaign, by chromosome and scenario; ``weights`` of scenarios, else 1."""

    all: Sequence[Run]
    weights: Mapping[str, float] = field(default_factory=dict)
    _logs: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    _noises: dict[str, Noises] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for run in self.all:
            logs = self._logs.setdefault((key_of(run.chromosome), run.scenario), [])
            logs.append(math.log(run.cost))
        by_scenario: dict[str, list[list[float]]] = {}
        for (_, scenario), logs in self._logs.items():
            by_scenario.setdefault(scenario, []).append(logs)
        self._noises = {scenario: Noises(logs) for scenario, logs in by_scenario.items()}

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
        return min((len(self._logs.get((key, name), [])) for name in scenarios), default=0)

    def noise(self, scenario: str | None = None) -> float | None:
        """Return the standard deviation of a run, relative to its cost; None if it is unknown.

        From all repeats of any chromosome, in one scenario or over all of them.
        """
        noises = [noises for name, noises in self._noises.items() if scenario in (None, name)]
        pooled = [noise.pooled for noise in noises if noise.pooled]
        freedom = sum(noise.freedom for noise in pooled)
        squares = sum(noise.variance * noise.freedom for noise in pooled)
        return math.sqrt(squares / freedom) if freedom else None

    def change(
        self,
        chromosome: Chromosome,
        other: Chromosome,
        scenario: str | None = None,
        confidence: float = CONFIDENCE,
    ) -> Change | None:
        """Return the extra cost of ``chromosome`` over ``other``; None if one was not run.

        Over several scenarios with runs of both, the cost is the weighted geometric mean. The
        interval (two-sided) is Welch's, with the noise of each of the two in each scenario
        (noise.py).
        """
        pairs = [
            (name, self._logs[own_key], self._logs[other_key])
            for name in self.scenarios
            if scenario in (None, name)
            and (own_key := (key_of(chromosome), name)) in self._logs
            and (other_key := (key_of(other), name)) in self._logs
        ]
        if not pairs:
            return None
        weights = [self.weight(name) for name, _, _ in pairs]
        middle = weighted_mean([fmean(ours) - fmean(theirs) for _, ours, theirs in pairs], weights)
        errors = [self._error(*pair) for pair in pairs]
        known_errors = [error for error in errors if error]
        if len(known_errors) < len(errors):
            return Change(math.expm1(middle))
        width = _width(known_errors, weights, confidence)
        return Change(math.expm1(middle), math.expm1(middle - width), math.expm1(middle + width))

    def weight(self, scenario: str) -> float:
        """Return the weight of a scenario."""
        return self.weights.get(scenario, 1.0)

    def noise_of(self, scenario: str, logs: Sequence[float]) -> Noise | None:
        """Return the noise of the chromosome with these log costs in a scenario."""
        return self._noises[scenario].of(logs)

    def pooled(self, scenario: str) -> Noise | None:
        """Return the noise of all repeats in a scenario; None if there are none."""
        return self._noises[scenario].pooled

    def _error(self, scenario: str, ours: list[float], theirs: list[float]) -> Noise | None:
        """Return the noise of the difference of two means; None if it is unknown.

        Welch, *The generalization of Student's problem when several different population variances
        are involved* (1947). The freedom is Satterthwaite's, at most the freedom of all repeats,
        from which both noises may come.
        """
        pooled = self.pooled(scenario)
        if pooled is None:
            return None
        noises = [(self.noise_of(scenario, logs) or pooled, len(logs)) for logs in (ours, theirs)]
        total = sum(noise.variance / runs for noise, runs in noises)
        of_freedom = sum((noise.variance / runs) ** 2 / noise.freedom for noise, runs in noises)
        freedom = total**2 / of_freedom if of_freedom else pooled.freedom
        return Noise(total, min(freedom, pooled.freedom))


def _width(errors: Sequence[Noise], weights: Sequence[float], confidence: float) -> float:
    """Return half the width of the interval of a weighted mean of differences with such errors."""
    variances = [w**2 * error.variance for w, error in zip(weights, errors, strict=True)]
    total = sum(variances)
    if not total:
        return 0.0
    of_freedom = sum(v**2 / error.freedom for v, error in zip(variances, errors, strict=True))
    freedom = total**2 / of_freedom
    return student_t(freedom, confidence) * math.sqrt(total) / sum(weights)


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
