"""Confirms a search's winner on several like boards at the same time.

The runs of each chromosome are shared out evenly, and a board's effect is subtracted from its runs,
so that no chromosome gains by its boards.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from foreread.analyzer.tuner.campaign.attempts import Due, failed_for_good
from foreread.analyzer.tuner.campaign.crew import Boards, Crew, Job
from foreread.analyzer.tuner.campaign.fleet_campaign import Nobody
from foreread.analyzer.tuner.campaign.standings import TRIES
from foreread.analyzer.tuner.evaluation import key_of
from foreread.analyzer.tuner.findings.confirm import Repeats
from foreread.analyzer.tuner.findings.confirming import Confirming, ConfirmingRuns
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.space.genes import Chromosome
from foreread.analyzer.tuner.store.records import Evaluation
from foreread.analyzer.tuner.store.store import Store
from foreread.boards.base.silent import silent


class FleetConfirmingRuns(ConfirmingRuns):
    """As ``ConfirmingRuns``, on ``boards``, which are in the order of the store's."""

    def __init__(
        self,
        store: Store,
        boards: Boards[Due, Evaluation],
        on_progress: Callable[[Confirming], None] = silent,
        contest: Results | None = None,
        tell: Callable[[str], None] = silent,
    ) -> None:
        super().__init__(store, Nobody(), None, on_progress, contest)
        self._crew = Crew(boards, self._keep_lost, tell)
        self._repeats = Counter(
            (key_of(evaluation.chromosome), evaluation.scenario) for evaluation in self._made
        )

    def _make(self, lacking: Sequence[Repeats]) -> None:
        """Make all missing runs, the runs of a turn in random order."""
        boards = len(self._store.spec.boards)
        rng = random.Random(f"{self._store.spec.seed}/{len(self._made)}")
        for turn in range(max(repeats.runs for repeats in lacking)):
            pairs = [
                (place, repeats.chromosome, scenario)
                for place, repeats in enumerate(lacking)
                if repeats.runs > turn
                for scenario in self._search.spec.scenarios
            ]
            for place, chromosome, scenario in rng.sample(pairs, len(pairs)):
                self._submit(chromosome, scenario, first=(place + turn) % boards)
        failures = Counter[tuple[str, str]]()
        for _, board, result in self._crew.results():
            run = replace(result, board=board, number=self._store.last_number() + 1)
            self._store.add(run, "confirmation")
            self._made.append(run)
            self._judge(run, failures)
            self._on_progress(self._progress(self._crew.pending))

    def _submit(
        self,
        chromosome: Chromosome,
        scenario: str,
        first: int | None = None,
        avoid: int | None = None,
    ) -> None:
        pair = key_of(chromosome), scenario
        due = Due(0, chromosome, scenario, self._repeats[pair], self._store.spec.seed)
        self._repeats[pair] += 1
        self._crew.submit(Job(due, first=first, avoid=avoid))

    def _judge(self, evaluation: Evaluation, failures: Counter[tuple[str, str]]) -> None:
        """Repeat a failed run on another board; raise CampaignError after TRIES in a row."""
        pair = key_of(evaluation.chromosome), evaluation.scenario
        if evaluation.attempt.status == "ok":
            failures[pair] = 0
            return
        failures[pair] += 1
        if failures[pair] >= TRIES:
            raise failed_for_good("the best chromosome cannot be confirmed", evaluation.attempt)
        self._submit(evaluation.chromosome, evaluation.scenario, avoid=evaluation.board)

    def _keep_lost(self, board: int, lost: Evaluation) -> None:
        evaluation = replace(lost, board=board, number=self._store.last_number() + 1)
        self._store.add(evaluation, "confirmation", withdrawn=True)
