"""The result of a campaign as JSON, for ``foreread tune --json`` and reports."""

from __future__ import annotations

import math
from collections import Counter
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.campaign.feasibility import Name
from foreread.analyzer.tuner.engines.earlier import Earlier
from foreread.analyzer.tuner.findings.compare import Change
from foreread.analyzer.tuner.findings.confirm import Answer
from foreread.analyzer.tuner.findings.constraints import Checked, checked
from foreread.analyzer.tuner.findings.contest import Contest
from foreread.analyzer.tuner.findings.effects import GeneEffect, Verdict
from foreread.analyzer.tuner.findings.trades import trades
from foreread.analyzer.tuner.space.genes import Allele
from foreread.analyzer.tuner.store.records import Objective, Stage
from foreread.boards.base.document import Document, says

Part = Annotated[float | None, says("part of the cost: -0.12 saves 12 %; null if unknown")]
Settings = dict[str, Allele]
MOST_OF_FRONT = 100


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the cost, with its interval."""

    effect: Part
    low: Part
    high: Part


class GeneGain(Effect, frozen=True, kw_only=True):
    """A gene that differs from the default, and its effect."""

    gene: str
    value: Allele
    default: Allele
    proof: Annotated[
        Literal["alone", "together"],
        says("alone: the start takes longer without it; together: without all of these genes"),
    ]


class ScenarioResult(Effect, frozen=True, kw_only=True):
    """The confirming runs of one scenario, in the objective's unit."""

    scenario: str
    default: Annotated[list[float], says("runs with the default settings")]
    tuned: Annotated[list[float], says("runs with the tuned settings")]
    predicted: Annotated[
        list[float] | UnsetType, says("runs with the predicted window alone, if there is one")
    ] = UNSET
    predicted_change: Annotated[
        Effect | UnsetType, says("the predicted window alone against the default")
    ] = UNSET


class LevelResult(Effect, frozen=True, kw_only=True):
    """One level of a gene against the gene's default."""

    alleles: list[Allele]
    chromosomes: Annotated[int, says("number of chromosomes that had the level")]


class GeneResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a gene matters, by the search's runs."""

    gene: str
    default: list[Allele]
    verdict: Verdict
    inseparable_from: list[str]
    levels: list[LevelResult]


class RefusedResult(Effect, frozen=True, kw_only=True):
    """A chromosome that violates a constraint, with its change of the cost against the default."""

    chromosome: Settings
    stage: Annotated[Stage, says("the runs that show it")]
    scenario: str
    value: Annotated[float, says("median of its runs")]
    default: Annotated[float, says("median of the default's runs")]
    limit: Annotated[float, says("the largest value that is allowed")]
    runs: int


class ConstraintResult(msgspec.Struct, frozen=True, kw_only=True):
    """A constraint: its limit, its refusals, and the scenarios where it was not checked."""

    constraint: Annotated[Name, says("the word for --allow")]
    counter: Annotated[str, says("as evaluations store it")]
    quantity: Annotated[str, says("what the counter counts, over a start")]
    most: Annotated[
        float | None, says("allowed excess in parts of the default's median; null: no limit")
    ]
    floor: Annotated[float, says("an excess up to this never counts")]
    unchecked: Annotated[dict[str, str], says("why it was not checked, by scenario")]
    refused: Annotated[list[RefusedResult], says("fastest first, those of the confirmation before")]
    default: Annotated[dict[str, float], says("median of the default by scenario")]
    tuned: Annotated[dict[str, float], says("median of chromosome by scenario")]


class AimResult(msgspec.Struct, frozen=True, kw_only=True):
    """The medians of a chromosome's runs in one scenario, in the search."""

    scenario: str
    value: Annotated[float, says("in the objective's unit")]
    counters: Annotated[
        dict[str, float], says("by the word of its constraint, where all chromosomes have it")
    ]


class FrontResult(msgspec.Struct, frozen=True, kw_only=True):
    """A chromosome that no other beats in time and counters of all scenarios."""

    chromosome: Settings
    aims: list[AimResult]


class BoardResult(Effect, frozen=True, kw_only=True):
    """A board of a fleet: its runs, and its cost relative to the mean of all boards."""

    board: str
    runs: Annotated[int, says("good runs, of search and confirmation")]
    lost: Annotated[int, says("runs that were lost with the board, or withdrawn")]


class EarlierResult(msgspec.Struct, frozen=True, kw_only=True):
    """The earlier campaign that the search began from."""

    board: str
    runs: Annotated[int, says("runs of its search")]
    chromosomes: Annotated[int, says("its chromosomes that the model knows")]


