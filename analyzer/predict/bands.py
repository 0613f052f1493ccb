"""The error of predicted seconds, and the windows that they can distinguish.

A draw is the prediction for a possible device, processor and set of captures: the device within the
error of its model (``perturbed``), the cost of reading from other samples of the capture, and
captures drawn with replacement. All windows of a draw share these, so that the difference of two
windows is known better than the seconds of either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analyzer.ingest.tables import Array
from boards.base.brief import brief

SEED = 2010
DEVIATIONS = 1.645  # standard deviations either way: nine draws of ten
TOLD_APART = 0.002  # in parts of the best: spread of identical runs on an emulated board


@dataclass(frozen=True, repr=False, eq=False)
class Bands:
    """Seconds of ``windows`` (pages, rising), and ``draws`` of them (draws × windows).

    ``candidates`` are the windows, rising, of which one can be the best. ``left_out`` are standard
    deviations in s, by window, of the errors that the draws do not contain. ``spread`` is the
    relative standard deviation that findings add. Both are assumed to be shared by all windows.
    """

    __repr__ = brief

    windows: list[int]
    seconds: Array
    draws: Array
    candidates: list[int]
    left_out: Array
    spread: float = 0.0

    @property
    def best(self) -> int:
        """The window of the fewest seconds; of equals the smallest."""
        return min(self.candidates, key=self.at)

    def at(self, window: int) -> float:
        """Return the seconds of a window."""
        return float(self.seconds[self.windows.index(window)])

    def band(self) -> tuple[Array, Array]:
        """Return the lowest and the highest seconds of each window; no less than 0."""
        beside = np.hypot(self.left_out, self.spread * self.seconds)
        half = DEVIATIONS * np.hypot(self.draws.std(axis=0), beside)
        return np.maximum(self.seconds - half, 0.0), self.seconds + half

    def slower(self, window: int, other: int) -> tuple[float, float]:
        """Return by how many seconds a window is slower than another, and the band of that."""
        row, base = self.windows.index(window), self.windows.index(other)
        apart = self.draws[:, row] - self.draws[:, base]
        return self.at(window) - self.at(other), float(DEVIATIONS * apart.std())

    def smallest_within(self) -> int:
        """Return the smallest window that is not distinguishable from the best."""
        best = self.best
        least = TOLD_APART * self.at(best)
        for window in self.candidates:
            slower, band = self.slower(window, best)
            if slower <= max(band, least):
                return window
        return best


def resampled(drawn: list[Array], rng: np.random.Generator, number: int) -> Array:
    """Return ``number`` draws of the median over captures that are drawn with replacement.

    ``drawn`` are each capture's draws (draws × windows), of which one is taken at random.
    """
    captures = rng.integers(len(drawn), size=(number, len(drawn)))
    rows = [
        [drawn[capture][rng.integers(len(drawn[capture]))] for capture in chosen]
        for chosen in captures.tolist()
    ]
    return np.median(np.array(rows), axis=1)
