"""A bench of trials without a machine: for what the command does around them."""

from __future__ import annotations

import math
from contextlib import contextmanager

from foreread.boards.device import Disk
from foreread.boards.target import TargetError
from foreread.tracer.trials.trial import Outcome

QUEUE = "/sys/block/sda/queue"
KNOBS = {
    f"{QUEUE}/scheduler": "none [mq-deadline] bfq",
    f"{QUEUE}/read_ahead_kb": "128",
    "/proc/sys/vm/swappiness": "60",
}


class KnownBench:
    """Starts take a known time: bfq saves a quarter, and the window 32 a tenth."""

    kernel = "6.1.0"
    page_bytes = 4096
    disks = ["sda"]  # noqa: RUF012  (as the protocol has it)
    windows = [f"{QUEUE}/read_ahead_kb"]  # noqa: RUF012
    mounted = ""
    machine, model = "armv7l", "Some Board"
    known = [Disk("sda", "8:0", 1 << 30, "SD1GB")]  # noqa: RUF012
    notes: list[str] = []  # noqa: RUF012

    def __init__(self, lost_at: int | None = None, error: BaseException | None = None) -> None:
        self.trials: list = []
        self.tried: list = []  # scenarios whose load was tried
        self.opened = 0
        self._lost_at = lost_at
        self._error = error or TargetError("the target is gone", "look after it")

    def probe(self, knobs):
        return {knob: KNOBS[knob] for knob in knobs if knob in KNOBS}

    def check_load(self, scenario):
        self.tried.append(scenario)

    def announce(self, trials):
        pass

    def run(self, trial):
        self.trials.append(trial)
        if len(self.trials) == self._lost_at:
            raise self._error
        settings = dict(trial.settings)
        cost = 0.75 if settings.get(f"{QUEUE}/scheduler") == "bfq" else 1.0
        cost *= 1 + 0.05 * abs(math.log2(int(settings.get(f"{QUEUE}/read_ahead_kb", 128)) / 32))
        jitter = 1 + 0.001 * (len(self.trials) % 7)
        counters = {"io_reads" if trial.scenario.kind == "reader" else "io_writes": 50.0}
        return Outcome("ok", cost * jitter, cold=True, counters=counters)

    @contextmanager
    def open(self, *_opening):
        self.opened += 1
        yield self
