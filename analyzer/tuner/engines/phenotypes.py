"""Phenotypes of the genetic-library: effects of a child's genes, measured separately.

Moilanen and Williams, *Using genetic algorithms to autonomically tune the kernel* (Linux Symposium
2005), 2.4, 3.1.3 and 3.2.1. Each phenotype ranks the children by one figure. A ``uid`` is a bitmask
of the phenotypes that affect it: a phenotype with all its bits in a larger mask lies under that
mask, whose fitness is the weighted sum of the ranks under it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.engines.operators import ranks


class Phenotype(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A measurable outcome.

    ``figures``: names in ``Scored.metrics``; children are ranked by their sum, and an empty tuple
    is for a phenotype that only others affect. ``per``: names whose sum is the divisor, for
    children with unequal lifetimes. ``better``: whether more or less is better; ``weight``: in the
    phenotypes above it.
    """

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=80)]
    uid: Annotated[int, msgspec.Meta(ge=1, le=(1 << 32) - 1)]
    figures: tuple[str, ...] = ()
    per: tuple[str, ...] = ()
    better: Literal["more", "less"] = "more"
    weight: Annotated[float, msgspec.Meta(gt=0, le=1e6)] = 1.0

    def affects(self, other: Phenotype) -> bool:
        """Return whether this phenotype's rank counts in ``other``'s fitness."""
        return self.uid != other.uid and self.uid & other.uid == self.uid

    def measured(self, child: Scored) -> float:
        """Return the child's figure, larger for the better; a failed child has the worst."""
        if child.fitness <= 0 or not self.known(child):
            return -math.inf
        value = sum(child.metrics[name] for name in self.figures)
        divisor = sum(child.metrics[name] for name in self.per) if self.per else 1.0
        if divisor <= 0:
            return -math.inf
        return value / divisor if self.better == "more" else -value / divisor

    def known(self, child: Scored) -> bool:
        """Return whether the child has all figures that this phenotype needs."""
        return child.metrics.keys() >= {*self.figures, *self.per}


def weighted(places: Sequence[float], weights: Sequence[float]) -> float:
    """Return a general phenotype's fitness: the sum of place · weight (2005, 3.1.3)."""
    return sum(place * weight for place, weight in zip(places, weights, strict=True))


def general_fitness(phenotypes: Sequence[Phenotype], children: Sequence[Scored]) -> list[float]:
    """Return the fitness of each child in the phenotype with the largest mask.

    The general phenotype holds the genes; the phenotypes under it only measure. A phenotype without
    figures in any child is left out; without any phenotype, the result is the children's fitness.
    """
    general = max(phenotypes, key=lambda each: each.uid.bit_count(), default=None)
    under = [
        each
        for each in phenotypes
        if general and each.affects(general) and any(map(each.known, children))
    ]
    if not under:
        return [child.fitness for child in children]
    places = [ranks([each.measured(child) for child in children]) for each in under]
    weights = [each.weight for each in under]
    return [weighted(of_child, weights) for of_child in zip(*places, strict=True)]
