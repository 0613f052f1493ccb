"""The results of a campaign or of one of its contests.

All data that a report or a boot script uses from a TUNING file; results.py adds its document.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.campaign.left_out import left_out
from foreread.analyzer.tuner.campaign.standings import Standings
from foreread.analyzer.tuner.campaign.turns import contested, turn_of
from foreread.analyzer.tuner.campaign.weights import weights_of
from foreread.analyzer.tuner.evaluation import chromosome_of
from foreread.analyzer.tuner.findings.board_effects import BoardEffect, board_effects
from foreread.analyzer.tuner.findings.candidates import Settled, candidates, settle
from foreread.analyzer.tuner.findings.compare import Run, Runs
from foreread.analyzer.tuner.findings.confirm import ProvenGenes
from foreread.analyzer.tuner.findings.effects import Effects, main_effects
from foreread.analyzer.tuner.space.genes import Chromosome, Space
from foreread.analyzer.tuner.space.losses import losses_of
from foreread.analyzer.tuner.store.records import Evaluation, Objective, Spec
from foreread.analyzer.tuner.store.store import Store, StoreError
from foreread.boards.base.brief import brief


@dataclass(frozen=True, repr=False)
class Contest:
    """A stored campaign, or its part for one scenario if scenarios take turns.

    ``search``: the attempts of the search, ``confirmation``: the later attempts of its winner;
    ``generations``: the results given to the engine, fitness with each chromosome; ``believed``:
    the best by the engine's estimate, None if it is the measured best; ``lost``: attempts that do
    not count, since their board was lost in them, or the target failed. ``allowance``: the maximum
    number of runs of the confirmation, None without a limit.
    """

    __repr__ = brief

    spec: Spec
    ended: str | None
    search: Sequence[Evaluation]
    confirmation: Sequence[Evaluation]
    generations: Sequence[Sequence[tuple[Chromosome, float]]]
    believed: str | None = None
    lost: Sequence[Evaluation] = ()
    allowance: int | None = None

    @classmethod
    def of(cls, store: Store) -> Self:
        """Return the results in an open store; raises StoreError, and GeneError for its spec."""
        results = cls(
            store.spec,
            store.ended,
            store.evaluations(),
            store.evaluations(stage="confirmation"),
            store.generations(),
            store.best,
            [*store.withdrawn(), *store.withdrawn("confirmation")],
            store.allowance,
        )
        results._check_chromosomes(store.name)
        return results

    def _check_chromosomes(self, name: str) -> None:
        """Raise StoreError for a chromosome of other genes than the campaign's."""
        kinds: dict[str, Iterable[Chromosome]] = {
            "run": (evaluation.chromosome for evaluation in (*self.search, *self.confirmation)),
            "generation": (chromosome for scored in self.generations for chromosome, _ in scored),
            "best": (chromosome_of(self.believed),) if self.believed else (),
        }
        sound: set[int] = set()  # a store returns one object for equal chromosomes
        for kind, chromosomes in kinds.items():
            for chromosome in chromosomes:
                if id(chromosome) not in sound and (wrong := self.space.lacking(chromosome)):
                    raise StoreError(
                        f"{name} is damaged: in the chromosome of a {kind}, {wrong}",
                        "restore a copy of it, or start a new campaign",
                    )
                sound.add(id(chromosome))

    @cached_property
    def contests(self) -> list[Self]:
        """The separate searches: the whole campaign, or each scenario that had its turn."""
        if not self.takes_turns:
            return [self]
        parts = map(self._of_turn, range(len(self.spec.scenarios)))
        return [part for part in parts if part.search]

    @cached_property
    def takes_turns(self) -> bool:
        """Whether scenarios take turns, so that each is a contest by itself."""
        return CampaignSetup.of(self.spec).turns > 0 and len(self.spec.scenarios) > 1

    def _of_turn(self, number: int) -> Self:
        """Return the part of the ``number``-th scenario; the allowance is shared evenly."""
        turns, scenarios = CampaignSetup.of(self.spec).turns, self.spec.scenarios
        share = None if self.allowance is None else self.allowance // len(scenarios)
        return replace(
            self,
            spec=contested(self.spec, turns)[number],
            search=[
                evaluation for evaluation in self.search if evaluation.scenario == scenarios[number]
            ],
            confirmation=[
                evaluation
                for evaluation in self.confirmation
                if evaluation.scenario == scenarios[number]
            ],
            generations=[
                scored
                for generation, scored in enumerate(self.generations)
                if turn_of(generation, turns, len(scenarios)) == number
            ],
            allowance=share,
        )

    @cached_property
    def space(self) -> Space:
        """The tuned genes; GeneError if the store's are invalid."""
        return CampaignSetup.of(self.spec).space

    @cached_property
    def left_out(self) -> dict[str, str]:
        """The genes that were not tuned, and why: the machine lacks them, or they cannot act."""
        return {**self.space.left_out, **left_out(self.space, self.search)}

    @cached_property
    def predicted(self) -> Chromosome | None:
        """The default with the predicted window; None where no window was predicted."""
        return CampaignSetup.of(self.spec).predicted_window

    @cached_property
    def standings(self) -> Standings:
        """The ranking by the search's attempts."""
        standings = Standings(self.spec)
        for evaluation in self.search:
            standings.add(evaluation)
        return standings

    @cached_property
    def winner(self) -> Chromosome:
        """The best chromosome that the confirmation did not refuse, or the default."""
        if not self.confirmation:
            return [*self._candidates, chromosome_of(self.standings.default)][0]
        return self.settled.winner

    @cached_property
    def _candidates(self) -> list[Chromosome]:
        return candidates(self.standings, self.believed)

    @cached_property
    def runs(self) -> Runs:
        """The good runs of the search."""
        return self.good_runs(self.search)

    @cached_property
    def confirming(self) -> Runs:
        """The good runs of the confirmation."""
        return self.good_runs(self.confirmation)

    @cached_property
    def boards(self) -> list[BoardEffect]:
        """How much slower each board is than the others, by the good runs of both stages."""
        return self._boards_by(self.confirmation)

    def _boards_by(self, attempts: Sequence[Evaluation]) -> list[BoardEffect]:
        runs = [*self.search, *attempts]
        return board_effects(runs, len(self.spec.boards), self.spec.objective)

    def good_runs(self, attempts: Sequence[Evaluation]) -> Runs:
        """Return the good runs of a stage's attempts, adjusted to the mean of all boards."""
        effects_of_boards = (
            self.boards
            if attempts in (self.search, self.confirmation)
            else self._boards_by(attempts)
        )
        effects = [board_effect.effect for board_effect in effects_of_boards]
        return good_runs(attempts, self.spec.objective, effects, weights_of(self.spec))

    @cached_property
    def effects(self) -> Effects:
        """The main effects over all scenarios, by the search's runs."""
        return main_effects(self.runs, self.space)

    @cached_property
    def confirmed(self) -> ProvenGenes:
        """The winner with only the genes that matter, as far as it was confirmed."""
        return self.settled.confirmed

    @cached_property
    def settled(self) -> Settled:
        """The winner, by the confirmation's runs so far."""
        return self.settled_by(self.confirmation)

    def settled_by(self, attempts: Sequence[Evaluation]) -> Settled:
        """Return the winner by these attempts of a confirmation."""
        runs_left = None if self.allowance is None else max(self.allowance - len(attempts), 0)
        return settle(
            self.spec,
            self.space,
            self.effects,
            self._candidates,
            self.good_runs(attempts),
            attempts,
            self.predicted,
            runs_left,
        )

    @cached_property
    def rows(self) -> list[tuple[str, Chromosome]]:
        """The chromosomes to compare, with their names: the default first, the answer last."""
        rows: list[tuple[str, Chromosome]] = [("default", self.space.default())]
        if self.predicted is not None:
            rows.append(("predicted window alone", self.predicted))
        if self.confirmed.answer == "tuned":
            name = "tuned" if self.predicted is None else "window + genes"
            rows.append((name, self.confirmed.chromosome))
        return rows

    @cached_property
    def losses(self) -> list[str]:
        """The data that a power cut may lose in addition with the confirmed chromosome."""
        return [loss.sentence for loss in losses_of(self.space, self.confirmed.chromosome)]

    def values(self, costs: Sequence[float]) -> list[float]:
        """Return costs in the objective's own unit."""
        return [cost_of(cost, self.spec.objective) for cost in costs]


def good_runs(
    evaluations: Sequence[Evaluation],
    objective: Objective,
    effects: Sequence[float] = (),
    weights: Mapping[str, float] | None = None,
) -> Runs:
    """Return the good runs with their costs, less the ``effects`` of their boards (logs).

    ``weights``: of scenarios; 1 by default.
    """
    return Runs(
        [
            Run(
                evaluation.chromosome,
                evaluation.scenario,
                cost_of(evaluation.attempt.value, objective)
                * math.exp(-effects[evaluation.board] if effects else 0.0),
            )
            for evaluation in evaluations
            if evaluation.attempt.status == "ok" and evaluation.attempt.value is not None
        ],
        weights or {},
    )


def cost_of(value: float, objective: Objective) -> float:
    """Return the cost of a value: seconds, or the inverse of a rate; and the value of a cost."""
    return value if objective == "seconds" else 1 / value
