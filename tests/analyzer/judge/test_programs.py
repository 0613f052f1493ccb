"""The programs of a judgement: the same everywhere, small, and complete."""

from functools import lru_cache

import pytest

from foreread.analyzer.judge.expected import Emulated
from foreread.analyzer.judge.programs import programs
from foreread.analyzer.judge.task import MOST_MAPPINGS
from foreread.emulator.linux.operations import Machine, MapFlag, Op
from foreread.emulator.linux.rules import CHANGES, rules_for

PAGES = (4096, 16384, 65536)
MIB = 1 << 20


@pytest.mark.parametrize("page", PAGES)
def test_programs_are_the_same_each_time_and_fit_on_a_small_board(page):
    made = programs(page)
    assert [task.operations for task in made] == [task.operations for task in programs(page)]
    assert len({task.name for task in made}) == len(made) >= 40
    assert sum(task.size for task in made) < 20 * MIB
    assert sum(len(task.mappings) for task in made) <= MOST_MAPPINGS


def test_every_operation_and_kind_of_mapping_occurs():
    made = programs(4096)
    ops = {op for task in made for op, *_ in task.operations}
    assert ops == {
        Op.OPEN,
        Op.READ,
        Op.FAULT,
        Op.NORMAL,
        Op.SEQUENTIAL,
        Op.RANDOM,
        Op.WILLNEED,
    }
    flags = {flag for task in made for *_, flag in task.mappings}
    assert flags >= {MapFlag(0), MapFlag.EXEC, MapFlag.SHARED, MapFlag.SEQUENTIAL, MapFlag.RANDOM}


@pytest.mark.parametrize("page", PAGES)
def test_operations_stay_within_the_files(page):
    for task in programs(page):
        for op, handle, mapping, at, _ in task.operations:
            assert handle < task.handles
            if op == Op.READ:
                most = task.size + 4 * page if "the end" in task.name else task.size - 1
                assert 0 <= at <= most
            elif op == Op.FAULT:
                _, start, pages, _ = task.mappings[mapping]
                assert start <= at < start + pages <= task.pages


def emulated(page, tasks=None):
    machine = Machine(page_size=page, io_pages=128 * 1024 // page)
    return Emulated(tasks or programs(page), rules_for((6, 12)), machine, large_folios=False)


def test_each_insert_has_the_operation_that_read_it():
    given = emulated(4096)
    row = next(r for r, task in enumerate(given.tasks) if task.name == "reads every 20th page")
    expected = given.at(0)[row]
    task = given.tasks[row]
    read = [task.operations[step][3] // 4096 for step in expected.steps]
    assert read == [page for page, _ in expected.folios]


# Changes of the rules that these programs do not show, and why.
UNSEEN = {
    (5, 10): "a marker that nothing reaches, and a read at a window of 0 that asks another way",
    (6, 0): "squashfs",
    (6, 18): "large folios mapped beyond the 16 pages of fault-around",
    (6, 19): "huge pages",
}
WINDOWS = (1, 4, 8, 32)


@lru_cache(maxsize=4)
def reads(version):
    """What the kernel reads of every program, at every window, with and without large folios."""
    found = []
    for large in (False, True):
        given = Emulated(programs(4096), rules_for(version), Machine(), large)
        found += [[one.folios for one in given.at(window)] for window in WINDOWS]
    return found


@pytest.mark.thorough
def test_every_change_of_the_rules_since_linux_3_7_shows_in_some_program():
    """A kernel judged by these programs cannot have the rules of the version before."""
    versions = sorted({change.since for change in CHANGES if change.since >= (3, 7)})
    before = [(3, 6), *versions]
    same = {v for old, v in zip(before, versions, strict=False) if reads(old) == reads(v)}
    assert same == set(UNSEEN)
