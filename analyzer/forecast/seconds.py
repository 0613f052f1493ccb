"""Seconds of a start under two kernels, drawn together.

A draw is one possible device and processor (analyzer/predict/bands.py); both kernels have the same
draws, so that their difference is known better than the seconds of either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np

from analyzer.ingest.tables import Array
from analyzer.predict.bands import DEVIATIONS, SEED
from analyzer.predict.check_replay import replay_findings
from analyzer.predict.checks import Finding, distinct, total_spread
from analyzer.predict.confirmed import SECONDS, setting_of, unlike
from analyzer.predict.left_out import left_out
from analyzer.predict.seconds import FEWEST_DRAWS, MOST_DRAWS, WORK, replay_of_the_recorded
from analyzer.predict.start import UNCONFIRMED, Start
from emulator.linux.rules import Version
from emulator.linux.steps import Timed

# Relative standard deviation of the difference between two kernels beside what the start reads:
# what the kernel itself computes for an exec, a fault, a page. It is the rms of measured less
# predicted differences of three starts on x86_64 between 5.10, 6.1 and 6.12, at their default
# windows (studies/accuracy/forecast.md).
OTHER_KERNEL = 0.016


@dataclass(frozen=True, eq=False)
class Column:
    """Seconds of a start under one kernel, by window (pages); ``draws`` are draws × windows.

    ``half`` is half of the band of each.
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
    """Seconds under the kernels of now and then; ``recorded`` is the replay of the recorded run.

    ``shared`` is the relative standard deviation of errors that both have, ``apart`` of those that
    only one of them has.
    """

    now: Column
    then: Column
    recorded: Timed
    findings: list[Finding]
    shared: float
    apart: float

    @property
    def unusable(self) -> str | None:
        """Why the seconds must not be used; None if they may."""
        return "; ".join(found.text for found in self.findings if found.unusable) or None

    def slower(self, then: int, now: int) -> tuple[float, float]:
        """Return by how many seconds a window of then is slower than one of now, and the band."""
        drawn = self.then.drawn(then) - self.now.drawn(now)
        added = self.then.at(then) - self.now.at(now)
        others = hypot(self.shared * added, self.apart * self.then.at(then))
        return added, DEVIATIONS * hypot(float(drawn.std()), others)


def predict_both(
    starts: tuple[Start, Start],
    windows: tuple[list[int], list[int]],
    versions: tuple[Version, Version],
    alike: bool,
) -> Both:
    """Return the seconds of a start under two kernels, each at its ``windows`` (pages, with 0).

    ``starts`` are the start under each; the first is the recorded one. ``alike``: both kernels read
    the same.
    """
    now, then = starts
    replays = now.timed(windows[0])
    recorded = replays[windows[0].index(0)]
    there = then.timed(windows[1], recorded=recorded)
    findings = distinct(
        [
            *now.findings,
            *replay_of_the_recorded(now, recorded.total_ns / 1e9),
            *replay_findings(now, windows[0], replays),
        ]
    )
    unlike_judged = [[] if alike else _unconfirmed(now, version) for version in versions]
    shared = total_spread(findings)
    apart = 0.0 if alike else hypot(OTHER_KERNEL, *map(total_spread, unlike_judged))
    there_alone = 0.0 if alike else hypot(OTHER_KERNEL, total_spread(unlike_judged[1]))
    seconds = [_seconds(replays), _seconds(there)]
    drawn = _draws(starts, windows, recorded)
    columns = []
    for at, spread in enumerate((shared, hypot(shared, there_alone))):
        rest = left_out(now.device, seconds[at], recorded.total_ns / 1e9)
        half = np.hypot(drawn[at].std(axis=0), np.hypot(rest, spread * seconds[at]))
        columns.append(Column(windows[at], seconds[at], drawn[at], DEVIATIONS * half))
    every = distinct([*findings, *unlike_judged[1]])
    return Both(columns[0], columns[1], recorded, every, shared, apart)


def _unconfirmed(start: Start, version: Version) -> list[Finding]:
    """Return findings if the readahead of a kernel was not compared with measured seconds."""
    return [
        Finding(f"the predicted seconds are unconfirmed for {what}", spread=UNCONFIRMED)
        for what in unlike(setting_of(start.recording, version, start.disk), SECONDS)
    ]


def _seconds(runs: Sequence[Timed]) -> Array:
    return np.array([run.total_ns / 1e9 for run in runs])


def _draws(
    starts: tuple[Start, Start], windows: tuple[list[int], list[int]], recorded: Timed
) -> list[Array]:
    """Return random draws (× windows) of the seconds under each kernel, the same for both."""
    work = max(len(starts[0].run.steps), 1) * (len(windows[0]) + len(windows[1]))
    number = min(max(WORK // work, FEWEST_DRAWS), MOST_DRAWS)
    drawn: list[list[Array]] = [[], []]
    for draw in range(number):
        for at in (0, 1):
            rng = np.random.default_rng([SEED, draw])
            drawn[at].append(_seconds(starts[at].timed(windows[at], rng, recorded)))
    return [np.array(rows) for rows in drawn]
