"""Chromosomes of a list, whatever the results: the whole space in order, or in random order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random

from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.engines.operators import random_child
from foreread.analyzer.tuner.space.genes import Chromosome, Space

RARE = 1000  # draws before the rest of the space is enumerated


class ListSampler:
    """Requests the chromosomes of an iterator, whatever the results."""

    def __init__(self, chromosomes: Iterator[Chromosome], batch: int) -> None:
        self._rest, self._batch = chromosomes, batch

    def ask(self) -> list[Chromosome]:
        """Return the next batch; empty at the iterator's end."""
        return list(islice(self._rest, self._batch))

    def tell(self, scored: Sequence[Scored]) -> None:
        """Ignore the results."""


def distinct(space: Space, chromosomes: Iterator[Chromosome]) -> Iterator[Chromosome]:
    """Yield each chromosome once."""
    seen = set()
    for chromosome in chromosomes:
        if (key := space.key(chromosome)) not in seen:
            seen.add(key)
            yield chromosome


def shuffled(space: Space, rng: Random) -> Iterator[Chromosome]:
    """Yield random chromosomes, and the rest of the space when new ones have become rare."""
    seen = set()
    unlucky = 0
    while unlucky < RARE:
        child = random_child(space, rng)
        if (key := space.key(child)) in seen:
            unlucky += 1
            continue
        unlucky = 0
        seen.add(key)
        yield child
    rest = [child for child in space.enumerate() if space.key(child) not in seen]
    rng.shuffle(rest)
    yield from rest
