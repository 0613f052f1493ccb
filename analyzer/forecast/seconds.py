"""Seconds of a start under two kernels, drawn together.

A draw is one possible device and processor (analyzer/predict/bands.py). Both kernels have the same
draws, so that their difference is known more precisely than the seconds under either kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.predict.bands import DEVIATIONS, SEED, left_out
from foreread.analyzer.predict.doubts.doubt import Doubt, distinct, total_spread, unusable
from foreread.analyzer.predict.doubts.kernel import setting_of, unconfirmed
from foreread.analyzer.predict.doubts.recording import of_recording
from foreread.analyzer.predict.doubts.start import of_start
from foreread.analyzer.predict.seconds import number_of_draws
from foreread.analyzer.predict.start import Start
from foreread.emulator.linux.rules import Version
from foreread.emulator.linux.steps import Timed

# Relative standard deviation of the difference between two kernels that the start's reads do not
# explain: the kernel's own computing for an exec, a fault, a page. It is the rms of measured less
# predicted differences of three starts on x86_64 between 5.10, 6.1 and 6.12, at their default
# windows (studies/accuracy/forecast.md).
OTHER_KERNEL = 0.016


@dataclass(frozen=True, eq=False)
class Column:
    """Seconds of a start under one kernel, by window (pages).

    ``draws`` are draws × windows; ``half`` is half of the width of each window's band, in seconds.
    """

    windows: list[int]
    seconds: Array
    draws: Array
    half: Array

    def at(self, window: int) -> float:
        """Return the seconds of a window."""
        return float(self.seconds[self.windows.index(window)])

    def band(self, window: int) -> tuple[float, float]:
        """Return the lowest and highest seconds of a window; no less than 0."""
        half = float(self.half[self.windows.index(window)])
        return max(self.at(window) - half, 0.0), self.at(window) + half

    def drawn(self, window: int) -> Array:
        """Return the draws of a window."""
        return self.draws[:, self.windows.index(window)]


@dataclass(frozen=True, eq=False)
class Both:
    """Seconds under both kernels; ``recorded`` is the replay of the recorded run.

    ``shared`` is the relative standard deviation of errors that both kernels have, ``apart`` of
    errors that only one kernel has.
    """

    now: Column
    then: Column
    recorded: Timed
    doubts: list[Doubt]
    shared: float
    apart: float

    @property
    def unusable(self) -> str | None:
        """The reasons not to use the seconds; None if the seconds are usable."""
        return unusable(self.doubts)

    def slower(self, then: int, now: int) -> tuple[float, float]:
        """Return by how many seconds window ``then`` is slower than ``now``, and the band."""
        drawn = self.then.drawn(then) - self.now.drawn(now)
        added = self.then.at(then) - self.now.at(now)
        systematic = hypot(self.shared * added, self.apart * self.then.at(then))
        return added, DEVIATIONS * hypot(float(drawn.std()), systematic)


def predict_both(
    starts: tuple[Start, Start],
    windows: tuple[list[int], list[int]],
    versions: tuple[Version, Version],
    alike: bool,
) -> Both:
    """Return the seconds of a start under two kernels, each at its ``windows`` (pages, with 0).

    ``starts`` are the start under each kernel, the recorded kernel first. ``alike``: both kernels
    read the same pages.
    """
    now, then = starts
    replays = now.timed(windows[0])
    recorded = replays[windows[0].index(0)]
    replays_then = then.timed(windows[1], recorded=recorded)
    doubts = distinct([*of_recording(now.recording), *of_start(now, windows[0], replays)])
    settings = [setting_of(now.recording, version, now.disk) for version in versions]
    unlike_judged = [[] if alike else [*unconfirmed(setting)] for setting in settings]
    shared = total_spread(doubts)
    apart = 0.0 if alike else hypot(OTHER_KERNEL, *map(total_spread, unlike_judged))
    there_alone = 0.0 if alike else hypot(OTHER_KERNEL, total_spread(unlike_judged[1]))
    seconds = [_seconds(replays), _seconds(replays_then)]
    drawn = _draws(starts, windows, recorded)
    columns = [
        _column(now, windows[at], seconds[at], drawn[at], recorded, spread)
        for at, spread in enumerate((shared, hypot(shared, there_alone)))
    ]
    every = distinct([*doubts, *unlike_judged[1]])
    return Both(columns[0], columns[1], recorded, every, shared, apart)


def predict_patched(
    recorded: Start, starts: tuple[Start, Start], window: int, version: Version
) -> Both:
    """Return the seconds of a start under two sets of rules of one kernel, at ``window`` (pages).

    ``recorded`` is the start under the kernel that it was recorded on; ``version`` is the kernel of
    both ``starts``. No run under the other rules was measured: if they change the seconds, the
    change has the error of one between two kernels.
    """
    (as_recorded,) = recorded.timed([0])
    unlike_judged = unconfirmed(setting_of(recorded.recording, version, recorded.disk))
    of_replay = of_start(recorded, [0], [as_recorded])
    doubts = distinct([*of_recording(recorded.recording), *of_replay, *unlike_judged])
    other = OTHER_KERNEL if version[:2] != recorded.version[:2] else 0.0
    shared = hypot(total_spread(doubts), other)
    drawn = _draws(starts, ([window], [window]), as_recorded)
    columns = []
    for start, draws in zip(starts, drawn, strict=True):
        seconds = _seconds(start.timed([window], recorded=as_recorded))
        columns.append(_column(start, [window], seconds, draws, as_recorded, shared))
    apart = OTHER_KERNEL if columns[0].at(window) != columns[1].at(window) else 0.0
    return Both(columns[0], columns[1], as_recorded, doubts, shared, apart)


def _column(
    start: Start, windows: list[int], seconds: Array, draws: Array, recorded: Timed, spread: float
) -> Column:
    """Return the seconds with their band; ``spread`` is the relative deviation of all doubts."""
    rest = left_out(start.device, seconds, recorded.total_ns / 1e9)
    half = np.hypot(draws.std(axis=0), np.hypot(rest, spread * seconds))
    return Column(windows, seconds, draws, DEVIATIONS * half)


def _seconds(runs: Sequence[Timed]) -> Array:
    return np.array([run.total_ns / 1e9 for run in runs])


def _draws(
    starts: tuple[Start, Start], windows: tuple[list[int], list[int]], recorded: Timed
) -> list[Array]:
    """Return random draws (draws × windows) of the seconds under each kernel, the same for both."""
    number = number_of_draws(starts[0], len(windows[0]) + len(windows[1]))
    drawn = []
    for start, own in zip(starts, windows, strict=True):
        generators = [np.random.default_rng([SEED, draw]) for draw in range(number)]
        drawn.append(start.drawn_seconds(own, generators, recorded))
    return drawn
