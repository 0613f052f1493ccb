"""Confirms a proposed window: paired cold runs until the difference is known."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from analyzer.confirm.sequential import PRESENT, PROPOSED, Assessment, Pair, assess, orders
from foreread.version import VERSION
from tracer.error import RecordError
from tracer.formats.confirmation import Confirmation
from tracer.local.beside import Later
from tracer.local.trial import Outcome, Trial, TrialBench, check_run

_MOST_NOTES = 20
_WARM_TRIES = 3
_STEPS = ("at the present window", "at the proposed window")


@dataclass(frozen=True)
class Windows:
    """The two settings of a comparison: (knob, KiB) each, and the KiB that names each."""

    present: tuple[tuple[str, str], ...]
    proposed: tuple[tuple[str, str], ...]
    present_kb: int
    proposed_kb: int
    change: str = ""  # what else the proposed runs have, in words
    replays: bool = False
    later: tuple[Later, ...] = ()

    def trial(self, which: int) -> Trial:
        """Return the trial at one of them."""
        if which == PRESENT:
            return Trial(self.present)
        return Trial(self.proposed, replays=self.replays, later=self.later)


@dataclass(frozen=True)
class Limits:
    """When runs end without an answer; seconds are of this machine's time."""

    runs: int = 60
    seconds: float | None = None


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


@dataclass
class Confirming:
    """A comparison under way; ``pairs`` may begin with those of an earlier one."""

    bench: TrialBench
    windows: Windows
    limits: Limits
    target: str
    seed: int | None = None
    pairs: list[Pair] = field(default_factory=list)
    disturbed: int = 0
    runs: int = 0
    notes: list[str] = field(default_factory=list)
    wall_seconds: float = 0.0  # of the runs that were made before

    def run(
        self, save: Callable[[Confirmation], None], progress: Callable[[Progress], None]
    ) -> Confirmation:
        """Make runs until the difference is known or a limit is reached.

        ``save`` gets the result after every pair. Raises RecordError where the command fails, and
        KeyboardInterrupt: the measurements have been saved by then.
        """
        started, before, first = time.monotonic(), self.wall_seconds, self.runs
        order = orders(random.Random(self.seed))
        current, following = next(order), next(order)
        self.bench.announce([self.windows.trial(PRESENT), *self._trials(current)])
        self._made(PRESENT)  # the first run after a mount is slower: it is not counted
        while not assess(self.pairs).decided and self._within(first, started):
            self.bench.announce(self._trials((*current, *following)))
            counted = self._pair(current, progress, lambda: self._left_s(first, started))
            if counted:
                current, following = following, next(order)
            self.wall_seconds = before + time.monotonic() - started
            save(self.result())
        return self.result()

    def result(self) -> Confirmation:
        """Return the present result."""
        found, bench = assess(self.pairs), self.bench
        return Confirmation(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            foreread=VERSION,
            target=self.target,
            kernel=bench.kernel,
            machine=bench.machine,
            model=bench.model,
            disks=list(bench.disks),
            present_kb=self.windows.present_kb,
            proposed_kb=self.windows.proposed_kb,
            outcome=found.outcome,
            gain=found.gain,
            low=found.low,
            high=found.high,
            pairs=list(self.pairs),
            change=self.windows.change,
            disturbed=self.disturbed,
            runs=self.runs,
            wall_seconds=round(self.wall_seconds, 3),
            notes=list(self.notes),
        )

    def _trials(self, order: Sequence[int]) -> list[Trial]:
        return [self.windows.trial(which) for which in order]

    def _within(self, first: int, started: float) -> bool:
        """Return whether another pair may be made."""
        seconds = self.limits.seconds
        in_time = seconds is None or time.monotonic() - started < seconds
        return in_time and self.runs - first + 2 <= self.limits.runs + 1

    def _left_s(self, first: int, started: float) -> float:
        passed, made = time.monotonic() - started, self.runs - first
        left = passed / made * max(self.limits.runs + 1 - made, 0)
        seconds = self.limits.seconds
        return left if seconds is None else max(0.0, min(left, seconds - passed))

    def _pair(
        self,
        order: Sequence[int],
        progress: Callable[[Progress], None],
        left_s: Callable[[], float],
    ) -> bool:
        """Make one run at each window and return whether the pair counts.

        A disturbed pair is made again, but not more than half of them are. Which pairs count must
        not depend on their seconds, or the interval would not hold.
        """
        seconds, calm = [0.0, 0.0], True
        for which in order:
            outcome = self._made(which)
            seconds[which] = check_run(outcome)
            calm = calm and outcome.status == "ok"
            now_kb, then_kb = self.windows.present_kb, self.windows.proposed_kb
            kb, known = (now_kb, then_kb)[which], assess(self.pairs)
            change, counted = self.windows.change, len(self.pairs)
            made = Progress(
                self.runs, counted, kb, then_kb, seconds[which], known, left_s(), change
            )
            progress(made)
        if not calm and self.disturbed <= len(self.pairs):
            self.disturbed += 1
            return False
        self.pairs.append((seconds[PRESENT], seconds[PROPOSED]))
        return True

    def _made(self, which: int) -> Outcome:
        """Make one run whose windows were those asked for."""
        trial = self.windows.trial(which)
        outcome = self.bench.run(trial)
        self.runs += 1
        for _ in range(_WARM_TRIES):  # somebody else reads files just now
            if outcome.status != "warm":
                break
            outcome = self.bench.run(trial)
            self.runs += 1
        check_run(outcome)
        wrong = [knob for knob, kb in trial.settings if outcome.in_force.get(knob) != kb]
        if wrong:
            raise RecordError(
                f"{wrong[0]} was {outcome.in_force.get(wrong[0])} {_STEPS[which]}",
                "test a window that the kernel accepts: add --read-ahead-kb K",
            )
        said = (*outcome.repeated, *outcome.notes)
        new = [note for note in said if note not in self.notes]
        self.notes += new[: _MOST_NOTES - len(self.notes)]
        return outcome
