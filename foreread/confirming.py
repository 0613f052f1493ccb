"""Confirms a proposed window: paired cold runs until the difference is known."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from analyzer.confirm.sequential import Assessment, Pair, assess, orders
from foreread.paired_runs import PairedRuns
from foreread.version import VERSION
from tracer.formats.confirmation import Confirmation


@dataclass(frozen=True)
class Limits:
    """When runs end without an answer; seconds are of this machine's time."""

    runs: int = 60
    seconds: float | None = None

    def in_time(self, passed_s: float) -> bool:
        """Return whether the comparison may go on after this time."""
        return self.seconds is None or passed_s < self.seconds

    def left_s(self, passed_s: float, made: int, most: int) -> float:
        """Return how long it may still take after ``made`` of ``most`` runs."""
        left = passed_s / made * max(most - made, 0)
        return left if self.seconds is None else max(0.0, min(left, self.seconds - passed_s))


@dataclass(frozen=True)
class Progress:
    """One run that was made; ``left_s`` is the time until the limit, at most."""

    runs: int
    pairs: int
    read_ahead_kb: int
    proposed_kb: int
    seconds: float
    assessment: Assessment
    left_s: float
    change: str = ""  # what else the proposed runs have than their window
    board: str = ""  # that made it, if there are several


@dataclass
class Confirming:
    """A comparison under way; ``pairs`` may begin with those of an earlier one."""

    made: PairedRuns
    limits: Limits
    target: str
    seed: int | None = None
    pairs: list[Pair] = field(default_factory=list)
    wall_seconds: float = 0.0  # of the runs that were made before

    def run(
        self, save: Callable[[Confirmation], None], progress: Callable[[Progress], None]
    ) -> Confirmation:
        """Make runs until the difference is known or a limit is reached.

        ``save`` gets the result after every pair. Raises RecordError where the command fails, and
        KeyboardInterrupt: the measurements have been saved by then.
        """
        started, before, first = time.monotonic(), self.wall_seconds, self.made.runs
        order = orders(random.Random(self.seed))
        current, following = next(order), next(order)
        self.made.discard_first(current)

        def ran(which: int, seconds: float) -> None:
            windows, known = self.made.windows, assess(self.pairs)
            progress(
                Progress(
                    self.made.runs,
                    len(self.pairs),
                    (windows.present_kb, windows.proposed_kb)[which],
                    windows.proposed_kb,
                    seconds,
                    known,
                    self._left_s(first, started),
                    windows.change,
                )
            )

        while not assess(self.pairs).decided and self._within(first, started):
            self.made.announce((*current, *following))
            if (pair := self.made.pair(current, ran)) is not None:
                self.pairs.append(pair)
                current, following = following, next(order)
            self.wall_seconds = before + time.monotonic() - started
            save(self.result())
        return self.result()

    def result(self) -> Confirmation:
        """Return the present result."""
        found, bench, windows = assess(self.pairs), self.made.bench, self.made.windows
        return Confirmation(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            foreread=VERSION,
            target=self.target,
            kernel=bench.kernel,
            machine=bench.machine,
            model=bench.model,
            disks=list(bench.disks),
            present_kb=windows.present_kb,
            proposed_kb=windows.proposed_kb,
            outcome=found.outcome,
            gain=found.gain,
            low=found.low,
            high=found.high,
            pairs=list(self.pairs),
            change=windows.change,
            disturbed=self.made.disturbed,
            runs=self.made.runs,
            wall_seconds=round(self.wall_seconds, 3),
            notes=list(self.made.notes),
        )

    def _within(self, first: int, started: float) -> bool:
        """Return whether another pair may be made."""
        in_time = self.limits.in_time(time.monotonic() - started)
        return in_time and self.made.runs - first + 2 <= self.limits.runs + 1

    def _left_s(self, first: int, started: float) -> float:
        passed, made = time.monotonic() - started, self.made.runs - first
        return self.limits.left_s(passed, made, self.limits.runs + 1)
