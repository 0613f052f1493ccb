"""The programs of a judgement as steps of the runner that executes them on a target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foreread.analyzer.judge.expected import Emulated, Expected
from foreread.analyzer.judge.task import Task
from foreread.emulator.linux.operations import MapFlag, Op
from foreread.tracer.runner.steps import Advice, Advise, Map, Open, Pause, Read, Step, Touch

_FIRST_FD = 200  # what the runner inherits is below
_ADVICE = {
    Op.NORMAL: Advice.NORMAL,
    Op.SEQUENTIAL: Advice.SEQUENTIAL,
    Op.RANDOM: Advice.RANDOM,
    Op.WILLNEED: Advice.WILLNEED,
}


def runner_steps(
    emulated: Emulated,
    paths: Sequence[str],
    by_window: Sequence[Sequence[Expected]],
    only: frozenset[int],
) -> Iterator[Step]:
    """Yield the steps of the programs in the rows ``only``; ``paths`` are their files.

    A program with mappings pauses after whatever reads ahead at any window (``by_window``): a page
    that is still being read is not mapped around, and the kernel would see other touches than the
    emulation.
    """
    for row, (task, firsts) in enumerate(zip(emulated.tasks, emulated.firsts(), strict=True)):
        if row in only:
            ahead = {step for expected in by_window for step in expected[row].reading_ahead()}
            pauses = ahead if task.mappings else set()
            yield from _steps(task, paths[row], *firsts, pauses)


def _steps(
    task: Task, path: str, first_handle: int, first_mapping: int, pauses: set[int]
) -> Iterator[Step]:
    mapped: set[int] = set()
    for step, (op, handle, mapping, at, length) in enumerate(task.operations):
        fd = _FIRST_FD + first_handle + handle
        if op == Op.OPEN:
            yield Open(fd, path)
        elif op == Op.READ:
            yield Read(fd, at, length)
        elif op == Op.FAULT:
            address = task.address(first_mapping + mapping)
            if mapping not in mapped:
                mapped.add(mapping)
                yield _map(task, mapping, address, first_handle)
            first = task.mappings[mapping][1]
            yield Touch(address + (at - first) * task.page_size, write=bool(length))
        else:
            yield Advise(fd, _ADVICE[op], at * task.page_size, length * task.page_size)
        if step in pauses:
            yield Pause()


def _map(task: Task, mapping: int, address: int, first_handle: int) -> Map:
    handle, start, pages, flags = task.mappings[mapping]
    advice = Advice.NORMAL
    if flags & MapFlag.SEQUENTIAL:
        advice = Advice.SEQUENTIAL
    elif flags & MapFlag.RANDOM:
        advice = Advice.RANDOM
    return Map(
        _FIRST_FD + first_handle + handle,
        address,
        start * task.page_size,
        pages * task.page_size,
        executable=bool(flags & MapFlag.EXEC),
        shared=bool(flags & MapFlag.SHARED),
        advice=advice,
    )
