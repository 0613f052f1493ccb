"""Trade-offs between settings: time, sectors written and waiting for memory, in each scenario.

The front holds the chromosomes that no other beats in all of these aims. The user's weights choose
one of them: the front is ordered by the campaign's gain, with these weights. Counters are compared
in steps of their floor (feasibility.py), since smaller differences fall into a run by chance: the
boxes of Laumanns, Thiele, Deb and Zitzler, *Combining convergence and diversity in evolutionary
multiobjective optimization* (2002). Chromosomes that violate a constraint are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from foreread.analyzer.tuner.campaign.feasibility import (
    CONSTRAINTS,
    Constraint,
    Name,
    compared,
    drives,
)
from foreread.analyzer.tuner.evaluation import chromosome_of
from foreread.analyzer.tuner.findings.confirm import differing
from foreread.analyzer.tuner.findings.contest import Contest
from foreread.analyzer.tuner.space.genes import Chromosome, Space


@dataclass(frozen=True)
class Aim:
    """A quantity to minimise: the cost, or ``counter``, in a scenario."""

    scenario: str
    counter: Constraint | None = None

    def step(self, value: float) -> float:
        """Return the compared value: values of the same step are equal."""
        return value if self.counter is None else math.floor(value / self.counter.floor)


@dataclass(frozen=True)
class Trade:
    """A chromosome with the median of its runs for each aim."""

    chromosome: Chromosome
    values: tuple[float, ...]


@dataclass(frozen=True)
class Trades:
    """The aims of a campaign, and the chromosomes that no other beats, best gain first.

    ``paid``: counters of which the first certainly has more than the default, beyond their floor.
    """

    aims: tuple[Aim, ...]
    front: tuple[Trade, ...]
    paid: tuple[Aim, ...] = ()

    def of(self, trade: Trade, scenario: str) -> dict[Name | None, float]:
        """Return the figures in a scenario by the name of their constraint; None for the cost."""
        return {
            None if aim.counter is None else aim.counter.name: value
            for aim, value in zip(self.aims, trade.values, strict=True)
            if aim.scenario == scenario
        }


def trades(results: Contest) -> Trades:
    """Return the front by the search's runs; empty before the default was run in each scenario."""
    standings, scenarios = results.standings, results.spec.scenarios
    ranked = standings.ranking()
    counted = [
        Aim(scenario, counter)
        for scenario in scenarios
        for counter in CONSTRAINTS
        if not drives(scenario, counter)
        and all(_values(results, key, Aim(scenario, counter)) for key in ranked)
    ]
    aims = tuple(
        aim
        for scenario in scenarios
        for aim in (Aim(scenario), *(aim for aim in counted if aim.scenario == scenario))
    )
    measured = [
        Trade(chromosome_of(key), tuple(median(_values(results, key, aim)) for aim in aims))
        for key in ranked
    ]
    front = _unbeaten(aims, measured)
    paid = [aim for aim in counted if ranked and _more_than_default(results, ranked[0], aim)]
    return Trades(aims, tuple(front), tuple(paid))


def genes_text(space: Space, chromosome: Chromosome) -> str:
    """Return the genes of a chromosome that differ from the default, in words."""
    genes = differing(space, chromosome)
    return ", ".join(f"{gene.name} {chromosome[gene.name]}" for gene in genes) or "the default"


def _unbeaten(aims: Sequence[Aim], measured: Sequence[Trade]) -> list[Trade]:
    steps = [
        tuple(aim.step(value) for aim, value in zip(aims, trade.values, strict=True))
        for trade in measured
    ]
    return [
        trade
        for trade, own in zip(measured, steps, strict=True)
        if not any(
            other != own and all(a <= b for a, b in zip(other, own, strict=True)) for other in steps
        )
    ]


def _values(results: Contest, key: str, aim: Aim) -> list[float]:
    """Return the runs' costs or counters; empty if one of the runs lacks the counter."""
    if aim.counter is None:
        return results.runs.costs(chromosome_of(key), aim.scenario)
    good = results.standings.good(key, aim.scenario)
    if any(aim.counter.counter not in attempt.metrics for attempt in good):
        return []
    return [attempt.metrics[aim.counter.counter] for attempt in good]


def _more_than_default(results: Contest, key: str, aim: Aim) -> bool:
    assert aim.counter is not None, "a cost is not a counter"
    own, default = (
        _values(results, chromosome_key, aim) for chromosome_key in (key, results.standings.default)
    )
    return bool(default) and compared(aim.counter, 0.0, aim.scenario, own, default).violated
