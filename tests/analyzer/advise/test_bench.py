"""The band of a saving: what random draws show, and what they do not explain of a list."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from foreread.analyzer.advise.bench import ACCESS, EARLY, LISTED, Bench
from foreread.analyzer.advise.offer import Offer
from foreread.analyzer.advise.variant import Replayed
from foreread.analyzer.predict.bands import DEVIATIONS
from foreread.emulator.linux.operations import Machine


class Fixed:
    """A variant, and its image, on which its seconds are the same in each draw."""

    def __init__(self, seconds, ranges=()):
        self.seconds, self.ranges = seconds, ranges
        self.run = SimpleNamespace(steps=np.zeros(3), machine=Machine())
        self.image = self

    def replayed(self, variant, draw):
        return Replayed(1e9 * variant.seconds, 0)


@dataclass(frozen=True, eq=False)
class OfAList:
    """An offer after which a start takes 1 s, and has ``ranges``."""

    ranges: list[tuple[int, int, int]]
    kind: str = "list"
    what: str = "a list"

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


def test_the_band_of_advice_for_single_files_is_wider_unless_both_have_it():
    bench, chosen = bench_with([], "access")
    assert bench.band(chosen) == pytest.approx(DEVIATIONS * ACCESS * 1.0)
    further = OfAList([], "window")
    assert bench.band(chosen | {further}, chosen) == pytest.approx(0.002 * 1.0)


def test_the_band_of_other_changes_is_that_of_the_draws_alone():
    bench, chosen = bench_with([])
    assert bench.band(chosen) == pytest.approx(0.002 * 2.0)


def test_a_change_that_combinations_share_is_made_once():
    made = []

    def change(kind):
        def apply(variant):
            made.append(kind)
            return Fixed(variant.seconds - 0.5)

        return Offer(kind, kind, kind, apply, (), "one setting", "")

    listed, *windows = change("list"), change("window"), change("window"), change("window")
    bench = Bench(SimpleNamespace(present=[Fixed(4.0)]))
    together = [frozenset([listed, window]) for window in windows]
    bench.replay([frozenset([listed]), *together, *together])
    assert made == ["list", "window", "window", "window"]
    assert [bench.cost(chosen).seconds for chosen in together] == [3.0] * 3
    assert bench.replayed == 4


def test_a_saving_below_what_draws_do_not_explain_needs_no_draws():
    offer = OfAList([(0, 0, 1)])
    bench = Bench(SimpleNamespace(present=[Fixed(1.05)]))
    assert not bench.worth(frozenset([offer]))
    assert not bench._drawn
