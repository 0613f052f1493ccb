"""A bench of ``confirm`` without a machine: a start that rows of advice make faster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from foreread.boards.base.silent import silent
from foreread.boards.device import Disk
from foreread.tracer.trials.trial import Outcome, Trial


@dataclass
class RowBench:
    """A start that takes 1 s, and ``changed_s`` with anything that a row changes.

    ``fails``: is called before each run, and may raise what ends the comparison.
    """

    capture: object
    made: list[Trial] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    changed_s: float = 0.8
    fails: Callable[[], None] = silent

    def __post_init__(self):
        host = self.capture.host
        self.kernel, self.machine, self.model = host.kernel, host.machine, host.cpu_model
        self.page_bytes = host.page_size
        disk = max(self.capture.devices, key=lambda one: len(one.filesystems))
        self.disks = [disk.name]
        self.known = [Disk(disk.name, disk.dev, disk.size_bytes, disk.model)]
        self.windows = [f"/sys/block/{disk.name}/queue/read_ahead_kb"]

    def probe(self, knobs):
        return dict.fromkeys(knobs, "128")

    def announce(self, trials):
        pass

    def run(self, trial):
        self.fails()
        self.made.append(trial)
        changed = trial.replays or trial.later or trial.settings[0][1] != "128"
        noise = len(self.made) % 5 / 1000
        seconds = (self.changed_s if changed else 1.0) + noise
        return Outcome("ok", seconds, dict(trial.settings), cold=True)
