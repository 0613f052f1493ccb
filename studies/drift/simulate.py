"""Simulated histories: how often the test of a history alarms, and after how many commits.

python -m studies.drift.simulate [--plot FILE.svg]    the table, as Markdown; one history, drawn
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from foreread.analyzer.metrics.drift import drift
from foreread.analyzer.metrics.history import Series
from foreread.analyzer.metrics.history_plot import history_plot
from foreread.analyzer.metrics.metric import SECONDS, Metric
from studies.accuracy.markdown import NONE, markdown

HISTORIES = 500
COMMITS = 100
NOISE = 0.012  # standard deviation of the seconds: as of a start of 0.2 s in foreread's tests
LIMIT = 0.06  # of a comparison with the commit before, which seldom exceeds it without a drift
Noise = Callable[[random.Random, int], list[float]]


def normal(rng: random.Random, commits: int) -> list[float]:
    """Return independent Gaussian noise (of ln seconds)."""
    return [rng.gauss(0, NOISE) for _ in range(commits)]


def outliers(rng: random.Random, commits: int) -> list[float]:
    """Return noise in which one run of ten is slowed by up to 40 %."""
    return [each + (rng.random() < 0.1) * rng.uniform(0, 0.4) for each in normal(rng, commits)]


def two_speeds(rng: random.Random, commits: int) -> list[float]:
    """Return the noise of a machine that runs at one of two speeds, 3 % apart."""
    return [rng.choice((0.0, 0.03)) + rng.gauss(0, 0.002) for _ in range(commits)]


def lasting(rng: random.Random, commits: int) -> list[float]:
    """Return noise of which half lasts until the next commit."""
    noise, last = [], 0.0
    for each in normal(rng, commits):
        last = 0.5 * last + math.sqrt(0.75) * each
        noise.append(last)
    return noise


@dataclass(frozen=True)
class Case:
    """Histories of one kind: ``slope`` is the drift of a commit, after ``quiet`` commits."""

    name: str
    noise: Noise = normal
    slope: float = 0.0
    quiet: int = 0

    def history(self, rng: random.Random) -> list[float]:
        """Return the seconds of a history."""
        noise = self.noise(rng, self.quiet + COMMITS)
        later = (max(0, at - self.quiet + 1) for at in range(len(noise)))
        return [
            math.exp(each) * (1 + self.slope) ** at for at, each in zip(later, noise, strict=True)
        ]


CASES = (
    Case("no drift, normal noise of 1.2 %"),
    Case("no drift, one run of ten slowed by up to 40 %", outliers),
    Case("no drift, two speeds", two_speeds),
    Case("no drift, noise of which half lasts until the next commit", lasting),
    Case("0.1 % a commit", slope=0.001),
    Case("0.3 % a commit", slope=0.003),
    Case("1 % a commit", slope=0.01),
    Case("1 % a commit, after 100 without", slope=0.01, quiet=100),
)


@dataclass(frozen=True)
class Rates:
    """What happened in the histories of a case: shares, and commits of the drift until the alarm.

    ``compared`` are the histories in which one commit was more than LIMIT slower than the one
    before, not later than the alarm.
    """

    alarmed: float
    commits: float
    late: float
    compared: float


def rates(case: Case, histories: int = HISTORIES) -> Rates:
    """Return the rates of a case; the test looks after every commit."""
    rng = random.Random(case.name)
    alarms, compared = [], 0
    for _ in range(histories):
        seconds = case.history(rng)
        alarm = first_alarm(seconds)
        alarms.append(math.inf if alarm is None else alarm - case.quiet)
        shown = seconds if alarm is None else seconds[:alarm]
        compared += any(b > (1 + LIMIT) * a for a, b in pairwise(shown))
    alarms.sort()
    return Rates(
        sum(map(math.isfinite, alarms)) / histories,
        median(alarms),
        alarms[math.ceil(0.9 * histories) - 1],
        compared / histories,
    )


def first_alarm(seconds: Sequence[float]) -> int | None:
    """Return after how many commits the drift of a history is found; None: never."""
    alarm = drift(seconds).alarm
    looks = range(len(seconds) + 1 if alarm is None else alarm + 1, len(seconds) + 1)
    return next((look for look in looks if drift(seconds[:look]).is_significant), None)


def table() -> list[str]:
    """Return the rates of all cases as the lines of a Markdown table."""
    head = ("histories", "alarm, %", "median commit", "90 % by commit", "comparison, %")
    return markdown(head, [_row(case, rates(case)) for case in CASES])


def _row(case: Case, case_rates: Rates) -> tuple[str, ...]:
    commits = [
        f"{n:.0f}" if math.isfinite(n) else NONE for n in (case_rates.commits, case_rates.late)
    ]
    return (
        case.name,
        f"{100 * case_rates.alarmed:.1f}",
        *commits,
        f"{100 * case_rates.compared:.1f}",
    )


def example() -> list[Series]:
    """Return two histories: one of a drift, and one without."""
    shown = []
    for case, subject in ((CASES[5], "shell on board-a"), (CASES[0], "player on board-a")):
        seconds = case.history(random.Random(case.name))[:30]
        labels = {"start": subject.split()[0], "board": "board-a", "window": "present"}
        metrics = [
            Metric(name=SECONDS, value=each, low=0.97 * each, high=1.03 * each, labels=labels)
            for each in seconds
        ]
        commits = [f"{random.Random(f'{subject} {at}').getrandbits(40):010x}" for at in range(30)]
        shown.append(Series(subject, commits, metrics, drift(seconds, 2)))
    return shown


def main() -> None:
    """Print the table, and draw the example."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--plot", type=Path)
    plot = parser.parse_args().plot
    if plot is not None:
        plot.write_bytes(history_plot(example(), plot.suffix))
    print(*table(), sep="\n")


if __name__ == "__main__":
    main()
