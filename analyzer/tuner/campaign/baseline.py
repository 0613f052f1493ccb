"""The default's runs in one scenario, the baseline of all others, and their drift.

The default is run repeatedly. When its last runs all lie beyond all earlier ones (an extreme case
of the rank test of Mann and Whitney, 1947), the machine has changed: later runs are compared with
later runs of the default only.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from statistics import median

LATEST = 4  # runs that must lie beyond all others …
UNLIKELY = 0.01  # … if the probability by chance is at most this


class Baseline:
    """Logs of the default's values; ``starts`` are the first attempts of each stretch."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self._stretches: list[list[tuple[int, float]]] = []
        self._middles: list[float] = []

    def add(self, number: int, log: float) -> None:
        """Add the default's run with the attempt ``number``."""
        if not self._stretches:
            self._begin([(number, log)])
            return
        stretch = self._stretches[-1]
        stretch.append((number, log))
        if _drifted([log for _, log in stretch]):
            latest = stretch[-LATEST:]
            del stretch[-LATEST:]
            self._middles[-1] = _middle(stretch)
            self._begin(latest)
        self._middles[-1] = _middle(self._stretches[-1])

    def at(self, number: int) -> float | None:
        """Return the median log of an attempt's stretch; None before any run."""
        if not self.starts:
            return None
        return self._middles[max(bisect_right(self.starts, number) - 1, 0)]

    def _begin(self, runs: list[tuple[int, float]]) -> None:
        self.starts.append(runs[0][0])
        self._stretches.append(runs)
        self._middles.append(_middle(runs))


def _drifted(logs: list[float]) -> bool:
    before, latest = logs[:-LATEST], logs[-LATEST:]
    if not before or 2 / math.comb(len(logs), LATEST) > UNLIKELY:
        return False
    return max(latest) < min(before) or min(latest) > max(before)


def _middle(runs: list[tuple[int, float]]) -> float:
    return median(log for _, log in runs)
