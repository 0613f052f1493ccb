"""Paired cold runs on one bench: one at the present and one at the proposed setting."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self

from foreread.analyzer.confirm.sequential import PRESENT, PROPOSED, Pair, orders
from foreread.tracer.error import RecordError
from foreread.tracer.trials.beside import Later
from foreread.tracer.trials.trial import Outcome, Scenario, Trial, TrialBench, check_run

_MOST_NOTES = 20
_WARM_TRIES = 3
_STEPS = ("at the present window", "at the proposed window")

Ran = Callable[[int, float], None]  # is called after each run, with PRESENT or PROPOSED and seconds


@dataclass(frozen=True)
class Windows:
    """The two settings of a comparison: (knob, KiB) each, and the KiB that names each."""

    present: tuple[tuple[str, str], ...]
    proposed: tuple[tuple[str, str], ...]
    present_kb: int
    proposed_kb: int
    scenario: Scenario = field(default_factory=Scenario)  # load during all runs
    change: str = ""  # what else the proposed runs have, in words
    replays: bool = False
    later: tuple[Later, ...] = ()
    memory_kib: int | None = None  # of all runs
    preloads: bool = False

    def trial(self, which: int) -> Trial:
        """Return the trial at one of them."""
        if which == PRESENT:
            return Trial(self.present, self.scenario)
        return Trial(self.proposed, self.scenario, self.replays, self.later, self.preloads)


@dataclass(frozen=True)
class ComparedBoard:
    """The description of a board with an open bench, and the windows that it compares."""

    kernel: str
    machine: str
    model: str
    page_bytes: int
    disks: tuple[str, ...]
    windows: Windows
    notes: tuple[str, ...]

    @classmethod
    def of(cls, bench: TrialBench, windows: Windows) -> Self:
        """Return the description of an open bench."""
        return cls(
            bench.kernel,
            bench.machine,
            bench.model,
            bench.page_bytes,
            tuple(bench.disks),
            windows,
            tuple(bench.notes),
        )


@dataclass
class PairedRuns:
    """Makes and counts the runs of a bench; ``notes`` are about the runs.

    ``counted`` and ``disturbed`` are numbers of pairs, ``runs`` has all runs, also discarded ones.
    ``seed`` is the random seed of the orders of the pairs. A run that the limit of its memory or
    ``killed_s`` ends counts as so many seconds. Its functions raise RecordError if the command
    fails.
    """

    bench: TrialBench
    windows: Windows
    seed: int | str | None = None
    runs: int = 0
    counted: int = 0
    disturbed: int = 0
    notes: list[str] = field(default_factory=list)
    killed_s: float = math.inf

    def __post_init__(self) -> None:
        self._orders = orders(random.Random(self.seed))
        self._order, self._following = next(self._orders), next(self._orders)

    def resume(self, counted: int, disturbed: int) -> None:
        """Go on after so many pairs: which may be disturbed depends on them."""
        self.counted, self.disturbed = counted, disturbed

    def discard_first(self) -> None:
        """Make the first run after a mount, which is slower, before the first pair."""
        self._announce((PRESENT, *self._order))
        self._made(PRESENT)

    def pair(self, ran: Ran) -> Pair | None:
        """Make one run at each window and return their seconds; None if the pair does not count.

        A disturbed pair is made again in its order, but not more than half of them are. Which pairs
        count must not depend on their seconds, or the interval would not hold.
        """
        self._announce((*self._order, *self._following))
        seconds, calm, killed = [0.0, 0.0], True, 0
        for which in self._order:
            outcome = self._made(which)
            seconds[which] = self.killed_s if outcome.killed else check_run(outcome)
            killed += outcome.killed is not None
            calm = calm and (outcome.status == "ok" or outcome.killed is not None)
            ran(which, seconds[which])
        if killed == len(seconds):
            raise RecordError(
                "the command was killed by the limit of its memory or its time, at both windows",
                "give it more with --memory SIZE, or more time with --limit S",
            )
        if not calm and self.disturbed <= self.counted:
            self.disturbed += 1
            return None
        self.counted += 1
        self._order, self._following = self._following, next(self._orders)
        return seconds[PRESENT], seconds[PROPOSED]

    def _announce(self, which: Sequence[int]) -> None:
        self.bench.announce([self.windows.trial(each) for each in which])

    def _made(self, which: int) -> Outcome:
        """Make one run, and check that its windows were in force."""
        trial = self.windows.trial(which)
        outcome = self.bench.run(trial)
        self.runs += 1
        for _ in range(_WARM_TRIES):  # somebody else reads files just now
            if outcome.status != "warm":
                break
            outcome = self.bench.run(trial)
            self.runs += 1
        if outcome.killed is None:
            check_run(outcome)
        in_force = outcome.in_force or (dict(trial.settings) if outcome.killed else {})
        wrong = [knob for knob, kb in trial.settings if in_force.get(knob) != kb]
        if wrong:
            raise RecordError(
                f"{wrong[0]} was {in_force.get(wrong[0])} {_STEPS[which]}",
                "test a window that the kernel accepts: add --read-ahead-kb K",
            )
        notes = (*outcome.repeated, *(self._killed(which) if outcome.killed else outcome.notes))
        new = [note for note in notes if note not in self.notes]
        self.notes += new[: _MOST_NOTES - len(self.notes)]
        return outcome

    def _killed(self, which: int) -> list[str]:
        return [
            f"a start {_STEPS[which]} was killed by the limit of its memory or its time: it counts "
            f"as {self.killed_s:g} s"
        ]
