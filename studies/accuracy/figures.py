"""The arithmetic of the tables: spread of identical runs, figures, and their targets.

Errors, spreads and regrets are fractions (0.034 is 3.4 %). Regret is a part of the start-up time
at the default window, as the 2010 paper has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeAlias

Rows: TypeAlias = "Sequence[Mapping[str, Any]]"
LONG_START_S = 2.0  # on a paced device shorter starts are mostly noise: its slices are of 0.1 s
_TIMES_THE_SPREAD = 2  # of own runs: what such starts' seconds, and browsers' pages, may differ
_SHORT_START_REGRET = 0.03


@dataclass(frozen=True)
class SecondsTargets:
    """The most that predicted seconds may be off by, and the chosen window may cost."""

    median_error: float
    worst_error: float
    regret: float


FIXED_COST = SecondsTargets(0.015, 0.04, 0.005)
PACED = SecondsTargets(0.02, 0.08, 0.01)
FAST_DISK = SecondsTargets(0.10, 0.20, 0.03)
COVERAGE = (0.85, 0.95)  # the least and the largest share of points in a 90 % band


@dataclass(frozen=True)
class PageTargets:
    """What page sets must have in common at least, and the most that counts may differ by.

    Without ``least_jaccard`` they may differ twice as much as two own runs at that window do.
    """

    least_jaccard: float | None
    pages: float
    requests: float


SINGLE_THREADED = PageTargets(1.0, 0.0, 0.0)
MANY_PROCESSES = PageTargets(0.999, 0.002, 0.002)
BROWSER = PageTargets(None, 0.015, 0.01)
REQUESTS_BEYOND = 0.07  # above BEYOND_KB requests depend on how pages lie in memory
BEYOND_KB = 512


@dataclass(frozen=True)
class Figure:
    """A measured figure and its target, which it must not exceed (``at_least``: fall short of).

    ``value`` is None where it could not be had, which misses the target.
    """

    name: str
    value: float | None
    target: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether it is as it must be."""
        if self.value is None:
            return False
        return self.value >= self.target if self.at_least else self.value <= self.target

    def to_json(self) -> dict[str, Any]:
        """Return it with the verdict."""
        return {"name": self.name, "value": self.value, "target": self.target, "met": self.met}


@dataclass(frozen=True)
class Spread:
    """How much identical runs differ, (slowest − fastest) / median, over the windows."""

    median: float
    worst: float


def spread(runs: Iterable[Sequence[float]]) -> Spread | None:
    """Return the spread of each window's runs (s); None if no window was run twice."""
    each = [
        (max(seconds) - min(seconds)) / median(seconds)
        for seconds in runs
        if len(seconds) > 1 and median(seconds)
    ]
    return Spread(median(each), max(each)) if each else None


def paced_targets(default_s: float, spread: Spread | None) -> SecondsTargets:
    """Return what a paced device asks of a start-up with this duration at the default window."""
    if default_s > LONG_START_S or spread is None:
        return PACED
    errors = (_TIMES_THE_SPREAD * spread.median, _TIMES_THE_SPREAD * spread.worst)
    return SecondsTargets(*errors, _SHORT_START_REGRET)


def seconds_figures(validation: Mapping[str, Any], targets: SecondsTargets) -> list[Figure]:
    """Return the figures of the document of ``foreread predict --measured``."""
    none_predicted = validation["seconds_error_median"] is None
    return [
        Figure("median error", validation["seconds_error_median"], targets.median_error),
        Figure("worst error", validation["seconds_error_max"], targets.worst_error),
        Figure("regret", None if none_predicted else validation["regret"], targets.regret),
    ]


@dataclass(frozen=True)
class Coverage:
    """How many of the ``points`` that have a band lie in it."""

    held: int
    points: int

    @property
    def share(self) -> float | None:
        """The part that lies in the band; None without points."""
        return self.held / self.points if self.points else None

    @property
    def honest(self) -> bool:
        """Whether the share is within 5 points of 90 %."""
        return self.share is not None and COVERAGE[0] <= self.share <= COVERAGE[1]


def coverage(points: Rows) -> Coverage:
    """Return the coverage of measured windows; those without a band do not count."""
    in_band = [point["in_band"] for point in points if point["in_band"] is not None]
    return Coverage(sum(in_band), len(in_band))


def together(parts: Iterable[Coverage]) -> Coverage:
    """Return the coverage of all points of several rows."""
    each = list(parts)
    return Coverage(sum(part.held for part in each), sum(part.points for part in each))


def page_figures(rows: Rows, targets: PageTargets, own: Rows = ()) -> list[Figure]:
    """Return the figures of a prediction's rows (applications.Row as JSON), one for a window.

    ``own`` are the rows that compare two runs of the application.
    """
    near = [row for row in rows if row["read_ahead_kb"] <= BEYOND_KB]
    far = [row for row in rows if row["read_ahead_kb"] > BEYOND_KB]
    figures = [
        _jaccard(near, targets.least_jaccard, own),
        Figure("pages", _worst(near, "pages"), targets.pages),
        Figure("requests", _worst(near, "requests"), targets.requests),
        Figure("readahead calls", _worst(rows, "calls"), targets.requests),
    ]
    if far:
        figures.append(Figure("requests beyond", _worst(far, "requests"), REQUESTS_BEYOND))
    # Kernels before 6.18 do not tell of their readahead calls.
    return [
        figure for figure in figures if figure.name != "readahead calls" or figure.value is not None
    ]


def _jaccard(rows: Rows, least: float | None, own: Rows) -> Figure:
    """Return the figure of the window that is worst for its target."""
    unlike = {row["read_ahead_kb"]: 1 - row["jaccard"] for row in own}
    pairs = [
        (row["jaccard"], 1 - _TIMES_THE_SPREAD * unlike[row["read_ahead_kb"]])
        if least is None
        else (row["jaccard"], least)
        for row in rows
    ]
    value, target = min(pairs, key=lambda pair: pair[0] - pair[1], default=(None, least or 0.0))
    return Figure("least Jaccard", value, target, at_least=True)


def _worst(rows: Rows, name: str) -> float | None:
    errors = [abs(error) for row in rows if (error := relative_error(*row[name])) is not None]
    return max(errors, default=None)


def relative_error(predicted: float, measured: float) -> float | None:
    """Return (predicted − measured) / measured; None where nothing was measured."""
    return (predicted - measured) / measured if measured else None
