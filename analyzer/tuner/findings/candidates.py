"""The winner of a search whose confirmed genes violate no constraint.

A search judges constraints (feasibility.py) by few runs of each chromosome, the confirmation by
more, which do not select it. If they refuse the winner's genes, the next chromosome of the ranking
is confirmed instead, CANDIDATES at most; if they refuse all of them, the default stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from foreread.analyzer.tuner.campaign.feasibility import Comparison, Feasibility
from foreread.analyzer.tuner.campaign.standings import Standings
from foreread.analyzer.tuner.evaluation import Attempt, chromosome_of, key_of
from foreread.analyzer.tuner.findings.compare import Runs
from foreread.analyzer.tuner.findings.confirm import ProvenGenes, confirm
from foreread.analyzer.tuner.findings.effects import Effects
from foreread.analyzer.tuner.space.genes import Chromosome, Space
from foreread.analyzer.tuner.store.records import Evaluation, Spec

CANDIDATES = 3


@dataclass(frozen=True)
class Settled:
    """The winner with its confirmed part; ``refused``: the refused parts of others."""

    winner: Chromosome
    confirmed: ProvenGenes
    refused: tuple[tuple[Chromosome, Comparison], ...] = ()


def candidates(standings: Standings, believed: str | None) -> list[Chromosome]:
    """Return the chromosomes to confirm, best first: a few that are better than the default.

    ``believed``: the best by the engine's estimate, if it makes one.
    """
    ranked = list(standings.ranking())
    if standings.default in ranked:
        ranked = ranked[: ranked.index(standings.default)]
    if believed and not standings.violations(believed):
        ranked = [believed, *(key for key in ranked if key != believed)]
    return [chromosome_of(key) for key in ranked[:CANDIDATES]]


def settle(
    spec: Spec,
    space: Space,
    effects: Effects,
    ranked: Sequence[Chromosome],
    runs: Runs,
    attempts: Sequence[Evaluation],
    predicted: Chromosome | None = None,
    runs_left: int | None = None,
) -> Settled:
    """Return the first of ``ranked`` with confirmed genes that violate no constraint.

    ``runs`` are the good ones of the confirmation, ``attempts`` its attempts; ``predicted`` and
    ``runs_left`` as in confirm.py. A second call with the requested runs continues.
    """
    feasibility = Feasibility(spec, good_attempts(attempts))
    refused: list[tuple[Chromosome, Comparison]] = []
    for winner in [*ranked, space.default()]:
        confirmed = confirm(space, effects, winner, runs, spec.scenarios, predicted, runs_left)
        if confirmed.to_run:
            break
        violations = feasibility.violations(key_of(confirmed.chromosome))
        if not violations:
            break
        refused.append((confirmed.chromosome, violations[0]))
    return Settled(winner, confirmed, tuple(refused))


def good_attempts(attempts: Sequence[Evaluation]) -> Callable[[str, str], list[Attempt]]:
    """Return a look-up of good attempts by a chromosome's key and a scenario."""
    by_key: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in attempts:
        if attempt.attempt.status == "ok":
            by_key.setdefault((key_of(attempt.chromosome), attempt.scenario), []).append(
                attempt.attempt
            )
    return lambda key, scenario: by_key.get((key, scenario), [])
