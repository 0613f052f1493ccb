"""The chromosomes that a campaign's constraints refused, and constraints that were not checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foreread.analyzer.tuner.campaign.feasibility import (
    CONSTRAINTS,
    Comparison,
    Constraint,
    Feasibility,
    limits_of,
)
from foreread.analyzer.tuner.evaluation import chromosome_of, key_of
from foreread.analyzer.tuner.findings.candidates import good_attempts
from foreread.analyzer.tuner.findings.compare import Change
from foreread.analyzer.tuner.findings.contest import Contest
from foreread.analyzer.tuner.space.genes import Chromosome
from foreread.analyzer.tuner.store.records import Stage
from foreread.boards.base.counted import plural
from foreread.boards.base.note import Note, NoteKind
from foreread.boards.base.units import percent_text


@dataclass(frozen=True)
class Refused:
    """A chromosome that violates a constraint, and how its cost differs from the default's."""

    chromosome: Chromosome
    figures: Comparison
    change: Change | None
    stage: Stage


@dataclass(frozen=True)
class Checked:
    """A constraint in a campaign.

    ``most``: the allowed excess as a share of the default's figure, None without a limit.
    ``unchecked``: why it was not checked, by scenario. ``default`` and ``tuned``: medians by
    scenario.
    """

    constraint: Constraint
    most: float | None
    unchecked: Mapping[str, str]
    refused: tuple[Refused, ...]
    default: Mapping[str, float]
    tuned: Mapping[str, float]


def checked(results: Contest) -> list[Checked]:
    """Return every constraint with the chromosomes that it refused."""
    limits, feasibility = limits_of(results.spec), results.standings.feasibility
    shares = {"wear": limits.wear, "memory": limits.memory} if limits else {}
    refused, figures = _refused(results), _tuned(results)
    return [
        Checked(
            constraint,
            shares.get(constraint.name),
            feasibility.unchecked(constraint),
            tuple(refusal for refusal in refused if refusal.figures.constraint == constraint),
            {
                comparison.scenario: comparison.default
                for comparison in figures
                if comparison.constraint == constraint
            },
            {
                comparison.scenario: comparison.value
                for comparison in figures
                if comparison.constraint == constraint
            },
        )
        for constraint in CONSTRAINTS
    ]


def _refused(results: Contest) -> list[Refused]:
    """Return the refused chromosomes, each with the first limit that it exceeds; fastest first."""
    default, standings = results.space.default(), results.standings
    by_key = {key: standings.violations(key) for key in standings.chromosomes()}
    by_search = [
        Refused(chromosome, violations[0], results.runs.change(chromosome, default), "search")
        for key, violations in by_key.items()
        if violations
        for chromosome in [chromosome_of(key)]
    ]
    by_search.sort(key=lambda refusal: refusal.change.effect if refusal.change else 0.0)
    confirmed = [
        Refused(chromosome, figures, results.confirming.change(chromosome, default), "confirmation")
        for chromosome, figures in results.settled.refused
    ]
    return confirmed + by_search


def _tuned(results: Contest) -> list[Comparison]:
    """Return the figures of the confirmed chromosome, by its own runs if there are any."""
    confirming = Feasibility(results.spec, good_attempts(results.confirmation))
    key = key_of(results.confirmed.chromosome)
    return confirming.comparisons(key) or results.standings.feasibility.comparisons(key)


def sentences(outcome: Checked) -> list[Note]:
    """Return a constraint in words: refusals and unchecked scenarios may change the answer."""
    name, quantity = outcome.constraint.name, outcome.constraint.quantity
    by_reason: dict[str, list[str]] = {}
    for scenario, why in outcome.unchecked.items():
        by_reason.setdefault(why, []).append(scenario)
    notes = [
        Note(f"{name}: not checked in {', '.join(some)}: {why}", NoteKind.ANSWER)
        for why, some in by_reason.items()
    ]
    if outcome.most is None or (outcome.unchecked and not outcome.default and not outcome.refused):
        return notes
    if outcome.refused:
        notes.append(Note(_refusal(outcome), NoteKind.ANSWER))
    figures = "; ".join(
        f"{scenario}: {number(outcome.default[scenario])} with the default, {number(tuned)} tuned"
        for scenario, tuned in outcome.tuned.items()
    )
    if not outcome.refused:
        notes.append(Note(f"{name}: no chromosome was refused", NoteKind.DETAIL))
    more = any(tuned > outcome.default[scenario] for scenario, tuned in outcome.tuned.items())
    if figures and (outcome.refused or more):
        kind = NoteKind.ANSWER if more else NoteKind.DETAIL
        notes.append(Note(f"{name}: {quantity} in {figures}", kind))
    return notes


def _refusal(outcome: Checked) -> str:
    first = outcome.refused[0]
    figures = first.figures
    change = (
        "" if first.change is None else f" (time {percent_text(first.change.effect, signed=True)})"
    )
    return (
        f"{outcome.constraint.name}: refused {plural(len(outcome.refused), 'chromosome')}, "
        f"with more than {100 * (outcome.most or 0):g} % more {outcome.constraint.quantity} "
        f"than the default. The fastest of them{change} has {number(figures.value)} in "
        f"{figures.scenario}, the default has {number(figures.default)}. "
        f"To allow it: --allow {outcome.constraint.name}"
    )


def number(value: float) -> str:
    """Return a figure of a constraint."""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
