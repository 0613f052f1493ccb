"""The emulation's reads for each generated program at each window, step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from foreread.analyzer.judge.task import Task
from foreread.emulator.linux.operations import Machine, Outcome
from foreread.emulator.linux.requests import EXTENT, Limits
from foreread.emulator.linux.rules import Rules
from foreread.emulator.linux.windows import Emulation

_LIMITS = Limits(1280)


@dataclass(frozen=True)
class Expected:
    """The reads of one program at one window; ``steps`` has the operation of each insert."""

    outcome: Outcome
    steps: list[int]

    @property
    def folios(self) -> list[tuple[int, int]]:
        """The (page, order) that enter the page cache, in order."""
        return [(index, order) for _, index, order, _ in self.outcome.inserts]

    def reading_ahead(self) -> set[int]:
        """Return the operations that read more than one folio."""
        return {step for step, count in Counter(self.steps).items() if count > 1}


@dataclass(frozen=True)
class Emulated:
    """The programs under a kernel of ``rules``; ``large_folios``: whether their files have them."""

    tasks: Sequence[Task]
    rules: Rules
    machine: Machine
    large_folios: bool

    def at(self, window: int) -> list[Expected]:
        """Return the reads of each program at a window in pages."""
        return [
            self._expected(task, first, window)
            for task, (_, first) in zip(self.tasks, self.firsts(), strict=True)
        ]

    def _expected(self, task: Task, first_mapping: int, window: int) -> Expected:
        program = task.program(first_mapping, self.large_folios)
        group = np.zeros(len(program.files), np.uint32)
        nowhere = np.zeros(0, EXTENT)  # which folios are read depends on neither places nor limits
        emulation = Emulation(program, self.rules, self.machine, _LIMITS, nowhere, group)
        inserts = emulation.inserts(window)
        columns = ("file", "index", "order", "run")
        rows = list(zip(*(inserts[name].tolist() for name in columns), strict=True))
        pages = -(-task.size // self.machine.page_size)
        empty = {run for _, index, _, run in rows if index >= pages}
        return Expected(Outcome(rows, empty=empty), inserts["operation"].tolist())

    def firsts(self) -> Iterator[tuple[int, int]]:
        """Yield the numbers of each program's first handle and mapping."""
        handles = mappings = 0
        for task in self.tasks:
            yield handles, mappings
            handles, mappings = handles + task.handles, mappings + len(task.mappings)
