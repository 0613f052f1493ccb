"""The progress of a campaign, for display."""

from __future__ import annotations

import math
from dataclasses import dataclass

from foreread.analyzer.tuner.campaign.turns import Turns
from foreread.analyzer.tuner.engines.stopping import Budget
from foreread.analyzer.tuner.evaluation import chromosome_of
from foreread.analyzer.tuner.space.genes import Chromosome
from foreread.analyzer.tuner.store.records import Objective


@dataclass(frozen=True)
class CampaignProgress:
    """The progress on one line.

    ``improvement`` over the default, as a share of the default's value: fewer seconds, or a higher
    rate; ``interval`` is its bootstrap interval (5 to 95 %), None without repeats. ``most`` is the
    limit of evaluations, None without a limit. ``seconds`` were spent in attempts; ``seconds_left``
    is None without a budget. If scenarios take turns, ``scenario`` is the present one, and the best
    is the best in this scenario. ``returned`` are genes that returned in this generation, since the
    workload changed.
    """

    generation: int
    best: Chromosome
    improvement: float
    interval: tuple[float, float] | None
    evaluations: int
    most: int | None
    seconds: float
    seconds_left: float | None
    scenario: str = ""
    returned: Chromosome | None = None


def progress_of(
    turns: Turns,
    generation: int,
    budget: Budget,
    returned: Chromosome | None = None,
    boards: int = 1,
) -> CampaignProgress:
    """Return the progress of a campaign with these contests, on ``boards`` at once."""
    contest = turns.in_force(generation)
    spec, standings, best = contest.spec, contest.standings, contest.best
    interval = standings.interval(best) if best != standings.default else None
    return CampaignProgress(
        generation=generation,
        best=chromosome_of(best),
        improvement=improvement(standings.gain(best), spec.objective),
        interval=interval
        and (improvement(interval[0], spec.objective), improvement(interval[1], spec.objective)),
        evaluations=turns.attempts,
        most=budget.evaluations,
        seconds=turns.seconds / boards,
        seconds_left=_seconds_left(turns, budget, boards),
        scenario=spec.scenarios[0] if len(turns.contests) > 1 else "",
        returned=returned,
    )


def improvement(gain: float, objective: Objective) -> float:
    """Return a gain as a share of the default's value: 0.25 is a quarter fewer seconds."""
    if math.isinf(gain):
        return 0.0
    return -math.expm1(-gain) if objective == "seconds" else math.expm1(gain)


def _seconds_left(turns: Turns, budget: Budget, boards: int) -> float | None:
    remaining = []
    if budget.seconds is not None:
        remaining.append(budget.seconds - turns.seconds / boards)
    if budget.evaluations is not None and turns.attempts:
        each = turns.seconds / turns.attempts / boards
        remaining.append((budget.evaluations - turns.attempts) * each)
    return max(min(remaining), 0.0) if remaining else None
