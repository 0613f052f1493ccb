"""The results of a campaign or of one of its contests.

Everything that a report or a boot script uses of a TUNING file; results.py adds its document.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from analyzer.tuner.campaign.campaign_setup import CampaignSetup
from analyzer.tuner.campaign.left_out import left_out
from analyzer.tuner.campaign.standings import Standings
from analyzer.tuner.campaign.turns import contested, turn_of
from analyzer.tuner.campaign.weights import weights_of
from analyzer.tuner.evaluation import chromosome_of
from analyzer.tuner.findings.board_effects import BoardEffect, board_effects
from analyzer.tuner.findings.candidates import Settled, candidates, settle
from analyzer.tuner.findings.compare import Run, Runs
from analyzer.tuner.findings.confirm import ProvenGenes
from analyzer.tuner.findings.effects import Effects, main_effects
from analyzer.tuner.space.genes import Chromosome, Space
from analyzer.tuner.space.losses import losses_of
from analyzer.tuner.store.records import Evaluation, Objective, Spec
from analyzer.tuner.store.store import Store, StoreError
from boards.base.brief import brief


@dataclass(frozen=True, repr=False)
class Contest:
    """A stored campaign, or the part of it in which scenarios that take turns were searched.

    ``search``: the attempts of the search, ``confirmation``: those made of its winner afterwards;
    ``generations``: the results given to the engine, fitness with each chromosome; ``believed``:
    the best by the engine's estimate, None if it is the measured best; ``lost``: attempts that
    count for nothing, since their board was lost in them, or the target failed. ``allowance``: the
    number of runs that the confirmation may have, None without a limit.
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
            "run": (one.chromosome for one in (*self.search, *self.confirmation)),
            "generation": (one for scored in self.generations for one, _ in scored),
            "best": (chromosome_of(self.believed),) if self.believed else (),
        }
        sound: set[int] = set()  # a store makes one object of equal chromosomes
        for kind, chromosomes in kinds.items():
            for one in chromosomes:
                if id(one) not in sound and (wrong := self.space.lacking(one)):
                    raise StoreError(
                        f"{name} is damaged: in the chromosome of a {kind}, {wrong}",
                        "restore a copy of it, or start a new campaign",
                    )
                sound.add(id(one))

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
            search=[one for one in self.search if one.scenario == scenarios[number]],
            confirmation=[one for one in self.confirmation if one.scenario == scenarios[number]],
            generations=[
                scored
                for generation, scored in enumerate(self.generations)
                if turn_of(generation, turns, len(scenarios)) == number
            ],
            allowance=share,
        )

    @cached_property
    def space(self) -> Space:
        """The genes that were tuned; GeneError if the store's do not make sense."""
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
        for one in self.search:
            standings.add(one)
        return standings

    @cached_property
    def winner(self) -> Chromosome:
        """The best chromosome of the search that the confirmation did not refuse; the default where
        none is better.
        """
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

    def _boards_by(self, made: Sequence[Evaluation]) -> list[BoardEffect]:
        runs = [*self.search, *made]
        return board_effects(runs, len(self.spec.boards), self.spec.objective)

    def good_runs(self, made: Sequence[Evaluation]) -> Runs:
        """Return the good ones of a stage's attempts, as the mean of all boards would make them."""
        found = self.boards if made in (self.search, self.confirmation) else self._boards_by(made)
        effects = [one.effect for one in found]
        return good_runs(made, self.spec.objective, effects, weights_of(self.spec))

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

    def settled_by(self, made: Sequence[Evaluation]) -> Settled:
        """Return the winner by these attempts of a confirmation."""
        left = None if self.allowance is None else max(self.allowance - len(made), 0)
        return settle(
            self.spec,
            self.space,
            self.effects,
            self._candidates,
            self.good_runs(made),
            made,
            self.predicted,
            left,
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
        """What a power cut may lose with the confirmed chromosome more than with the default."""
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

    ``weights``: of scenarios; 1 where none is given.
    """
    return Runs(
        [
            Run(
                one.chromosome,
                one.scenario,
                cost_of(one.attempt.value, objective)
                * math.exp(-effects[one.board] if effects else 0.0),
            )
            for one in evaluations
            if one.attempt.status == "ok" and one.attempt.value is not None
        ],
        weights or {},
    )


def cost_of(value: float, objective: Objective) -> float:
    """Return the cost of a value: seconds, or one over a rate; and the value of a cost."""
    return value if objective == "seconds" else 1 / value
