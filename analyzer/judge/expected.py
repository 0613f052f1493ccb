"""What the emulation reads for each program of a judgement at each window, step by step."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analyzer.judge.task import Task
from emulator.linux.operations import Machine, Outcome
from emulator.linux.reference import Replay
from emulator.linux.rules import Rules


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
    """The programs, and what a kernel of ``rules`` would read; ``large_folios``: of their files."""

    tasks: Sequence[Task]
    rules: Rules
    machine: Machine
    large_folios: bool

    def at(self, window: int) -> list[Expected]:
        """Return the reads of each program at a window in pages."""
        return [
            self._one(task, first, window)
            for task, (_, first) in zip(self.tasks, self.firsts(), strict=True)
        ]

    def _one(self, task: Task, first_mapping: int, window: int) -> Expected:
        program = task.program(first_mapping, self.large_folios)
        replay = Replay(program, self.rules, window, self.machine)
        outcome = replay.kernel.outcome
        steps: list[int] = []
        for step, operation in enumerate(program.operations.tolist()):
            deque(replay.do(*operation), maxlen=0)
            steps += [step] * (len(outcome.inserts) - len(steps))
        return Expected(outcome, steps)

    def firsts(self) -> Iterator[tuple[int, int]]:
        """Yield the numbers of each program's first handle and mapping."""
        handles = mappings = 0
        for task in self.tasks:
            yield handles, mappings
            handles, mappings = handles + task.handles, mappings + len(task.mappings)
