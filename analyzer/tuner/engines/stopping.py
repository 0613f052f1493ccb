"""When to stop a campaign: its budget is used up, or the expected gain is below the noise.

The last stretch is longer with more genes: each needs a few chromosomes that show its effect.

The expected gain of continuing is at most the gain of the last stretch, since a converging search
gains less and less. When it does not exceed the noise of the difference between best and second
(half of its bootstrap interval), further evaluations would choose by chance. The principle, to end
when the expected gain falls below the statistical error of the estimate, is from Makarova et al.,
*Automatic Termination for Hyperparameter Optimization* (2022).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from foreread.analyzer.tuner.engines.racing import NEGLIGIBLE


@dataclass(frozen=True)
class Budget:
    """The most attempts, and the most seconds spent in them; None means unlimited."""

    evaluations: int | None = None
    seconds: float | None = None


SHORTEST = 20  # new chromosomes of a stretch …
EACH_GENE = 2  # … and for each gene …
EACH_SCENARIO = 5  # … and for each scenario but one
FIRST = 14  # runs of a search in each scenario: the default three times, and the first chromosomes
DEFAULTS = 13 / 12  # runs, with the default's runs between them
AGAIN = 1 / 2  # runs of a chromosome in each scenario but one, since most are run in one or two


@dataclass(frozen=True)
class Patience:
    """The length of a stretch: generations, and new chromosomes measured in them, at least.

    ``chromosomes``: None for as many as the genes and scenarios need (``stretch``).
    """

    generations: int = 3
    chromosomes: int | None = None

    def of(self, genes: int, scenarios: int) -> Patience:
        """Return the patience with so many active genes, in so many scenarios."""
        if self.chromosomes is not None:
            return self
        return replace(self, chromosomes=stretch(genes, scenarios))


def stretch(genes: int, scenarios: int) -> int:
    """Return how many new chromosomes without a gain end a search."""
    return SHORTEST + EACH_GENE * genes + EACH_SCENARIO * (scenarios - 1)


def expected_runs(genes: int, scenarios: int) -> int:
    """Return an estimate of the runs of an unlimited ``start-up`` search, at least.

    Such a search finds its best among the first chromosomes: its founders, and a stretch.
    """
    children = stretch(genes, scenarios) * (1 + AGAIN * (scenarios - 1))
    return round(DEFAULTS * (FIRST * scenarios + children))


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

    ``gain`` returns a chromosome's log fitness by all present data, ``half_interval`` the noise.
    ``patience`` is for a number of genes and scenarios (``Patience.of``).
    """
    then = _a_stretch_ago(stages, patience)
    if then is None:
        return False
    gained = gain(stages[-1].best) - gain(then.best)
    return gained <= NEGLIGIBLE or gained <= half_interval()


def _a_stretch_ago(stages: Sequence[Stage], patience: Patience) -> Stage | None:
    enough = stages[-1].chromosomes - (patience.chromosomes or 0) if stages else 0
    earlier = [stage for stage in stages[: -patience.generations] if stage.chromosomes <= enough]
    return earlier[-1] if earlier else None
