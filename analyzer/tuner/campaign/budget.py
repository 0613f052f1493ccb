"""How the budget of a tuning is shared: the search, and the runs that confirm its result.

An unconfirmed result is partly luck, so the runs of a confirmation are reserved before the search
begins: at least the minimum of a confirmation, otherwise at most a half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foreread.analyzer.tuner.engines.stopping import Budget
from foreread.analyzer.tuner.store.records import Evaluation

# Good runs of a chromosome in each scenario. All have the first number; more follow only where a
# comparison is undecided.
LADDER = (3, 5, 8, 12)
ROWS = 4  # the default, the predicted window, the winner, and it with the genes that likely matter
FIRST_ROUNDS = 5  # of a search: the default three times, and the predicted settings
SHARE = 1 / 2  # of the runs, at most, for the confirmation
OF_TIME = 1 / 3  # of the seconds, since their number of runs is unknown
_MOST_GENES = 8  # of a winner, with runs reserved for each
_REPEATS = 1.25  # with the runs of comparisons that are undecided at first


@dataclass(frozen=True)
class Shared:
    """A shared budget.

    ``search``: for the search; ``confirming``: runs of a confirmation, if affordable; ``fewest``:
    with fewer runs in all nothing can be confirmed.
    """

    search: Budget
    confirming: int
    fewest: int


def shared(whole: Budget, scenarios: int, genes: int) -> Shared:
    """Return the shares of a tuning's budget, by its numbers of scenarios and genes.

    A limit of time has no fewest runs, since the duration of a run is unknown.
    """
    least = ROWS * LADDER[0] * scenarios
    fewest = least + FIRST_ROUNDS * scenarios
    seconds = None if whole.seconds is None else (1 - OF_TIME) * whole.seconds
    useful_runs = int(_REPEATS * LADDER[0] * (ROWS + min(genes, _MOST_GENES)) * scenarios)
    if whole.evaluations is None:
        return Shared(Budget(None, seconds), useful_runs, fewest)
    kept_back = max(least, min(int(SHARE * whole.evaluations), useful_runs))
    return Shared(Budget(max(whole.evaluations - kept_back, 0), seconds), useful_runs, fewest)


def confirming_runs(
    whole: Budget, search: Sequence[Evaluation], confirming: Sequence[Evaluation]
) -> int | None:
    """Return the maximum of confirming runs; None without a limit.

    ``search`` and ``confirming`` are the attempts so far. Time is converted by their mean duration.
    """
    limits = []
    if whole.evaluations is not None:
        limits.append(whole.evaluations - len(search))
    attempts = [*search, *confirming]
    if whole.seconds is not None and attempts:
        spent = sum(attempt.ended - attempt.started for attempt in attempts)
        limits.append(
            len(confirming) + int((whole.seconds - spent) * len(attempts) / max(spent, 1e-6))
        )
    return max(min(limits), 0) if limits else None
