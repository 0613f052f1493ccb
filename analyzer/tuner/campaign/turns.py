"""Scenarios in turn: one is in force for some generations, then the next one.

So the workload changes during a search, as in Moilanen, *I/O Workload Fingerprinting in the
Genetic-Library* (Linux Symposium 2006), section 6. A chromosome's standing then refers to one
scenario: its runs there, against the default's there. Otherwise every chromosome is measured in all
scenarios, which are one contest.
"""

from __future__ import annotations

from dataclasses import replace

from analyzer.tuner.campaign.standings import Standings
from analyzer.tuner.engines.stopping import Stage
from analyzer.tuner.store.records import Spec


class Contest:
    """Runs that are compared with each other: those in the scenarios of ``spec``.

    ``believed``: the best chromosome by the engine's own estimate, if it makes one and has results.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.standings = Standings(spec)
        self.stages: list[Stage] = []  # after each generation of it
        self.believed: str | None = None

    @property
    def best(self) -> str:
        """The best chromosome by the measurements, or by the engine's estimate from them."""
        return self.believed or self.standings.best()


class Turns:
    """The contests of a campaign; each is in force for ``generations``, if that is not 0."""

    def __init__(self, spec: Spec, generations: int = 0) -> None:
        self.contests = [Contest(one) for one in contested(spec, generations)]
        self._generations = max(generations, 1)

    def in_force(self, generation: int) -> Contest:
        """Return whose turn it is in the generation with that number, from 0."""
        return self.contests[turn_of(generation, self._generations, len(self.contests))]

    @property
    def attempts(self) -> int:
        """Number of attempts made."""
        return sum(one.standings.attempts for one in self.contests)

    @property
    def seconds(self) -> float:
        """Seconds spent in them."""
        return sum(one.standings.seconds for one in self.contests)


def turn_of(generation: int, generations: int, contests: int) -> int:
    """Return the contest in force, if each lasts so many generations."""
    return generation // generations % contests


def contested(spec: Spec, generations: int) -> list[Spec]:
    """Return a spec for each scenario where they take turns, else the one for all."""
    if not generations:
        return [spec]
    return [replace(spec, scenarios=(scenario,)) for scenario in spec.scenarios]
