"""Benches for ``confirm`` on several boards, without machines: a board process opens each by name.

A target is as in fleet_benches.py, with ``saves=P``: the proposed window saves P % more on this
board, ``noise=P``: its runs differ by P % (standard deviation, by the board's name), and
``closes=S``: it needs S seconds to put its board back. The windows of its runs are written to
FLEET_LOG/NAME.windows.
"""

from __future__ import annotations

import math
import random
from contextlib import contextmanager

from fleet_benches import FleetBench, note
from waiting import take_time

from foreread.boards.target import TargetError

PRESENT_KB = "128"


class PairedBench(FleetBench):
    """Has every window that it is asked for."""

    def __init__(self, target: str) -> None:
        super().__init__(target)
        self._random = random.Random(self.name)

    def run(self, trial):
        found = super().run(trial)
        if found.seconds is None:
            return found
        settings = dict(trial.settings)
        note(f"{self.name}.windows", settings[self.windows[0]])
        seconds = found.seconds
        if settings[self.windows[0]] != PRESENT_KB:
            seconds *= 1 - float(self.words.get("saves", 0)) / 100
        seconds *= math.exp(self._random.gauss(0, float(self.words.get("noise", 0)) / 100))
        return type(found)("ok", seconds, settings, cold=True)


@contextmanager
def open_paired_bench(target, *_opening):
    bench = PairedBench(target)
    if "absent" in bench.words:
        raise TargetError(f"{bench.name} cannot be reached", "switch it on")
    note(bench.name, "opened")
    try:
        yield bench
    finally:
        take_time(float(bench.words.get("closes", 0)))
        note(bench.name, "closed")
