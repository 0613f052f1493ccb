"""The genetic-library with fingerprints: genes that suited a workload come back with it.

After Moilanen, *I/O Workload Fingerprinting in the Genetic-Library* (Linux Symposium 2006),
section 5. Each child's snapshot comes with its metrics (``Snapshot.metrics``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analyzer.tuner.engine import Scored
from analyzer.tuner.engines import operators
from analyzer.tuner.engines.fingerprint import FINGERPRINTS, PAGE_BYTES, Fingerprint, Snapshot
from analyzer.tuner.engines.genetic import GeneticEngine
from analyzer.tuner.space.genes import Chromosome
from analyzer.tuner.store.records import TopGenes


class Fingerprinting:
    """A genetic engine whose first child gets genes back when the fingerprint changes.

    ``decay``: the part of a fingerprint's top fitness left after each of its generations; the paper
    gives no value. A new fingerprint has the space's default (5.1, 6.1). ``page_bytes`` and
    ``published``: as ``Snapshot.fingerprint`` takes them.
    """

    def __init__(
        self,
        engine: GeneticEngine,
        decay: float,
        page_bytes: int = PAGE_BYTES,
        published: bool = False,
    ) -> None:
        unknown = TopGenes(engine.space.default(), 0.0)
        self.top: dict[Fingerprint, TopGenes] = dict.fromkeys(FINGERPRINTS, unknown)
        self.fingerprint: Fingerprint | None = None  # of the last generation with any I/O
        self.returned: Chromosome | None = None  # genes that return in the next generation
        self._engine = engine
        self._decay = decay
        self._page_bytes, self._published = page_bytes, published

    def ask(self) -> list[Chromosome]:
        """Return the next generation."""
        return self._engine.ask()

    def tell(self, scored: Sequence[Scored]) -> None:
        """Process the generation's results; remember its genes, and bring others back.

        Those brought back were stored before this generation, whose own genes are about to be the
        parents in any case.
        """
        self._engine.tell(scored)
        self.returned = None
        snapshot = sum((Snapshot.from_metrics(one.metrics) for one in scored), Snapshot())
        found = snapshot.fingerprint(self._page_bytes, self._published)
        if found is None:
            return
        if self.fingerprint not in (None, found):
            self.returned = self.top[found].chromosome
            self._engine.reintroduce(self.returned)
        self.top[found] = self._better(self.top[found], scored)
        self.fingerprint = found

    @property
    def known(self) -> Mapping[str, TopGenes]:
        """The top genes of the fingerprints that were seen, by their names."""
        return {str(one): top for one, top in self.top.items() if top.fitness > 0}

    def _better(self, top: TopGenes, scored: Sequence[Scored]) -> TopGenes:
        """Return the generation's average genes if it beats ``top``; decayed either way (5.4)."""
        average = sum(one.fitness for one in scored) / len(scored)
        if average > top.fitness:
            genes = operators.average(self._engine.space, [one.chromosome for one in scored])
            top = TopGenes(genes, average)
        return TopGenes(top.chromosome, top.fitness * self._decay)
