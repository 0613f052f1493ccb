"""Where scenarios disagree: the chromosomes that no other beats in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from foreread.analyzer.tuner.findings.compare import Runs
from foreread.analyzer.tuner.space.genes import Chromosome


@dataclass(frozen=True)
class Point:
    """A chromosome that was run in every scenario, with its median cost in each."""

    chromosome: Chromosome
    costs: tuple[float, ...]


def points(runs: Runs) -> list[Point]:
    """Return every chromosome that was run in all scenarios; costs in the order of scenarios."""
    whole = [c for c in runs.chromosomes if runs.count(c, runs.scenarios)]
    return [Point(c, tuple(median(runs.costs(c, s)) for s in runs.scenarios)) for c in whole]


def front(of: Sequence[Point]) -> list[Point]:
    """Return the points that no other is as good as in every scenario and better in one."""
    return [point for point in of if not any(_beats(other.costs, point.costs) for other in of)]


def _beats(costs: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return costs != other and all(a <= b for a, b in zip(costs, other, strict=True))


def disagree(runs: Runs) -> bool:
    """Return whether one scenario's best certainly costs more than another's best there."""
    costs_of_all = points(runs)
    if len(runs.scenarios) < 2 or not costs_of_all:
        return False
    columns = range(len(runs.scenarios))
    best = [min(costs_of_all, key=lambda point: point.costs[i]).chromosome for i in columns]
    changes = [
        runs.change(other, best[i], scenario)
        for i, scenario in enumerate(runs.scenarios)
        for other in best
    ]
    return any(change is not None and change.costs for change in changes)
