"""Benches of a fleet without machines: a board process opens one by its target's words.

A target is NAME or NAME:WORD:…: ``slower=P`` takes P % more, ``dies=N`` is lost for good in its
N-th run, ``naps=N`` is lost in it and back, ``kernel=K`` has another kernel, ``sleeps=S`` sleeps S
seconds a run, ``takes=S`` is how long that is to fleet_turns.py, ``lingers=S`` needs S seconds to
put back, ``broken=N`` fails every run from the N-th on, ``absent`` cannot be opened. What a bench
has set and put back is written to FLEET_LOG/NAME.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path

from trial_benches import KnownBench
from waiting import take_time

from foreread.boards.base.interrupts import uninterrupted
from foreread.boards.target import TargetError
from foreread.tracer.trials.trial import Outcome
from foreread.tuning import evaluator

evaluator.BACK_S, evaluator._AGAIN_S = 0.5, 0.05


class FleetBench(KnownBench):
    """Takes its time, and is lost when its target says so."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self.name, self.words = target.partition(":")[0], words_of(target)
        self.kernel = self.words.get("kernel", "6.1.0")
        self.gone = False

    def probe(self, knobs):
        if self.gone:
            raise TargetError(f"{self.name} is gone", "look after it")
        return super().probe(knobs)

    def run(self, trial):
        with uninterrupted():  # a signal waits until all is put back
            return self._run(trial)

    def _run(self, trial):
        note(self.name, "set")
        try:
            take_time(float(self.words.get("sleeps", 0)))
            found = super().run(trial)
            number = len(self.trials)
            if number == int(self.words.get("dies", 0)):
                self.gone = True
                raise TargetError(f"{self.name} died", "look after it")
            if number == int(self.words.get("naps", 0)):
                raise TargetError(f"{self.name} was away", "look after it")
            if number >= int(self.words.get("broken", 10**9)):
                return Outcome("failed", notes=("its disk fails",))
        finally:
            take_time(float(self.words.get("lingers", 0)))
            note(self.name, "put back")
        seconds = found.seconds * (1 + float(self.words.get("slower", 0)) / 100)
        return Outcome("ok", seconds, cold=True, counters=found.counters)


def words_of(target: str) -> dict[str, str]:
    """Return what a target says of its bench."""
    return dict(word.partition("=")[::2] for word in target.split(":")[1:])


_gone: dict[str, FleetBench] = {}


@contextmanager
def open_fleet_bench(target, *_opening):
    bench = _gone.setdefault(target, FleetBench(target))
    if bench.gone or bench.name == os.environ.get("FLEET_ABSENT") or "absent" in bench.words:
        raise TargetError(f"{bench.name} cannot be reached", "switch it on")
    note(bench.name, "opened")
    try:
        yield bench
    finally:
        note(bench.name, "closed")


def note(name: str, what: str) -> None:
    """Write what a bench did; the test reads it."""
    if folder := os.environ.get("FLEET_LOG"):
        with Path(folder, name).open("a") as file:
            file.write(f"{what}\n")
