"""Weighted seconds of several starts under one window, with their band.

The error of a sum is the sum of the errors, as if all errors had one direction: the disk and the
processor, which cause most of the error, are the same for all starts. The answer for a single start
is the same as without a suite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.predict.bands import SEED, TOLD_APART, Bands

DRAWS = 1000


@dataclass(frozen=True, eq=False)
class Weighted:
    """The seconds of one start by window; ``now`` is its window now (pages)."""

    weight: float
    bands: Bands
    now: int

    def at(self, window: int) -> float:
        """Return the seconds at a window."""
        return self.bands.at(window)

    def regret(self, window: int) -> float:
        """Return the seconds lost against the own best window, as a share of the present."""
        now = self.at(self.now)
        return (self.at(window) - self.at(self.bands.best)) / now if now else 0.0


@dataclass(frozen=True, eq=False)
class Joint:
    """Starts with bands of the same windows and candidates; at least one start."""

    starts: Sequence[Weighted]

    @property
    def windows(self) -> list[int]:
        """The windows that were replayed (pages, rising)."""
        return self.starts[0].bands.windows

    @property
    def candidates(self) -> list[int]:
        """The windows that may be the answer (pages, rising)."""
        return self.starts[0].bands.candidates

    @property
    def best(self) -> int:
        """The window with the fewest weighted seconds; the smallest of equal ones."""
        return min(self.candidates, key=self._shares.at)

    @cached_property
    def _shares(self) -> Joint:
        """The starts with weights of sum 1: the seconds of a single start are not rounded."""
        whole = sum(start.weight for start in self.starts)
        return Joint([replace(start, weight=start.weight / whole) for start in self.starts])

    def at(self, window: int) -> float:
        """Return the weighted seconds at a window."""
        return sum(start.weight * start.at(window) for start in self.starts)

    def now(self) -> float:
        """Return the weighted seconds with each start's window now."""
        return sum(start.weight * start.at(start.now) for start in self.starts)

    def each_its_own(self) -> float:
        """Return the weighted seconds with each start at its own best window."""
        return sum(start.weight * start.at(start.bands.best) for start in self.starts)

    def band(self, window: int) -> tuple[float, float]:
        """Return the lowest and the highest weighted seconds at a window."""
        row = self.windows.index(window)
        ends = [(start.weight, start.bands.band()) for start in self.starts]
        low, high = (sum(weight * both[end][row] for weight, both in ends) for end in (0, 1))
        return float(low), float(high)

    def slower(self, window: int, other: int) -> tuple[float, float]:
        """Return how many weighted seconds slower a window is than another, and their band."""
        differences = [(start.weight, *start.bands.slower(window, other)) for start in self.starts]
        return (
            sum(weight * apart for weight, apart, _ in differences),
            sum(weight * band for weight, _, band in differences),
        )

    def saved(self, window: int) -> tuple[float, float]:
        """Return the weighted seconds that a window saves now, and their band.

        The band of each start is at least the difference between identical runs: where the disk's
        cost is known, the draws of two windows differ by less than their measured seconds would.
        """
        saved, band = 0.0, 0.0
        for start in self.starts:
            apart, drawn = start.bands.slower(start.now, window)
            saved += start.weight * apart
            band += start.weight * max(drawn, TOLD_APART * start.at(start.now))
        return saved, band

    def smallest_within(self) -> int:
        """Return the smallest window that is not distinguishable from the best."""
        best, shares = self.best, self._shares
        least = TOLD_APART * shares.at(best)
        for window in self.candidates:
            slower, band = shares.slower(window, best)
            if slower <= max(band, least):
                return window
        return best

    def least_regret(self) -> int:
        """Return the window under which the largest regret of a start is smallest."""
        return min(self.candidates, key=lambda window: max(s.regret(window) for s in self.starts))

    def confidence(self, window: int, within: float) -> float:
        """Return the share of draws in which a window is within a share ``within`` of the fastest.

        A draw has a possible disk and processor, and captures drawn with replacement, for each
        start.
        """
        rng = np.random.default_rng(SEED)
        total: Array = np.zeros((DRAWS, len(self.windows)))
        for start in self.starts:
            draws = start.bands.draws
            total += start.weight * draws[rng.integers(len(draws), size=DRAWS)]
        candidates = [self.windows.index(each) for each in self.candidates]
        fastest = total[:, candidates].min(axis=1)
        near = total[:, self.windows.index(window)] <= fastest * (1 + within)
        return float(near.mean())
