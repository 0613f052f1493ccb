"""The paper's measure of a proposed window: the optimisation that it misses.

E. Gorelkina, J. Jeong, S. Grekhov, M. Levin: Prediction of Optimal Readahead Parameter in Linux by
Using Monitoring Tool, Linux Symposium, Ottawa 2010, section 3. Windows are in pages; optimisation
is per cent of the start-up time at the default window, and differences of it are points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Pick:
    """A window that somebody proposes: what it gains over the default, and misses of the best."""

    window: int
    seconds: float
    optimisation_percent: float
    missed_points: float


def best_window(seconds: Mapping[int, float]) -> int:
    """Return the window of the fastest start, the smallest of equals: "found by hands"."""
    return min(seconds, key=lambda window: (seconds[window], window))


def judge(seconds: Mapping[int, float], window: int, default: int) -> Pick:
    """Return the result of ``window``; raises KeyError if it or the default was not measured."""
    gain = _optimisation(seconds, window, default)
    best = _optimisation(seconds, best_window(seconds), default)
    return Pick(window, seconds[window], gain, best - gain)


def _optimisation(seconds: Mapping[int, float], window: int, default: int) -> float:
    return 100 * (seconds[default] - seconds[window]) / seconds[default]
