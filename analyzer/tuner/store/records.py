"""The records of a store: the campaign's spec, its evaluations, and top genes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from foreread.analyzer.tuner.evaluation import Attempt
from foreread.analyzer.tuner.space.genes import Chromosome
from foreread.boards.base.brief import brief

Objective = Literal["seconds", "rate"]
Stage = Literal["search", "confirmation"]
Ended = Literal["finished", "nothing new", "noise", "evaluations", "seconds"]


@dataclass(frozen=True)
class BoardDisk:
    """A tuned disk, as a boot script identifies it; 0 and empty mean unknown."""

    name: str
    size_bytes: int = 0
    model: str = ""


@dataclass(frozen=True, repr=False)
class Hardware:
    """The identity of a board: ``machine`` as in uname, ``model`` of CPU or board."""

    __repr__ = brief

    machine: str = ""
    model: str = ""
    disks: tuple[BoardDisk, ...] = ()


@dataclass(frozen=True, repr=False)
class Board:
    """The setup of evaluations; evaluations of different setups are not compared."""

    __repr__ = brief

    name: str
    kernel: str = ""
    page_bytes: int = 4096
    disks: tuple[str, ...] = ()
    hardware: Hardware = Hardware()


@dataclass(frozen=True, repr=False, kw_only=True)
class Spec:
    """A campaign; its course depends on this and on the measurements.

    ``others``: further boards of the campaign, each like ``board``. ``recipe`` and ``space`` are
    kept as text, to make the engine again. ``fewest`` and ``most`` are the repeats of a chromosome
    in each scenario (racing.py).
    """

    __repr__ = brief

    board: Board
    scenarios: tuple[str, ...]
    default: Chromosome
    sampler: str = "genetic"
    recipe: str = ""
    space: str = ""
    seed: int = 0
    command: tuple[str, ...] = ()
    objective: Objective = "seconds"
    fewest: int = 1
    most: int = 5
    foreread: str = ""
    others: tuple[Board, ...] = ()

    @property
    def boards(self) -> tuple[Board, ...]:
        """All boards."""
        return (self.board, *self.others)


@dataclass(frozen=True, repr=False)
class Evaluation:
    """One stored attempt.

    ``number`` counts all attempts from 1, ``repeat`` the attempts of this chromosome in this
    scenario from 0; ``started`` and ``ended`` are seconds since 1970; ``board`` is the place in
    Spec.boards.
    """

    __repr__ = brief

    number: int
    chromosome: Chromosome
    scenario: str
    repeat: int
    seed: int
    attempt: Attempt
    started: float
    ended: float
    board: int = 0


@dataclass(frozen=True)
class TopGenes:
    """The best genes for a fingerprint's workloads so far; their fitness decays."""

    chromosome: Chromosome
    fitness: float
