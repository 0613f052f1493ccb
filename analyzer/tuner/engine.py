"""The interface of a tuner: it proposes a generation of chromosomes and receives their fitness.

An engine is deterministic in its space, recipe, seed and the results given to it. To resume an
engine, make it again and give it the stored results (``replay``): no other state is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from analyzer.tuner.space.genes import Chromosome


@dataclass(frozen=True)
class Scored:
    """The result of one proposed chromosome.

    ``fitness``: at least 0, larger is better; 0 where it was invalid or failed. ``metrics``: raw
    figures by name (counter deltas, seconds by scenario), for phenotypes. ``gains``: the log
    fitness of each time that it was run in every scenario. ``final``: it is not run any more.
    """

    chromosome: Chromosome
    fitness: float
    metrics: Mapping[str, float] = field(default_factory=dict)
    gains: Sequence[float] = ()
    final: bool = False


class Engine(Protocol):
    """A tuner."""

    def ask(self) -> list[Chromosome]:
        """Return the next generation; an empty one when the tuner has finished."""
        ...

    def tell(self, scored: Sequence[Scored]) -> None:
        """Take the results of the generation asked last, in its order."""
        ...


@runtime_checkable
class Believer(Engine, Protocol):
    """A tuner that decides itself which chromosomes to repeat, and which one is best.

    A chromosome that it requests again is run once more. It receives every chromosome each time,
    since fitness changes with the default's runs.
    """

    def best(self) -> Chromosome:
        """Return the chromosome believed best of those with results."""
        ...


@runtime_checkable
class Several(Believer, Protocol):
    """A believer that proposes several chromosomes to be run at once, on several boards."""

    def ask_several(self, count: int) -> list[Chromosome]:
        """Return up to ``count`` chromosomes, more in the first generation; as ``ask`` otherwise.

        A chromosome may be there twice.
        """
        ...


def run(engine: Engine, score: Callable[[Chromosome], Scored], evaluations: int) -> list[Scored]:
    """Return the evaluations of ``engine``, in order, until it ends or ``evaluations`` were made.

    The generation in progress at the limit is not reported to the engine.
    """
    done: list[Scored] = []
    while len(done) < evaluations and (asked := engine.ask()):
        scored = [score(chromosome) for chromosome in asked[: evaluations - len(done)]]
        done.extend(scored)
        if len(scored) == len(asked):
            engine.tell(scored)
    return done
