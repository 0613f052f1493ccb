"""Any tuner with the model of ``start-up`` as the judge of its chromosomes.

A campaign lets the chromosomes of most tuners race (racing.py). ``start-up`` has a model instead
(surrogate.py): it repeats a chromosome only if one more run of it promises more than any new one,
and its best chromosome has the highest expected value. Here this model does both for another tuner,
which still chooses each new chromosome. So at equal runs two tuners differ only by their proposals.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from foreread.analyzer.tuner.engine import Engine, Scored
from foreread.analyzer.tuner.engines.start_up import StartUpEngine
from foreread.analyzer.tuner.space.genes import Chromosome

KNOWN_IN_A_ROW = 100  # generations of known chromosomes that end the tuner


class Judged:
    """``tuner`` proposes; ``judge`` decides on repeats, and on the best chromosome.

    Repeats begin after as many chromosomes as the judge's recipe has founders. The tuner receives
    the fitness of a generation when all of it has been run.
    """

    def __init__(self, tuner: Engine, judge: StartUpEngine) -> None:
        self._tuner, self._judge = tuner, judge
        self._batch: list[Chromosome] = []

    def inform(
        self, weights: Mapping[str, float], default: Chromosome, absent: Collection[str]
    ) -> None:
        """Process the scenarios; the tuner proposes freely, whatever is ``absent``."""
        self._judge.inform(weights, default, ())

    def ask(self) -> list[Chromosome]:
        """Return one chromosome: a repeat, or the next one that the tuner proposes."""
        if len(self._judge.results) > self._judge.recipe.founders:
            promising = self._judge.promising()
            if promising is not None and self._judge.knows(promising):
                return [promising]
        new = self._proposed() or self._judge.promising_repeat()
        return [new] if new else []

    def tell(self, scored: Sequence[Scored]) -> None:
        """Process the present fitness of every chromosome."""
        self._judge.tell(scored)

    def best(self) -> Chromosome:
        """Return the probably best chromosome of those with results."""
        return self._judge.best()

    def gain(self, chromosome: Chromosome) -> float:
        """Return the log fitness that the model estimates."""
        return self._judge.gain(chromosome)

    def _proposed(self) -> Chromosome | None:
        """Return the next unmeasured chromosome of the tuner; None at its end."""
        for _ in range(KNOWN_IN_A_ROW):
            for chromosome in self._batch:
                if not self._judge.knows(chromosome):
                    return chromosome
            if self._batch:
                self._tuner.tell([self._result(chromosome) for chromosome in self._batch])
            self._batch = self._tuner.ask()
            if not self._batch:
                return None
        return None

    def _result(self, chromosome: Chromosome) -> Scored:
        return self._judge.results[self._judge.space.key(chromosome)]