class TuningDocument(Document, frozen=True, kw_only=True):
    """The outcome of a campaign; changes and effects are shares of the cost, -0.12 saves 12 %.

    Where scenarios take turns, ``turns`` has an outcome for each in place of the fields after it.
    """

    command: list[str]
    board: str
    kernel: str
    recipe: str
    seed: int
    objective: Annotated[Objective, says("seconds, or a rate: more is better")]
    ended: Annotated[str | None, says("why the search ended; null: it did not")]
    runs: Annotated[int, says("runs of the search")]
    runs_of_confirmation: int
    earlier: EarlierResult | UnsetType = UNSET
    boards: Annotated[
        list[BoardResult] | UnsetType, says("the boards of a campaign that several made")
    ] = UNSET
    turns: list[TuningDocument] | UnsetType = UNSET
    confirmed: Annotated[bool | UnsetType, says("false: confirming runs are missing")] = UNSET
    default: Settings | UnsetType = UNSET
    winner: Annotated[Settings | UnsetType, says("best settings of the search")] = UNSET
    chromosome: Annotated[
        Settings | UnsetType, says("the winner with only the genes that matter")
    ] = UNSET
    answer: Annotated[
        Answer | UnsetType,
        says("what to set: the tuned genes, the predicted window alone, or nothing"),
    ] = UNSET
    predicted: Annotated[
        Settings | UnsetType, says("the default settings with the predicted window")
    ] = UNSET
    genes: list[GeneGain] | UnsetType = UNSET
    together: Annotated[
        Effect | UnsetType, says("what the genes change that are proven only together")
    ] = UNSET
    over_default: Effect | UnsetType = UNSET
    over_winner: Effect | UnsetType = UNSET
    over_predicted: Effect | UnsetType = UNSET
    predicted_over_default: Effect | UnsetType = UNSET
    scenarios: list[ScenarioResult] | UnsetType = UNSET
    effects: list[GeneResult] | UnsetType = UNSET
    noise: Annotated[
        float | UnsetType | None, says("standard deviation of a run relative to its cost")
    ] = UNSET
    left_out: Annotated[dict[str, str] | UnsetType, says("genes that were not tuned, and why")] = (
        UNSET
    )
    limited: Annotated[
        dict[str, str] | UnsetType, says("genes that were tuned without some values, and why")
    ] = UNSET
    losses: Annotated[
        list[str] | UnsetType, says("what a power cut may lose more with chromosome")
    ] = UNSET
    constraints: list[ConstraintResult] | UnsetType = UNSET
    weights: Annotated[
        dict[str, float] | UnsetType, says("weight of each scenario in the result")
    ] = UNSET
    front: Annotated[
        list[FrontResult] | UnsetType,
        says(f"what none beats in all aims, best by weights first; {MOST_OF_FRONT} at most"),
    ] = UNSET


def document(results: Contest) -> TuningDocument:
    """Return the outcome; an outcome for each scenario where scenarios take turns."""
    outcomes = [
        TuningDocument(**_campaign(contest), **_outcome(contest)) for contest in results.contests
    ]
    if results.takes_turns:
        return TuningDocument(**_campaign(results), turns=outcomes)
    return outcomes[0]


def _campaign(results: Contest) -> dict[str, Any]:
    spec = results.spec
    return {
        "command": list(spec.command),
        "board": spec.board.name,
        "kernel": spec.board.kernel,
        "recipe": spec.sampler,
        "seed": spec.seed,
        "objective": spec.objective,
        "ended": results.ended,
        "runs": len(results.search),
        "runs_of_confirmation": len(results.confirmation),
        "earlier": _earlier(CampaignSetup.of(spec).earlier),
        "boards": boards_of(results) or UNSET,
    }


def boards_of(results: Contest) -> list[BoardResult]:
    """Return the boards of a fleet; empty where one board made all runs."""
    if not results.spec.others:
        return []
    good = [
        evaluation
        for evaluation in (*results.search, *results.confirmation)
        if evaluation.attempt.status == "ok"
    ]
    runs, lost = (Counter(run.board for run in some) for some in (good, results.lost))
    return [
        BoardResult(
            board=board.name,
            runs=runs[place],
            lost=lost[place],
            effect=math.expm1(board_effect.effect),
            low=None if board_effect.low is None else math.expm1(board_effect.low),
            high=None if board_effect.high is None else math.expm1(board_effect.high),
        )
        for place, (board, board_effect) in enumerate(
            zip(results.spec.boards, results.boards, strict=True)
        )
    ]


def _earlier(earlier: Earlier | None) -> EarlierResult | UnsetType:
    if earlier is None:
        return UNSET
    return EarlierResult(
        board=earlier.board, runs=earlier.attempts, chromosomes=len(earlier.measured)
    )


