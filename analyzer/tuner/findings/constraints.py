"""What a campaign's constraints refused, with the figures, and which of them were not checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analyzer.tuner.campaign.feasibility import (
    CONSTRAINTS,
    Comparison,
    Constraint,
    Feasibility,
    limits_of,
)
from analyzer.tuner.evaluation import chromosome_of, key_of
from analyzer.tuner.findings.candidates import good_attempts
from analyzer.tuner.findings.compare import Change
from analyzer.tuner.findings.contest import Contest
from analyzer.tuner.space.genes import Chromosome
from analyzer.tuner.store.records import Stage
from boards.base.counted import plural
from boards.base.note import Note, NoteKind
from boards.base.units import percent_text


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

    ``most``: the allowed excess in parts of the default's figure, None without a limit.
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
    """Return every constraint with what it refused."""
    limits, feasibility = limits_of(results.spec), results.standings.feasibility
    shares = {"wear": limits.wear, "memory": limits.memory} if limits else {}
    refused, figures = _refused(results), _tuned(results)
    return [
        Checked(
            constraint,
            shares.get(constraint.name),
            feasibility.unchecked(constraint),
            tuple(one for one in refused if one.figures.constraint == constraint),
            {one.scenario: one.default for one in figures if one.constraint == constraint},
            {one.scenario: one.value for one in figures if one.constraint == constraint},
        )
        for constraint in CONSTRAINTS
    ]


def _refused(results: Contest) -> list[Refused]:
    """Return the refused chromosomes, each with the first limit that it exceeds; fastest first."""
    default, standings = results.space.default(), results.standings
    by_key = {key: standings.violations(key) for key in standings.chromosomes()}
    found = [
        Refused(one, violations[0], results.runs.change(one, default), "search")
        for key, violations in by_key.items()
        if violations
        for one in [chromosome_of(key)]
    ]
    found.sort(key=lambda one: one.change.effect if one.change else 0.0)
    confirmed = [
        Refused(one, figures, results.confirming.change(one, default), "confirmation")
        for one, figures in results.settled.refused
    ]
    return confirmed + found


def _tuned(results: Contest) -> list[Comparison]:
    """Return the figures of the confirmed chromosome, by its own runs if there are some."""
    confirming = Feasibility(results.spec, good_attempts(results.confirmation))
    key = key_of(results.confirmed.chromosome)
    return confirming.comparisons(key) or results.standings.feasibility.comparisons(key)


def sentences(one: Checked) -> list[Note]:
    """Return a constraint in words: what it refused or could not check may change the answer."""
    name, quantity = one.constraint.name, one.constraint.quantity
    by_reason: dict[str, list[str]] = {}
    for scenario, why in one.unchecked.items():
        by_reason.setdefault(why, []).append(scenario)
    found = [
        Note(f"{name}: not checked in {', '.join(some)}: {why}", NoteKind.ANSWER)
        for why, some in by_reason.items()
    ]
    if one.most is None or (one.unchecked and not one.default and not one.refused):
        return found
    if one.refused:
        found.append(Note(_refusal(one), NoteKind.ANSWER))
    figures = "; ".join(
        f"{scenario}: {number(one.default[scenario])} with the default, {number(tuned)} tuned"
        for scenario, tuned in one.tuned.items()
    )
    if not one.refused:
        found.append(Note(f"{name}: no chromosome was refused", NoteKind.DETAIL))
    more = any(tuned > one.default[scenario] for scenario, tuned in one.tuned.items())
    if figures and (one.refused or more):
        kind = NoteKind.ANSWER if more else NoteKind.DETAIL
        found.append(Note(f"{name}: {quantity} in {figures}", kind))
    return found


def _refusal(one: Checked) -> str:
    first = one.refused[0]
    figures = first.figures
    change = (
        "" if first.change is None else f" (time {percent_text(first.change.effect, signed=True)})"
    )
    return (
        f"{one.constraint.name}: refused {plural(len(one.refused), 'chromosome')}, with more than "
        f"{100 * (one.most or 0):g} % more {one.constraint.quantity} than the default. The fastest "
        f"of them{change} has {number(figures.value)} in {figures.scenario}, the default has "
        f"{number(figures.default)}. To allow it: --allow {one.constraint.name}"
    )


def number(value: float) -> str:
    """Return a figure of a constraint."""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
