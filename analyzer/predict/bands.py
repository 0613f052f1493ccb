"""The error of predicted seconds, and the windows that they can distinguish.

A draw is the prediction for a possible device, processor and set of captures: the device within the
error of its model (``perturbed``), the cost of reading from other samples of the capture, and
captures drawn with replacement. All windows of a draw share these, so that the difference of two
windows is known better than the seconds of either.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.boards.base.brief import brief
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.devices.paced import Paced

SEED = 2010
DEVIATIONS = 1.645  # standard deviations either way: nine draws of ten
TOLD_APART = 0.002  # in parts of the best: spread of identical runs on an emulated board
# Standard deviation of measured seconds from predicted ones on boards of known cost, in parts:
# the median error of nine starts, 1.3 % (docs/explanation/verdict.md), / 0.67 of a normal
# distribution.
REPLAY = 0.019
# With a limiter, both by maximum likelihood from eight captures of ffmpeg, initdb and libreoffice
# (docs/explanation/verdict.md, "Band"). In parts of the seconds: the difference between consecutive
# runs. Equal starts send requests that differ by 0.8 %; ten starts that were repeated, on a machine
# that was not always idle, differed by 2.9 % in addition to the slice.
RUN = 0.015
# In parts of the seconds that a window saves or adds.
CHANGED = 0.0075


@dataclass(frozen=True, repr=False, eq=False)
class Bands:
    """Seconds of ``windows`` (pages, rising), and ``draws`` of them (draws × windows).

    ``candidates`` are the windows, rising, of which one can be the best. ``left_out`` are standard
    deviations in s, by window, of the errors that the draws do not contain. ``spread`` is the
    relative standard deviation that doubts add. Both are assumed to be shared by all windows.
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
        undrawn = np.hypot(self.left_out, self.spread * self.seconds)
        half = DEVIATIONS * np.hypot(self.draws.std(axis=0), undrawn)
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


def left_out(device: DeviceModel, seconds: Array, recorded: float) -> Array:
    """Return the standard deviation in s of a measured start from each of ``seconds``.

    ``recorded`` are the seconds with the window of the recording. A limiter grants a slice's budget
    at once, and the phase at which a start begins and ends is unknown: both are uniform over a
    slice.
    """
    if not isinstance(device, Paced) or not device.slice_ns:
        return REPLAY * seconds
    phase = device.slice_ns / 1e9 * sqrt(2 / 12)
    changed = CHANGED * (seconds - recorded)
    return np.sqrt(phase**2 + (RUN * seconds) ** 2 + changed**2)
