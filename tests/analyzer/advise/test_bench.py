"""The band of a saving: what random draws show, and what they do not explain of a list."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from analyzer.advise.bench import EARLY, LISTED, Bench
from analyzer.advise.variant import Cost
from analyzer.predict.bands import DEVIATIONS


class Fixed:
    """A variant whose seconds are the same in each draw."""

    def __init__(self, seconds, ranges=()):
        self.seconds, self.ranges = seconds, ranges
        self.run = SimpleNamespace(steps=np.zeros(3))

    def cost(self, draw=None):
        return Cost(self.seconds, 0)


@dataclass(frozen=True, eq=False)
class OfAList:
    """An offer after which a start takes 1 s, and has ``ranges``."""

    ranges: list[tuple[int, int, int]]
    kind: str = "list"

    def apply(self, variant):
        return Fixed(1.0, self.ranges)


def bench_with(ranges, kind="list"):
    """A bench at present 2 s, and an offer after which a start takes 1 s and has ``ranges``."""
    offer = OfAList(ranges, kind)
    return Bench(SimpleNamespace(present=[Fixed(2.0)])), frozenset([offer])


def test_the_band_of_a_list_contains_what_the_draws_do_not_explain():
    bench, chosen = bench_with([(0, 0, 1)])
    assert bench.saved(chosen) == 1.0
    assert bench.band(chosen) == pytest.approx(DEVIATIONS * LISTED * 1.0)


def test_the_band_of_early_reads_contains_what_the_draws_do_not_explain():
    bench, chosen = bench_with([], "early")
    assert bench.band(chosen) == pytest.approx(DEVIATIONS * EARLY * 1.0)


def test_the_band_of_other_changes_is_that_of_the_draws_alone():
    bench, chosen = bench_with([])
    assert bench.band(chosen) == pytest.approx(0.002 * 2.0)
