"""How the budget of a tuning is shared: the search, and the runs that confirm its result.

A result that is not confirmed is luck in part, so the runs of a confirmation are kept back before
the search begins: at least those without which nothing can be confirmed, otherwise at most a half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analyzer.tuner.engines.stopping import Budget
from analyzer.tuner.store.records import Evaluation

# Good runs of a chromosome in each scenario. All have the first number; more are made only where a
# comparison is undecided.
LADDER = (3, 5, 8, 12)
ROWS = 4  # the default, the predicted window, the winner, and it with the genes that likely matter
FIRST_ROUNDS = 5  # of a search: the default three times, and what was predicted
SHARE = 1 / 2  # of the runs, at most, for the confirmation
OF_TIME = 1 / 3  # of the seconds, since nobody knows how many runs they are
_MOST_GENES = 8  # of a winner, for which runs are kept back
_REPEATS = 1.25  # with those of comparisons that are undecided at first


@dataclass(frozen=True)
class Shared:
    """A budget as it is shared.

    ``search``: for the search; ``confirming``: runs that a confirmation takes, if it may;
    ``fewest``: with fewer runs in all nothing can be confirmed.
    """

    search: Budget
    confirming: int
    fewest: int


def shared(whole: Budget, scenarios: int, genes: int) -> Shared:
    """Return how the budget of a tuning of so many genes in so many scenarios is shared.

    A limit of time has no fewest runs, since nobody knows how long a run takes.
    """
    least = ROWS * LADDER[0] * scenarios
    fewest = least + FIRST_ROUNDS * scenarios
    seconds = None if whole.seconds is None else (1 - OF_TIME) * whole.seconds
    wanted = int(_REPEATS * LADDER[0] * (ROWS + min(genes, _MOST_GENES)) * scenarios)
    if whole.evaluations is None:
        return Shared(Budget(None, seconds), wanted, fewest)
    kept_back = max(least, min(int(SHARE * whole.evaluations), wanted))
    return Shared(Budget(max(whole.evaluations - kept_back, 0), seconds), wanted, fewest)


def confirming_runs(
    whole: Budget, search: Sequence[Evaluation], confirming: Sequence[Evaluation]
) -> int | None:
    """Return how many runs the confirmation may have in all; None without a limit.

    ``search`` and ``confirming`` are the attempts made so far. Time is converted by their mean
    duration.
    """
    limits = []
    if whole.evaluations is not None:
        limits.append(whole.evaluations - len(search))
    made = [*search, *confirming]
    if whole.seconds is not None and made:
        spent = sum(one.ended - one.started for one in made)
        limits.append(len(confirming) + int((whole.seconds - spent) * len(made) / max(spent, 1e-6)))
    return max(min(limits), 0) if limits else None
