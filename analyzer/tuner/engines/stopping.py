"""When to stop a campaign: its budget is used up, or the expected gain is below the noise.

The expected gain of continuing is at most that of the last stretch, since a converging search gains
less and less. When it does not exceed the noise of the difference between best and second (half of
its bootstrap interval), further evaluations would choose by chance. The principle, to end when the
expected gain falls below the statistical error of the estimate, is that of Makarova et al.,
*Automatic Termination for Hyperparameter Optimization* (2022).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from analyzer.tuner.engines.racing import NEGLIGIBLE


@dataclass(frozen=True)
class Budget:
    """The most attempts, and the most seconds spent in them; None means unlimited."""

    evaluations: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Patience:
    """How long a stretch is: generations, and new chromosomes measured in them, at least."""

    generations: int = 3
    chromosomes: int = 40


@dataclass(frozen=True)
class Stage:
    """A campaign at the end of a generation: its best, and the number of evaluations."""

    best: str
    chromosomes: int


def gained_too_little(
    stages: Sequence[Stage],
    patience: Patience,
    gain: Callable[[str], float],
    half_interval: Callable[[], float],
) -> bool:
    """Return whether the best gained no more in the last stretch than the noise.

    ``gain`` gives a chromosome's log fitness by all present data, ``half_interval`` the noise.
    """
    then = _a_stretch_ago(stages, patience)
    if then is None:
        return False
    gained = gain(stages[-1].best) - gain(then.best)
    return gained <= NEGLIGIBLE or gained <= half_interval()


def _a_stretch_ago(stages: Sequence[Stage], patience: Patience) -> Stage | None:
    enough = stages[-1].chromosomes - patience.chromosomes if stages else 0
    earlier = [one for one in stages[: -patience.generations] if one.chromosomes <= enough]
    return earlier[-1] if earlier else None
