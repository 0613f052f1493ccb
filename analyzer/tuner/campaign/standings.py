"""The ranking of a campaign's chromosomes by its attempts, with gains and their errors.

Everything is compared in logarithms. The *gain* of a run is log(default's value / its value), for a
rate the reverse. The gain of a chromosome is the median over its good runs, then the weighted mean
over scenarios (weights.py): the log of a geometric mean. Fitness is e^gain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

import numpy as np
import numpy.typing as npt

from foreread.analyzer.tuner.campaign.baseline import Baseline
from foreread.analyzer.tuner.campaign.feasibility import Comparison, Feasibility
from foreread.analyzer.tuner.campaign.weights import weighted_mean, weights_of
from foreread.analyzer.tuner.engines import racing
from foreread.analyzer.tuner.evaluation import BLAMING, FINAL, LARGEST, Attempt, key_of
from foreread.analyzer.tuner.store.records import Evaluation, Spec

TRIES = 3  # failed attempts in a row that exclude a chromosome
INTERVAL = (0.05, 0.95)
_RESAMPLES = 2000


@dataclass
class _Runs:
    """Attempts of one chromosome in one scenario; ``good`` ones with number, log and board."""

    attempts: int = 0
    bad_in_a_row: int = 0
    good: list[Attempt] = field(default_factory=list)
    logs: list[tuple[int, float, int]] = field(default_factory=list)


@dataclass(frozen=True)
class _Summary:
    """The standing of a chromosome: good runs in the scenario with the fewest, and its gain.

    ``gain`` is None if a scenario is missing; ``gains`` are the gains of the good runs.
    """

    repeats: int
    gain: float | None
    gains: dict[str, list[float]]


class Standings:
    """Computed from attempts in their order (``add``); deterministic."""

    def __init__(self, spec: Spec) -> None:
        self.default = key_of(spec.default)
        self.attempts = 0
        self.seconds = 0.0
        self.weights = weights_of(spec)
        self._weights = list(self.weights.values())
        self._spec = spec
        self._sign = 1.0 if spec.objective == "seconds" else -1.0
        self._runs: dict[str, dict[str, _Runs]] = {}
        # Each board has its own: a run is compared with the default's runs on the same board.
        self._baselines = {
            (scenario, board): Baseline()
            for scenario in spec.scenarios
            for board in range(len(spec.boards))
        }
        self._condemned: set[str] = set()
        self.feasibility = Feasibility(spec, self.good)
        # Computed on request, and cached until an attempt changes them.
        self._summaries: dict[str, _Summary] = {}
        self._violations: dict[str, list[Comparison]] = {}
        self._ranking: list[str] = []
        self._noises: dict[str, float] = {}

    def add(self, evaluation: Evaluation) -> None:
        """Add the next attempt."""
        key, attempt = key_of(evaluation.chromosome), evaluation.attempt
        self.attempts += 1
        self.seconds += evaluation.ended - evaluation.started
        self._ranking, self._noises = [], {}
        runs = self._runs.setdefault(key, {}).setdefault(evaluation.scenario, _Runs())
        runs.attempts += 1
        if attempt.status != "ok" or attempt.value is None:
            runs.bad_in_a_row += 1
            tired = attempt.status in BLAMING and runs.bad_in_a_row >= TRIES
            if tired or attempt.status in FINAL:
                self._condemned.add(key)
            return
        runs.bad_in_a_row = 0
        runs.good.append(attempt)
        log = math.log(attempt.value)
        runs.logs.append((evaluation.number, log, evaluation.board))
        self._summaries.pop(key, None)
        self._violations.pop(key, None)
        if key == self.default:
            self._baselines[evaluation.scenario, evaluation.board].add(evaluation.number, log)
            self._summaries.clear()
            self._violations.clear()

    @property
    def drifts(self) -> list[int]:
        """Attempts at which the machine changed."""
        return sorted(
            start for baseline in self._baselines.values() for start in baseline.starts[1:]
        )

    def tried(self, key: str, scenario: str) -> int:
        """Return the number of attempts, good or bad."""
        return self._of(key, scenario).attempts

    def good(self, key: str, scenario: str) -> Sequence[Attempt]:
        """Return the good attempts."""
        return self._of(key, scenario).good

    def metrics(self) -> Iterator[tuple[str, Mapping[str, float]]]:
        """Yield scenario and figures of every good attempt."""
        for by_scenario in self._runs.values():
            for scenario, runs in by_scenario.items():
                yield from ((scenario, attempt.metrics) for attempt in runs.good)

    def repeats(self, key: str) -> int:
        """Return the number of good attempts in the scenario with the fewest."""
        return self._summary(key).repeats

    def chromosomes(self) -> Sequence[str]:
        """Return the tried chromosomes, in the order of their first attempt."""
        return list(self._runs)

    def given_up(self, key: str, scenario: str) -> bool:
        """Return whether a chromosome is not tried again in this scenario."""
        return key in self._condemned or self._of(key, scenario).bad_in_a_row >= TRIES

    def next_to_run(self, key: str) -> str | None:
        """Return the chromosome to run next to assess ``key`` (racing.py), or None.

        The result is ``key``, or the best of the others.
        """
        if self.exhausted(key) or self.violations(key):
            return None
        if self.repeats(key) < self._spec.fewest or key == self.default:
            return key
        best = self.best(apart_from=key)
        if racing.decided(self.gain(key) - self.gain(best), self._error(key, best)):
            return None
        return min(
            (key, best), key=lambda candidate: (self.exhausted(candidate), self.repeats(candidate))
        )

    def exhausted(self, key: str) -> bool:
        """Return whether a chromosome has had all its repeats, or too many failures."""
        tired = any(self.given_up(key, scenario) for scenario in self._spec.scenarios)
        return tired or self.repeats(key) >= self._spec.most

    def fitness(self, key: str) -> float:
        """Return e^gain; 0 for a failed, infeasible or incompletely measured chromosome."""
        return math.exp(min(self.gain(key), math.log(LARGEST)))

    def violations(self, key: str) -> list[Comparison]:
        """Return the constraints that a chromosome violates (feasibility.py)."""
        if key not in self._violations:
            self._violations[key] = self.feasibility.violations(key)
        return self._violations[key]

    def gains(self, key: str) -> Sequence[float]:
        """Return the gain of each round: the mean of the n-th good runs of all scenarios."""
        rounds = zip(*self._summary(key).gains.values(), strict=False)
        return [weighted_mean(runs, self._weights) for runs in rounds]

    def gains_by_scenario(self, key: str) -> Mapping[str, Sequence[float]]:
        """Return the gain of each good run by scenario; empty for a refused chromosome."""
        gains = {} if self._refused(key) else self._summary(key).gains
        return {scenario: runs for scenario, runs in gains.items() if runs}

    def spent(self, key: str) -> list[str]:
        """Return the scenarios that a chromosome is no longer run in."""
        return [
            scenario
            for scenario in self._spec.scenarios
            if self.given_up(key, scenario) or len(self.good(key, scenario)) >= self._spec.most
        ]

    def gain(self, key: str) -> float:
        """Return the log of the fitness; -inf where the fitness is 0."""
        return -math.inf if self._refused(key) else self._gain(key)

    def best(self, apart_from: str | None = None) -> str:
        """Return the first of the ranking, apart from a key; the default if there is none."""
        return next((key for key in self.ranking() if key != apart_from), self.default)

    def measured(self) -> int:
        """Return the number of tried chromosomes."""
        return len(self._runs)

    def ranking(self) -> Sequence[str]:
        """Return the chromosomes with their fewest repeats, by falling gain.

        Failed and infeasible ones are left out. Equal ones are in the order of their first attempt.
        """
        if not self._ranking:
            gains = {key: self.gain(key) for key in self._runs}
            ranked = [
                key
                for key, gain in gains.items()
                if gain > -math.inf and self.repeats(key) >= self._spec.fewest
            ]
            self._ranking = sorted(ranked, key=gains.__getitem__, reverse=True)
        return self._ranking

    def interval(self, key: str, other: str | None = None) -> tuple[float, float] | None:
        """Return the bootstrap interval (5 to 95 %) of a gain, or of its lead over another.

        Errors of medians are drawn from the residuals of all repeats of a scenario (residual
        bootstrap, Efron and Tibshirani 1993, 9.4), which is valid even after a single run. None if
        a chromosome has no gain, or without repeats.
        """
        base = self.default if other is None else other
        lead = self.gain(key) - self.gain(base)
        pools = [self._pool(scenario) for scenario in self._spec.scenarios]
        if not math.isfinite(lead) or not all(len(pool) for pool in pools):
            return None
        rng = np.random.default_rng(self._spec.seed & (1 << 64) - 1)
        errors = [
            self._median_errors(each, scenario, pool, rng)
            for scenario, pool in zip(self._spec.scenarios, pools, strict=True)
            for each in (key, base)
        ]
        pairs = zip(self._weights, errors[::2], errors[1::2], strict=True)
        drawn = lead + sum(weight * (a - b) for weight, a, b in pairs) / sum(self._weights)
        low, high = np.quantile(drawn, INTERVAL)
        return float(low), float(high)

    def best_from_second(self) -> float:
        """Return the noise of the difference of the two best: half of the interval of the lead.

        0 without repeats, or without two chromosomes.
        """
        ranking = self.ranking()[:2]
        interval = self.interval(*ranking) if len(ranking) == 2 else None
        return (interval[1] - interval[0]) / 2 if interval else 0.0

    def _refused(self, key: str) -> bool:
        return key in self._condemned or bool(self.violations(key))

    def _of(self, key: str, scenario: str) -> _Runs:
        return self._runs.get(key, {}).get(scenario) or _Runs()

    def _gain(self, key: str) -> float:
        gain = self._summary(key).gain
        return -math.inf if gain is None else gain

    def _summary(self, key: str) -> _Summary:
        if key not in self._summaries:
            gains = {scenario: self._gains(key, scenario) for scenario in self._spec.scenarios}
            repeats = min(map(len, gains.values()))
            medians = [median(values) for values in gains.values()] if repeats else []
            gain = weighted_mean(medians, self._weights) if repeats else None
            self._summaries[key] = _Summary(repeats, gain, gains)
        return self._summaries[key]

    def _gains(self, key: str, scenario: str) -> list[float]:
        """Return the gain of every good run; empty before the default's first run."""
        levels = [
            (self._baselines[scenario, board].at(number), log)
            for number, log, board in self._of(key, scenario).logs
        ]
        return [self._sign * (level - log) for level, log in levels if level is not None]

    def _error(self, key: str, best: str) -> float:
        return racing.error_of_difference(
            racing.Sample(
                self._noise(scenario),
                len(self.good(key, scenario)),
                len(self.good(best, scenario)),
                weight,
            )
            for scenario, weight in zip(self._spec.scenarios, self._weights, strict=True)
        )

    def _noise(self, scenario: str) -> float:
        if scenario not in self._noises:
            residuals = self._residuals(scenario)
            squares = sum(float(group @ group) for group in residuals)
            self._noises[scenario] = racing.noise(
                squares, sum(len(group) - 1 for group in residuals)
            )
        return self._noises[scenario]

    def _pool(self, scenario: str) -> npt.NDArray[np.float64]:
        """Return the residuals of all repeats, widened to the spread of single runs."""
        residuals = self._residuals(scenario)
        widened = [group * math.sqrt(len(group) / (len(group) - 1)) for group in residuals]
        return np.concatenate(widened or [np.empty(0)])

    def _residuals(self, scenario: str) -> list[npt.NDArray[np.float64]]:
        """Return the deviations of each repeated chromosome's gains from their mean."""
        groups = [self._summary(key).gains[scenario] for key in self._runs]
        return [np.array(gains) - fmean(gains) for gains in groups if len(gains) > 1]

    def _median_errors(
        self, key: str, scenario: str, pool: npt.NDArray[np.float64], rng: np.random.Generator
    ) -> npt.NDArray[np.float64]:
        runs = len(self.good(key, scenario))
        drawn = np.median(rng.choice(pool, (_RESAMPLES, runs)), axis=1)
        return np.asarray(drawn, dtype=np.float64)
