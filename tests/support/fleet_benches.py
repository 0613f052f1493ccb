"""Benches of a fleet without machines: a board process opens one by its target's words.

A target is NAME or NAME:WORD:…: ``slower=P`` takes P % more, ``dies=N`` is lost for good in its
N-th run, ``naps=N`` is lost in it and back, ``kernel=K`` has another kernel, ``sleeps=S`` sleeps S
seconds a run (else 0.05), ``lingers=S`` needs S seconds to put back, ``broken=N`` fails every run
from the N-th on, ``absent`` cannot be opened. What a bench has set and put back is written to
FLEET_LOG/NAME.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from pathlib import Path

from trial_benches import KnownBench

from boards.target import TargetError
from foreread import evaluator
from tracer.local.trial import Outcome

evaluator.BACK_S, evaluator._AGAIN_S = 0.5, 0.05


class FleetBench(KnownBench):
    """Takes its time, and is lost when its target says so."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self.name, *words = target.split(":")
        self.words = dict(word.partition("=")[::2] for word in words)
        self.kernel = self.words.get("kernel", "6.1.0")
        self.gone = False

    def probe(self, knobs):
        if self.gone:
            raise TargetError(f"{self.name} is gone", "look after it")
        return super().probe(knobs)

    def run(self, trial):
        note(self.name, "set")
        try:
            time.sleep(float(self.words.get("sleeps", 0.05)))  # boards that take turns
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
            time.sleep(float(self.words.get("lingers", 0)))
            note(self.name, "put back")
        seconds = found.seconds * (1 + float(self.words.get("slower", 0)) / 100)
        return Outcome("ok", seconds, cold=True, counters=found.counters)


_gone: dict[str, FleetBench] = {}


@contextmanager
def open_fleet_bench(asked, _trials, _tell):
    bench = _gone.setdefault(asked.target, FleetBench(asked.target))
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
