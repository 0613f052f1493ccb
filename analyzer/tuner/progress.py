"""Where a campaign is, for whoever waits for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from analyzer.tuner.evaluation import chromosome_of
from analyzer.tuner.genes import Chromosome
from analyzer.tuner.records import Objective, Spec
from analyzer.tuner.standings import Standings
from analyzer.tuner.stopping import Budget


@dataclass(frozen=True)
class Progress:
    """One line's worth.

    ``improvement`` over the default, in parts of the default's value: fewer seconds, or a higher
    rate; ``interval`` is its bootstrap interval (5 to 95 %), None where nothing was repeated yet.
    ``most`` evaluations are made, None where that is not limited. ``seconds`` were spent in
    attempts; ``seconds_left`` is None without a budget.
    """

    generation: int
    best: Chromosome
    improvement: float
    interval: tuple[float, float] | None
    evaluations: int
    most: int | None
    seconds: float
    seconds_left: float | None


def progress_of(
    standings: Standings, best: str, spec: Spec, generation: int, budget: Budget
) -> Progress:
    """Return where a campaign with these standings, and that ``best`` chromosome, is."""
    interval = standings.interval(best) if best != standings.default else None
    return Progress(
        generation=generation,
        best=chromosome_of(best),
        improvement=improvement(standings.gain(best), spec.objective),
        interval=interval
        and (improvement(interval[0], spec.objective), improvement(interval[1], spec.objective)),
        evaluations=standings.attempts,
        most=budget.evaluations,
        seconds=standings.seconds,
        seconds_left=_seconds_left(standings, budget),
    )


def improvement(gain: float, objective: Objective) -> float:
    """Return a gain in parts of the default's value: 0.25 is a quarter fewer seconds."""
    if math.isinf(gain):
        return 0.0
    return -math.expm1(-gain) if objective == "seconds" else math.expm1(gain)


def _seconds_left(standings: Standings, budget: Budget) -> float | None:
    left = []
    if budget.seconds is not None:
        left.append(budget.seconds - standings.seconds)
    if budget.evaluations is not None and standings.attempts:
        each = standings.seconds / standings.attempts
        left.append((budget.evaluations - standings.attempts) * each)
    return max(min(left), 0.0) if left else None
