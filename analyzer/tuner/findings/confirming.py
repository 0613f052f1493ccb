"""Makes the runs that confirm a search's winner, and stores them with the search's runs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from foreread.analyzer.tuner.campaign.attempts import Due, evaluated, failed_for_good
from foreread.analyzer.tuner.campaign.campaign import Rules
from foreread.analyzer.tuner.campaign.standings import TRIES
from foreread.analyzer.tuner.evaluation import Evaluator, key_of
from foreread.analyzer.tuner.findings.confirm import ProvenGenes, Repeats
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.space.genes import Chromosome
from foreread.analyzer.tuner.store.records import Evaluation
from foreread.analyzer.tuner.store.store import Store


@dataclass(frozen=True)
class Confirming:
    """The progress of a confirmation: runs made, and runs of the present step still to make.

    ``most``: the maximum number of runs; None without a limit.
    """

    made: int
    wanted: int
    most: int | None = None


class ConfirmingRuns:
    """Confirms the winner of the search that ``store`` holds, or of ``contest``, a part of it.

    If its genes violate a constraint, the next best is confirmed (candidates.py).
    """

    def __init__(
        self,
        store: Store,
        evaluator: Evaluator,
        rules: Rules | None = None,
        on_progress: Callable[[Confirming], None] = lambda _: None,
        contest: Results | None = None,
    ) -> None:
        self._store = store
        self._evaluator = evaluator
        self._rules = rules or Rules()
        self._on_progress = on_progress
        self._search = contest or Results.of(store)
        self._made = list(self._search.confirmation)

    def run(self) -> ProvenGenes:
        """Make the missing runs until all is decided; stored runs are not repeated.

        Compared chromosomes are run in turn, so that a drift of the machine affects them equally.
        Raises CampaignError for a chromosome that cannot be run any more, DisturbedError when other
        processes are the cause.
        """
        scenarios = self._search.spec.scenarios
        while (confirmed := self._confirmed()).to_run:
            runs = self._search.good_runs(self._made)
            self._make(
                [
                    Repeats(
                        repeats.chromosome, repeats.runs - runs.count(repeats.chromosome, scenarios)
                    )
                    for repeats in confirmed.to_run
                ]
            )
        return confirmed

    def _make(self, lacking: Sequence[Repeats]) -> None:
        """Make the missing runs of chromosomes."""
        scenarios = len(self._search.spec.scenarios)
        for turn in range(max(repeats.runs for repeats in lacking)):
            due = [repeats.chromosome for repeats in lacking if repeats.runs > turn]
            runs_left = sum(max(repeats.runs - turn, 0) for repeats in lacking) * scenarios
            self._turn(due, random.Random(f"{self._store.spec.seed}/{len(self._made)}"), runs_left)

    def _confirmed(self) -> ProvenGenes:
        return self._search.settled_by(self._made).confirmed

    def _turn(self, due: Sequence[Chromosome], rng: random.Random, runs_left: int) -> None:
        pairs = [
            (chromosome, scenario) for chromosome in due for scenario in self._search.spec.scenarios
        ]
        for number, (chromosome, scenario) in enumerate(rng.sample(pairs, len(pairs)), 1):
            self._good_run(chromosome, scenario)
            self._on_progress(self._progress(runs_left - number))

    def _progress(self, runs_left: int) -> Confirming:
        return Confirming(len(self._made), runs_left, self._search.allowance)

    def _good_run(self, chromosome: Chromosome, scenario: str) -> None:
        for _ in range(TRIES):
            evaluation = self._evaluate(chromosome, scenario)
            self._store.add(evaluation, "confirmation")
            self._made.append(evaluation)
            if evaluation.attempt.status == "ok":
                return
        raise failed_for_good("the best chromosome cannot be confirmed", evaluation.attempt)

    def _evaluate(self, chromosome: Chromosome, scenario: str) -> Evaluation:
        key = key_of(chromosome)
        repeat = sum((key_of(e.chromosome), e.scenario) == (key, scenario) for e in self._made)
        number, seed = self._store.last_number() + 1, self._store.spec.seed
        due = Due(number, chromosome, scenario, repeat, seed)
        return evaluated(self._evaluator, due, self._rules.interrupts)
