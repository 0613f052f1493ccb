"""The interface of a tuner: it proposes a generation of chromosomes and receives their fitness.

An engine is deterministic in its space, recipe, seed and results. To resume an engine, make it
again and give it the stored results (``replay``): no other state is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from foreread.analyzer.tuner.space.genes import Chromosome


@dataclass(frozen=True)
class Scored:
    """The result of one proposed chromosome.

    ``fitness``: at least 0, larger is better; 0 where it was invalid or failed. ``metrics``: raw
    figures by name (counter deltas, seconds by scenario), for phenotypes. ``gains``: by scenario,
    the log fitness of each good run there; empty if it failed. ``final``: it is not run any more;
    ``spent``: scenarios in which it is not run any more.
    """

    chromosome: Chromosome
    fitness: float
    metrics: Mapping[str, float] = field(default_factory=dict)
    gains: Mapping[str, Sequence[float]] = field(default_factory=dict)
    final: bool = False
    spent: Collection[str] = ()


class Engine(Protocol):
    """A tuner."""

    def ask(self) -> list[Chromosome]:
        """Return the next generation; an empty one when the tuner has finished."""
        ...

    def tell(self, scored: Sequence[Scored]) -> None:
        """Process the results of the last requested generation, in its order."""
        ...


@runtime_checkable
class Believer(Engine, Protocol):
    """A tuner that decides itself which chromosomes to repeat, and which one is best.

    A chromosome that it requests again is run once more. It receives all chromosomes each time,
    since fitness changes with the default's runs.
    """

    def best(self) -> Chromosome:
        """Return the chromosome believed best of those with results."""
        ...

    def gain(self, chromosome: Chromosome) -> float:
        """Return its estimate of a chromosome's log fitness, up to a constant."""
        ...


@dataclass(frozen=True)
class Wanted:
    """A chromosome to run once more, in one scenario; None: in each scenario."""

    chromosome: Chromosome
    scenario: str | None = None


@runtime_checkable
class Informed(Engine, Protocol):
    """A tuner that uses the knowledge available once the default has been run."""

    def inform(
        self, weights: Mapping[str, float], default: Chromosome, absent: Collection[str]
    ) -> None:
        """Process the scenarios' weights, the chromosome that has been run, and ``absent``.

        ``absent``: the mechanisms (space/mechanisms.py) without which genes cannot act. The method
        is called before the first ``ask``, and again when an absent mechanism has occurred.
        """
        ...


@runtime_checkable
class RunByRun(Informed, Believer, Protocol):
    """A believer that decides on every run by itself, and so on its scenario, too."""

    def ask_runs(self, count: int) -> list[Wanted]:
        """Return up to ``count`` runs to make at once, more in the first generation.

        Otherwise as ``ask``. A run may occur twice.
        """
        ...


def run(engine: Engine, score: Callable[[Chromosome], Scored], evaluations: int) -> list[Scored]:
    """Return the evaluations of ``engine``, in order, until it ends or ``evaluations`` were made.

    The generation in progress at the limit is not reported to the engine.
    """
    done: list[Scored] = []
    while len(done) < evaluations and (proposed := engine.ask()):
        scored = [score(chromosome) for chromosome in proposed[: evaluations - len(done)]]
        done.extend(scored)
        if len(scored) == len(proposed):
            engine.tell(scored)
    return done
