"""Confirms a proposed window: paired cold runs until the difference is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from analyzer.confirm.sequential import Assessment, Pair, assess
from foreread.measuring.pairs import ComparedBoard, PairedRuns, Windows
from foreread.version import VERSION
from tracer.formats.confirmation import BoardRuns, Confirmation
from tracer.local.trial import TrialBench


@dataclass(frozen=True)
class RunLimits:
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
class PairProgress:
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


def confirmation_of(
    machine: TrialBench | ComparedBoard,
    windows: Windows,
    pairs: Sequence[Pair],
    *,
    target: str,
    runs: int,
    disturbed: int,
    wall_seconds: float,
    notes: Sequence[str],
    boards: Sequence[BoardRuns] = (),
    made_on: Sequence[int] = (),
) -> Confirmation:
    """Return the result of pairs, as of now."""
    found = assess(pairs, made_on)
    return Confirmation(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        foreread=VERSION,
        target=target,
        kernel=machine.kernel,
        machine=machine.machine,
        model=machine.model,
        disks=list(machine.disks),
        present_kb=windows.present_kb,
        proposed_kb=windows.proposed_kb,
        outcome=found.outcome,
        gain=found.gain,
        low=found.low,
        high=found.high,
        pairs=list(pairs),
        scenario=windows.scenario.text,
        change=windows.change,
        disturbed=disturbed,
        runs=runs,
        wall_seconds=round(wall_seconds, 3),
        notes=list(notes),
        boards=list(boards),
        made_on=list(made_on),
    )


@dataclass
class Confirming:
    """A comparison under way; ``pairs`` may begin with those of an earlier one."""

    made: PairedRuns
    limits: RunLimits
    target: str
    pairs: list[Pair] = field(default_factory=list)
    wall_seconds: float = 0.0  # of the runs that were made before

    def run(
        self, save: Callable[[Confirmation], None], progress: Callable[[PairProgress], None]
    ) -> Confirmation:
        """Make runs until the difference is known or a limit is reached.

        ``save`` gets the result after every pair. Raises RecordError where the command fails, and
        KeyboardInterrupt: the measurements have been saved by then.
        """
        started, before, first = time.monotonic(), self.wall_seconds, self.made.runs
        self.made.discard_first()

        def ran(which: int, seconds: float) -> None:
            windows, known = self.made.windows, assess(self.pairs)
            progress(
                PairProgress(
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
            if (pair := self.made.pair(ran)) is not None:
                self.pairs.append(pair)
            self.wall_seconds = before + time.monotonic() - started
            save(self.result())
        return self.result()

    def result(self) -> Confirmation:
        """Return the present result."""
        made = self.made
        return confirmation_of(
            made.bench,
            made.windows,
            self.pairs,
            target=self.target,
            runs=made.runs,
            disturbed=made.disturbed,
            wall_seconds=self.wall_seconds,
            notes=made.notes,
        )

    def _within(self, first: int, started: float) -> bool:
        """Return whether another pair may be made."""
        in_time = self.limits.in_time(time.monotonic() - started)
        return in_time and self.made.runs - first + 2 <= self.limits.runs + 1

    def _left_s(self, first: int, started: float) -> float:
        passed, made = time.monotonic() - started, self.made.runs - first
        return self.limits.left_s(passed, made, self.limits.runs + 1)
