"""Genes that the search leaves out, since by the counters of all runs they cannot act."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from analyzer.tuner.space.catalogue import Mechanism
from analyzer.tuner.space.genes import Space
from analyzer.tuner.space.mechanisms import Metrics, absent, idle_genes
from analyzer.tuner.store.records import Evaluation


class LeftOut:
    """Follows which mechanisms have not occurred, and says which genes that concerns.

    It depends on the runs alone, so that a resumed campaign leaves out the same.
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
        """Take all good runs so far; return whether anything has changed, and say it."""
        found = frozenset(absent(runs))
        if self.known and found == self.absent:
            return False
        before, now = (idle_genes(self._space, some) for some in (self.absent, found))
        for why in dict.fromkeys(now.values()):
            if new := [
                gene for gene, reason in now.items() if reason == why and gene not in before
            ]:
                self._tell(f"{', '.join(new)}: not tuned, {why}")
        if back := [gene for gene in before if gene not in now]:
            self._tell(f"{', '.join(back)}: tuned from now on, a run has shown what they act on")
        self.absent, self.known = found, True
        return True


def left_out(space: Space, search: Sequence[Evaluation]) -> dict[str, str]:
    """Return the genes that a search of these attempts left out to its end, and why."""
    good = [one for one in search if one.attempt.status == "ok"]
    return idle_genes(space, absent((one.scenario, one.attempt.metrics) for one in good))