def _outcome(results: Contest) -> dict[str, Any]:
    confirmed, spec = results.confirmed, results.spec
    return {
        "confirmed": not confirmed.to_run,
        "default": dict(results.space.default()),
        "winner": dict(results.winner),
        "chromosome": dict(confirmed.chromosome),
        "genes": [
            GeneGain(
                gene=g.gene,
                value=g.allele,
                default=g.default,
                proof="alone" if g.alone else "together",
                **_change(g.change),
            )
            for g in confirmed.gains
        ],
        "answer": confirmed.answer,
        "predicted": UNSET if results.predicted is None else dict(results.predicted),
        "together": UNSET if confirmed.together is None else Effect(**_change(confirmed.together)),
        "over_default": Effect(**_change(confirmed.over_default)),
        "over_winner": Effect(**_change(confirmed.over_winner)),
        **_over_predicted(results),
        "scenarios": [_scenario(results, scenario) for scenario in spec.scenarios],
        "effects": [_effect(effect) for effect in results.effects.genes],
        "noise": results.effects.noise,
        "left_out": results.left_out,
        "limited": dict(results.space.limited),
        "losses": results.losses,
        "constraints": [_constraint(constraint) for constraint in checked(results)],
        "weights": dict(results.standings.weights),
        "front": _front(results),
    }


def _front(results: Contest) -> list[FrontResult]:
    trade_front = trades(results)
    return [
        FrontResult(
            chromosome=dict(trade.chromosome),
            aims=[
                AimResult(
                    scenario=scenario,
                    value=results.values([values[None]])[0],
                    counters={name: value for name, value in values.items() if name is not None},
                )
                for scenario in results.spec.scenarios
                for values in [trade_front.of(trade, scenario)]
            ],
        )
        for trade in trade_front.front[:MOST_OF_FRONT]
    ]


def _change(change: Change | None) -> dict[str, float | None]:
    if change is None:
        return {"effect": None, "low": None, "high": None}
    return {"effect": change.effect, "low": change.low, "high": change.high}


def _over_predicted(results: Contest) -> dict[str, Effect]:
    """Return the comparisons with the predicted window; empty without one."""
    if results.predicted is None:
        return {}
    confirmed = results.confirmed
    return {
        "over_predicted": Effect(**_change(confirmed.over_predicted)),
        "predicted_over_default": Effect(**_change(confirmed.predicted)),
    }


def _scenario(results: Contest, scenario: str) -> ScenarioResult:
    default, foreseen = results.space.default(), results.predicted
    chromosome, runs = results.confirmed.chromosome, results.confirming
    predicted: list[float] | UnsetType = UNSET
    predicted_change: Effect | UnsetType = UNSET
    if foreseen is not None:
        predicted = results.values(runs.costs(foreseen, scenario))
        predicted_change = Effect(**_change(runs.change(foreseen, default, scenario)))
    tuned = Effect(**_change(runs.change(chromosome, default, scenario)))
    return ScenarioResult(
        scenario=scenario,
        default=results.values(runs.costs(default, scenario)),
        tuned=results.values(runs.costs(chromosome, scenario)),
        predicted=predicted,
        predicted_change=predicted_change,
        effect=tuned.effect,
        low=tuned.low,
        high=tuned.high,
    )


def _constraint(checked_constraint: Checked) -> ConstraintResult:
    return ConstraintResult(
        constraint=checked_constraint.constraint.name,
        counter=checked_constraint.constraint.counter,
        quantity=checked_constraint.constraint.quantity,
        most=checked_constraint.most,
        floor=checked_constraint.constraint.floor,
        unchecked=dict(checked_constraint.unchecked),
        refused=[
            RefusedResult(
                chromosome=dict(refused.chromosome),
                stage=refused.stage,
                scenario=refused.figures.scenario,
                value=refused.figures.value,
                default=refused.figures.default,
                limit=refused.figures.limit,
                runs=refused.figures.runs,
                **_change(refused.change),
            )
            for refused in checked_constraint.refused
        ],
        default=dict(checked_constraint.default),
        tuned=dict(checked_constraint.tuned),
    )


def _effect(effect: GeneEffect) -> GeneResult:
    return GeneResult(
        gene=effect.gene,
        default=list(effect.default.alleles),
        verdict=effect.verdict,
        inseparable_from=list(effect.inseparable_from),
        levels=[
            LevelResult(
                alleles=list(level.level.alleles),
                effect=level.effect,
                low=level.low,
                high=level.high,
                chromosomes=level.chromosomes,
            )
            for level in effect.levels
        ],
    )
