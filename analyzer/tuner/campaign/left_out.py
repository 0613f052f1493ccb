"""Genes that the search leaves out because, by the counters of all runs, they cannot act."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from foreread.analyzer.tuner.space.catalogue import Mechanism
from foreread.analyzer.tuner.space.genes import Space
from foreread.analyzer.tuner.space.mechanisms import Metrics, absent, idle_genes
from foreread.analyzer.tuner.store.records import Evaluation


class LeftOut:
    """Follows the mechanisms that have not occurred, and reports the genes that need them.

    The result depends on the runs alone, so that a resumed campaign leaves out the same.
    """

    def __init__(self, space: Space, tell: Callable[[str], None]) -> None:
        self._space, self._tell = space, tell
        self.absent: frozenset[Mechanism] = frozenset()
        self.known = False  # whether there have been runs

    @property
    def genes_left(self) -> int:
        """The number of genes that may act."""
        return len(self._space.genes) - len(idle_genes(self._space, self.absent))

    def update(self, runs: Iterable[tuple[str, Metrics]]) -> bool:
        """Process all good runs so far; return whether anything has changed, and report it."""
        absent_now = frozenset(absent(runs))
        if self.known and absent_now == self.absent:
            return False
        before, now = (idle_genes(self._space, some) for some in (self.absent, absent_now))
        for why in dict.fromkeys(now.values()):
            if new := [
                gene for gene, reason in now.items() if reason == why and gene not in before
            ]:
                self._tell(f"{', '.join(new)}: not tuned, {why}")
        if back := [gene for gene in before if gene not in now]:
            self._tell(f"{', '.join(back)}: tuned from now on, a run has shown what they act on")
        self.absent, self.known = absent_now, True
        return True


def left_out(space: Space, search: Sequence[Evaluation]) -> dict[str, str]:
    """Return the genes that a search of these attempts left out to its end, with the reasons."""
    good = [evaluation for evaluation in search if evaluation.attempt.status == "ok"]
    return idle_genes(
        space, absent((evaluation.scenario, evaluation.attempt.metrics) for evaluation in good)
    )
