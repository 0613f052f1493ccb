"""The genetic-library with fingerprints: genes that suited a workload return with it.

After Moilanen, *I/O Workload Fingerprinting in the Genetic-Library* (Linux Symposium 2006), section
5. Each child's snapshot comes with its metrics (``Snapshot.metrics``). The paper updates the top
genes of a workload (5.4) before they return (5.5). So the first generation under a workload gets
back its own average, bred for the previous workload, whenever that beats a decayed top fitness; and
always under a new workload, although 6.1 says that new ones get the defaults. Here the genes that
were stored before the generation return. ``published`` uses the paper's order, and its averages of
values: on the measured table a sequential read then converges after 11.0 evaluations, not 8.2, a
random read after 47.5, not 52.8 (studies/tuning/fingerprints.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.engines import operators
from foreread.analyzer.tuner.engines.fingerprint import (
    FINGERPRINTS,
    PAGE_BYTES,
    Fingerprint,
    Snapshot,
)
from foreread.analyzer.tuner.engines.genetic import GeneticEngine
from foreread.analyzer.tuner.space.genes import Chromosome
from foreread.analyzer.tuner.store.records import TopGenes


class Fingerprinting:
    """A genetic engine whose first child gets genes back when the fingerprint changes.

    ``decay``: the share of a fingerprint's top fitness left after each of its generations; the
    paper gives no value. A new fingerprint has the space's default (5.1, 6.1). ``page_bytes`` and
    ``published``: as in ``Snapshot.fingerprint``; ``published`` also selects the paper's order.
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
        """Process the generation's results; store its genes, and let others return."""
        self._engine.tell(scored)
        self.returned = None
        snapshot = sum((Snapshot.from_metrics(score.metrics) for score in scored), Snapshot())
        fingerprint = snapshot.fingerprint(self._page_bytes, self._published)
        if fingerprint is None:
            return
        before, self.top[fingerprint] = (
            self.top[fingerprint],
            self._better(self.top[fingerprint], scored),
        )
        if self.fingerprint not in (None, fingerprint):
            self.returned = (self.top[fingerprint] if self._published else before).chromosome
            self._engine.reintroduce(self.returned)
        self.fingerprint = fingerprint

    @property
    def known(self) -> Mapping[str, TopGenes]:
        """The top genes of the fingerprints seen so far, by their names."""
        return {str(fingerprint): top for fingerprint, top in self.top.items() if top.fitness > 0}

    def _better(self, top: TopGenes, scored: Sequence[Scored]) -> TopGenes:
        """Return the generation's average genes if they beat ``top``; decayed either way (5.4)."""
        average = sum(score.fitness for score in scored) / len(scored)
        if average > top.fitness:
            everyone = [score.chromosome for score in scored]
            genes = operators.average(self._engine.space, everyone, values=self._published)
            top = TopGenes(genes, average)
        return TopGenes(top.chromosome, top.fitness * self._decay)
