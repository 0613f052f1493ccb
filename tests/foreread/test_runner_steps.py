"""The programs of a judgement as steps of the runner."""

import pytest

from foreread.analyzer.judge.expected import Emulated
from foreread.analyzer.judge.programs import programs
from foreread.analyzer.judge.task import MAPPED, MOST_MAPPINGS, PIECE
from foreread.emulator.linux.operations import Machine, Op
from foreread.emulator.linux.rules import rules_for
from foreread.judging.steps import runner_steps
from foreread.tracer.runner.executable import executable
from foreread.tracer.runner.steps import Map, Open, Pause, Read, Touch

PAGES = (4096, 16384, 65536)


def emulated(page, tasks=None):
    machine = Machine(page_size=page, io_pages=128 * 1024 // page)
    return Emulated(tasks or programs(page), rules_for((6, 12)), machine, large_folios=False)


@pytest.mark.parametrize("page", PAGES)
def test_the_runner_does_the_operations_of_the_emulation(page):
    given = emulated(page)
    expected = [given.at(0), given.at(128 * 1024 // page)]
    paths = [f"/files/{row}" for row in range(len(given.tasks))]
    steps = list(runner_steps(given, paths, expected, frozenset(range(len(given.tasks)))))
    operations = [one for task in given.tasks for one in task.operations]
    for kind, op in ((Open, Op.OPEN), (Read, Op.READ), (Touch, Op.FAULT)):
        assert sum(isinstance(step, kind) for step in steps) == sum(o[0] == op for o in operations)
    maps = sorted((one.address, one.address + one.length) for one in steps if isinstance(one, Map))
    ends = [end for _, end in maps]
    starts = [start for start, _ in maps]
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    assert starts[0] >= MAPPED
    assert ends[-1] <= MAPPED + MOST_MAPPINGS * PIECE < 1 << 31
    assert len({step.fd for step in steps if isinstance(step, Open)}) == sum(
        task.handles for task in given.tasks
    )
    assert executable(steps, "aarch64", "little")


def test_only_programs_with_mappings_pause_and_only_after_reading_ahead():
    given = emulated(4096)
    expected = [given.at(0), given.at(32)]
    for row, task in enumerate(given.tasks):
        steps = list(runner_steps(given, [""] * len(given.tasks), expected, frozenset({row})))
        assert any(isinstance(step, Pause) for step in steps) <= bool(task.mappings)
    alone = [given.at(0)]
    steps = runner_steps(given, [""] * len(given.tasks), alone, frozenset(range(len(given.tasks))))
    waits = sum(isinstance(step, Pause) for step in steps)
    assert waits < 10  # what WILLNEED asks for is read ahead at any window
