"""Scenarios in turn: one scenario applies for some generations, then the next.

So the workload changes during a search, as in Moilanen, *I/O Workload Fingerprinting in the
Genetic-Library* (Linux Symposium 2006), section 6. A chromosome's standing then refers to one
scenario: its runs there, against the default's there. Otherwise every chromosome is measured in all
scenarios, which are one contest.
"""

from __future__ import annotations

from dataclasses import replace

from foreread.analyzer.tuner.campaign.standings import Standings
from foreread.analyzer.tuner.engines.stopping import Stage
from foreread.analyzer.tuner.store.records import Spec


class Contest:
    """Runs that are compared with each other: the runs in the scenarios of ``spec``.

    ``believed``: the best chromosome by the engine's own estimate, if it makes one and has results.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.standings = Standings(spec)
        self.stages: list[Stage] = []  # after each of its generations
        self.believed: str | None = None

    @property
    def best(self) -> str:
        """The best chromosome by the measurements, or by the engine's estimate from them."""
        return self.believed or self.standings.best()


class Turns:
    """The contests of a campaign; a turn has ``generations``, 0 without turns."""

    def __init__(self, spec: Spec, generations: int = 0) -> None:
        self.contests = [Contest(contested_spec) for contested_spec in contested(spec, generations)]
        self._generations = max(generations, 1)

    def in_force(self, generation: int) -> Contest:
        """Return the contest of a generation, counted from 0."""
        return self.contests[turn_of(generation, self._generations, len(self.contests))]

    @property
    def attempts(self) -> int:
        """Number of attempts made."""
        return sum(contest.standings.attempts for contest in self.contests)

    @property
    def seconds(self) -> float:
        """Seconds spent in attempts."""
        return sum(contest.standings.seconds for contest in self.contests)


def turn_of(generation: int, generations: int, contests: int) -> int:
    """Return the number of the present contest, if each turn has so many generations."""
    return generation // generations % contests


def contested(spec: Spec, generations: int) -> list[Spec]:
    """Return a spec for each scenario where scenarios take turns, else the one for all."""
    if not generations:
        return [spec]
    return [replace(spec, scenarios=(scenario,)) for scenario in spec.scenarios]
