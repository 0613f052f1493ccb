"""An evaluation: one attempt of a chromosome in a scenario, with its outcome.

Evaluators make them (on a machine, on a target, from a measured table); campaigns request them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args, runtime_checkable

import msgspec

from foreread.analyzer.tuner.space.genes import Allele, Chromosome
from foreread.boards.base.brief import brief

Status = Literal["ok", "warm", "contended", "failed", "hung", "refused", "invalid"]
STATUSES: tuple[Status, ...] = get_args(Status)
FINAL: frozenset[Status] = frozenset({"refused", "invalid"})  # another attempt gives the same
BLAMING: frozenset[Status] = FINAL | {"failed", "hung"}  # the others are accidents of the machine
LARGEST = 1e15  # limit of any figure, positive or negative; 1 / LARGEST is the least value


@dataclass(frozen=True, repr=False)
class Attempt:
    """The result of one evaluation.

    ``value`` is the objective in its own unit (seconds, or a rate): positive where ``status`` is
    ``ok``. ``metrics`` are raw figures by name. ValueError for invalid figures.
    """

    __repr__ = brief

    status: Status
    value: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for values that cannot be stored or compared: infinite or missing."""
        if self.status not in STATUSES:
            raise ValueError(f"{self.status!r} is not a status of an evaluation")
        if self.value is None and self.status == "ok":
            raise ValueError("a good evaluation has a value")
        if self.value is not None and not 1 / LARGEST <= self.value <= LARGEST:
            raise ValueError(f"{self.value} is not a value of an evaluation")
        if not all(math.isfinite(x) and abs(x) <= LARGEST for x in self.metrics.values()):
            raise ValueError("an evaluation's metrics are finite numbers")


class TargetGone(RuntimeError):
    """Raised by an evaluator with a target that hung, rebooted or became unreachable."""


class Evaluator(Protocol):
    """Tries chromosomes."""

    def evaluate(self, chromosome: Chromosome, scenario: str) -> Attempt:
        """Try ``chromosome`` once and restore the machine's state.

        May raise TargetGone, and CampaignError when no further trial is possible; any other
        exception makes it a failed attempt.
        """
        ...


@runtime_checkable
class Seeded(Protocol):
    """The optional interface of an evaluator with a random workload or draw."""

    def reseed(self, seed: int) -> None:
        """Use the seed of the next evaluation."""
        ...


def key_of(chromosome: Chromosome) -> str:
    """Return a chromosome as canonical JSON: equal for equal chromosomes, and only for them."""
    return json.dumps(dict(chromosome), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def chromosome_of(key: str) -> Chromosome:
    """Return the chromosome of a key; msgspec.MsgspecError for an invalid text."""
    return msgspec.json.decode(key, type=dict[str, Allele])
