"""Constraints of a campaign: chromosomes that write or use much more than the default cannot win.

A constraint limits a counter of a start: the median over a chromosome's good runs in a scenario may
exceed the default's median by a share, or by a floor under which nothing counts. It is violated if
the excess is larger than the noise, Z standard errors of the difference of two medians, with the
deviation of a run pooled over both (as in racing.py). Other processes write in bursts, which are
not normally distributed: so most runs of the chromosome must exceed the limit as well, and it is
not judged before its second run. One unlucky run refuses nothing, and a chromosome just above the
limit is refused only once enough runs show it.

A chromosome that violates a constraint has fitness 0, like a failed one: the *death penalty* of
Coello Coello, *Theoretical and numerical constraint-handling techniques used with evolutionary
algorithms: a survey of the state of the art* (2002). It only needs an engine that reads fitness,
and a feasible start: the default. All depends on stored runs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Annotated, Literal

import msgspec

from foreread.analyzer.tuner.engines import racing
from foreread.analyzer.tuner.evaluation import Attempt, key_of
from foreread.analyzer.tuner.space.genes import GeneError
from foreread.analyzer.tuner.store.records import Spec

Name = Literal["wear", "memory"]
LARGEST_SHARE = 1e6
Share = Annotated[float, msgspec.Meta(ge=0, le=LARGEST_SHARE)]
MOST = 0.10  # more than the default, unless the user sets another share
FEWEST = 2  # runs of a chromosome, if its limit of runs allows it
MOSTLY = 0.75  # of its runs


class ExcessLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The allowed excess over the default, as a share of it; None: unlimited."""

    wear: Share | None = MOST
    memory: Share | None = MOST


@dataclass(frozen=True)
class Constraint:
    """A limited counter (tracer.trials.counters).

    ``floor``: an excess up to this never counts. ``driven_by``: the kind of scenario with a load
    that determines the figure, as fast as the settings let it. ``lacking``: why a machine does not
    have the counter.
    """

    name: Name
    counter: str
    floor: float
    quantity: str
    lacking: str
    driven_by: str = ""


CONSTRAINTS = (
    Constraint(
        "wear",
        "disk.written_sectors",
        256.0,  # 128 KiB: some commits of a journal, which fall into a run by chance
        "sectors written",
        "the disk has no counters",
        "writer",
    ),
    Constraint(
        "memory",
        "pressure.memory.some",
        0.05,
        "seconds of waiting for memory",
        "the kernel does not count memory pressure (CONFIG_PSI, psi=1)",
    ),
)


@dataclass(frozen=True)
class Comparison:
    """A constraint's medians of a chromosome and of the default, in one scenario."""

    constraint: Constraint
    scenario: str
    value: float
    default: float
    limit: float
    runs: int
    violated: bool


def compared(
    constraint: Constraint,
    share: float,
    scenario: str,
    runs: Sequence[float],
    default: Sequence[float],
) -> Comparison:
    """Compare a counter in runs of a chromosome with runs of the default; neither is empty."""
    middle = median(default)
    limit = max((1 + share) * middle, middle + constraint.floor)
    residuals = [value - fmean(some) for some in (runs, default) for value in some]
    squares = sum(residual**2 for residual in residuals)
    sample = racing.Sample(
        racing.noise(squares, len(runs) + len(default) - 2), len(runs), len(default)
    )
    shown = median(runs) - limit > racing.Z * racing.error_of_difference([sample])
    violated = shown and sum(value > limit for value in runs) >= MOSTLY * len(runs)
    return Comparison(constraint, scenario, median(runs), middle, limit, len(runs), violated)


class Feasibility:
    """Judges the chromosomes of a campaign by the good attempts that ``good`` returns for a key and
    a scenario.
    """

    def __init__(self, spec: Spec, good: Callable[[str, str], Sequence[Attempt]]) -> None:
        limits = limits_of(spec)
        self._shares: Mapping[Name, float | None] = {}
        if limits is not None:
            self._shares = {"wear": limits.wear, "memory": limits.memory}
        self._scenarios, self._default, self._good = spec.scenarios, key_of(spec.default), good
        self._fewest = min(FEWEST, spec.most)

    def comparisons(self, key: str) -> list[Comparison]:
        """Return the possible comparisons of a chromosome."""
        comparisons = []
        for constraint in CONSTRAINTS:
            share = self._shares.get(constraint.name)
            for scenario in self._scenarios:
                if share is None or drives(scenario, constraint):
                    continue
                runs, default = (
                    self._values(chromosome_key, scenario, constraint)
                    for chromosome_key in (key, self._default)
                )
                if runs and default:
                    comparisons.append(compared(constraint, share, scenario, runs, default))
        return comparisons

    def violations(self, key: str) -> list[Comparison]:
        """Return the constraints that a chromosome violates; none for the default."""
        if key == self._default or not self._shares:
            return []
        comparisons = self.comparisons(key)
        return [
            comparison
            for comparison in comparisons
            if comparison.violated and comparison.runs >= self._fewest
        ]

    def unchecked(self, constraint: Constraint) -> dict[str, str]:
        """Return why a constraint is not checked, by scenario."""
        if not self._shares:
            return dict.fromkeys(self._scenarios, "the tuning was begun without limits")
        if self._shares[constraint.name] is None:
            return dict.fromkeys(self._scenarios, f"--allow {constraint.name}")
        reasons = {}
        for scenario in self._scenarios:
            if drives(scenario, constraint):
                reasons[scenario] = "the load of the scenario writes as fast as the settings let it"
            elif not self._values(self._default, scenario, constraint):
                reasons[scenario] = constraint.lacking
        return reasons

    def _values(self, key: str, scenario: str, constraint: Constraint) -> list[float]:
        attempts = self._good(key, scenario)
        return [
            attempt.metrics[constraint.counter]
            for attempt in attempts
            if constraint.counter in attempt.metrics
        ]


class _Limited(msgspec.Struct, frozen=True):
    limits: ExcessLimits | None = None


def limits_of(spec: Spec) -> ExcessLimits | None:
    """Return the limits that a campaign was begun with; None if it is older than limits."""
    try:
        return msgspec.json.decode(spec.space or "{}", type=_Limited).limits
    except (msgspec.MsgspecError, RecursionError) as error:
        message = f"the limits of the campaign are damaged: {error}"
        raise GeneError(message, "begin a new campaign") from error


def drives(scenario: str, constraint: Constraint) -> bool:
    """Return whether the load of a scenario determines a constraint's figure."""
    return scenario.partition(":")[0] == constraint.driven_by
