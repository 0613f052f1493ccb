"""The result of a campaign as JSON, for ``foreread tune --json`` and reports."""

from __future__ import annotations

from typing import Any

from analyzer.tuner.findings.compare import Change
from analyzer.tuner.findings.effects import GeneEffect
from analyzer.tuner.findings.results import Results


def document(results: Results) -> dict[str, Any]:
    """Return the outcome, schema 1; changes and effects are parts of the cost, -0.12 saves 12 %.

    Where scenarios take turns there is an outcome for each, in "turns".
    """
    outcomes = [{**_campaign(one), **_outcome(one)} for one in results.contests]
    return {**_campaign(results), "turns": outcomes} if results.takes_turns else outcomes[0]


def _campaign(results: Results) -> dict[str, Any]:
    spec = results.spec
    return {
        "schema": 1,
        "command": list(spec.command),
        "board": spec.board.name,
        "kernel": spec.board.kernel,
        "recipe": spec.sampler,
        "seed": spec.seed,
        "objective": spec.objective,
        "ended": results.ended,
        "runs": len(results.search),
        "runs_of_confirmation": len(results.confirmation),
    }


def _outcome(results: Results) -> dict[str, Any]:
    confirmed, spec = results.confirmed, results.spec
    return {
        "confirmed": not confirmed.to_run,
        "default": dict(results.space.default()),
        "winner": dict(results.winner),
        "chromosome": dict(confirmed.chromosome),
        "genes": [
            {"gene": g.gene, "value": g.allele, "default": g.default, **_change(g.change)}
            for g in confirmed.gains
        ],
        "over_default": _change(confirmed.over_default),
        "over_winner": _change(confirmed.over_winner),
        "scenarios": [_scenario(results, scenario) for scenario in spec.scenarios],
        "effects": [_effect(effect) for effect in results.effects.genes],
        "noise": results.effects.noise,
        "left_out": dict(results.space.left_out),
    }


def _change(change: Change | None) -> dict[str, float | None]:
    if change is None:
        return {"effect": None, "low": None, "high": None}
    return {"effect": change.effect, "low": change.low, "high": change.high}


def _scenario(results: Results, scenario: str) -> dict[str, Any]:
    default, chromosome = results.space.default(), results.confirmed.chromosome
    runs = results.confirming
    return {
        "scenario": scenario,
        "default": results.values(runs.costs(default, scenario)),
        "tuned": results.values(runs.costs(chromosome, scenario)),
        **_change(runs.change(chromosome, default, scenario)),
    }


def _effect(effect: GeneEffect) -> dict[str, Any]:
    return {
        "gene": effect.gene,
        "default": list(effect.default.alleles),
        "verdict": effect.verdict,
        "inseparable_from": list(effect.inseparable_from),
        "levels": [
            {
                "alleles": list(one.level.alleles),
                "effect": one.effect,
                "low": one.low,
                "high": one.high,
                "chromosomes": one.chromosomes,
            }
            for one in effect.levels
        ],
    }
