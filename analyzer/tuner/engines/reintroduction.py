"""The genetic-library with fingerprints: genes that suited a workload come back with it.

After Moilanen, *I/O Workload Fingerprinting in the Genetic-Library* (Linux Symposium 2006),
section 5. Each child's snapshot comes with its metrics (``Snapshot.metrics``).

The paper updates the top genes of a workload (5.4) before it brings them back (5.5). So the first
generation under a workload brings back its own average, bred for the workload before, whenever that
beats a top fitness which has decayed; and always under a new one, although 6.1 says that new ones
get the defaults. Here the genes come back that were stored before the generation. ``published``
takes the paper's order, and its averages of values: on the measured table a sequential read then
converges after 11.0 evaluations, not 8.2, a random read after 47.5, not 52.8
(studies/tuning/fingerprints.md).
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
    gives no value. A new fingerprint has the space's default (5.1, 6.1). ``page_bytes``: as
    ``Snapshot.fingerprint`` takes it; ``published``: that, too, and what the module's text says.
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
        """Process the generation's results; remember its genes, and bring others back."""
        self._engine.tell(scored)
        self.returned = None
        snapshot = sum((Snapshot.from_metrics(one.metrics) for one in scored), Snapshot())
        found = snapshot.fingerprint(self._page_bytes, self._published)
        if found is None:
            return
        before, self.top[found] = self.top[found], self._better(self.top[found], scored)
        if self.fingerprint not in (None, found):
            self.returned = (self.top[found] if self._published else before).chromosome
            self._engine.reintroduce(self.returned)
        self.fingerprint = found

    @property
    def known(self) -> Mapping[str, TopGenes]:
        """The top genes of the fingerprints that were seen, by their names."""
        return {str(one): top for one, top in self.top.items() if top.fitness > 0}

    def _better(self, top: TopGenes, scored: Sequence[Scored]) -> TopGenes:
        """Return the generation's average genes if it beats ``top``; decayed either way (5.4)."""
        average = sum(one.fitness for one in scored) / len(scored)
        if average > top.fitness:
            everyone = [one.chromosome for one in scored]
            genes = operators.average(self._engine.space, everyone, values=self._published)
            top = TopGenes(genes, average)
        return TopGenes(top.chromosome, top.fitness * self._decay)
