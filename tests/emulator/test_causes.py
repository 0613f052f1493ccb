"""By which rule a page was read."""

from __future__ import annotations

import numpy as np
import pytest

from foreread.emulator.linux.operations import FILE, MAPPING, OPERATION, Cause, MapFlag, Op, Program
from foreread.emulator.linux.rules import rules_for, version_of
from foreread.emulator.stepwise.replay import emulate

PAGE = 4096
EXEC = int(MapFlag.EXEC)


def causes(*operations, release="6.12", window=32, flags=0, block=0):
    """Return the pages read, by rule."""
    program = Program(
        np.array([(op, 0, 0, at, length) for op, at, length in operations], OPERATION),
        np.array([(0, 0, 1000, 0x1000, flags)], MAPPING),
        np.zeros(1, np.uint32),
        np.array([(1000 * PAGE, 0, block, -1)], FILE),
    )
    outcome = emulate(program, rules_for(version_of(release)), window)
    assert len(outcome.causes) == len(outcome.inserts)
    found = {}
    for (_, index, order, _), cause in zip(outcome.inserts, outcome.causes, strict=True):
        found.setdefault(cause, []).extend(range(index, index + (1 << order)))
    return found


@pytest.mark.parametrize(
    ("operations", "options", "expected"),
    [
        ([(Op.SINGLE, 5, 0)], {}, {Cause.ALONE: [5]}),
        ([(Op.FAULT, 5, 0)], {"window": 0}, {Cause.ALONE: [5]}),
        ([(Op.FAULT, 100, 0)], {}, {Cause.AROUND: [*range(84, 116)]}),
        (
            [(Op.FAULT, 100, 0)],
            {"release": "6.18", "flags": EXEC},
            {Cause.EXEC: [*range(100, 132)]},
        ),
        ([(Op.READ, 100 * PAGE, PAGE)], {}, {Cause.ASKED: [100]}),
        ([(Op.READ, 0, PAGE)], {}, {Cause.SEQUENTIAL: [0, 1, 2, 3]}),
        (
            [(Op.READ, 0, PAGE), (Op.READ, PAGE, PAGE)],
            {},
            {Cause.SEQUENTIAL: [0, 1, 2, 3], Cause.MARKER: [*range(4, 12)]},
        ),
        ([(Op.WILLNEED, 50, 3)], {}, {Cause.ADVICE: [50, 51, 52]}),
        (
            [(Op.READ, 0, PAGE), (Op.READ, PAGE, PAGE)],
            {"release": "2.6.18"},
            {Cause.SEQUENTIAL: [0, 1, 2, 3], Cause.MARKER: [*range(4, 12)]},
        ),
    ],
)
def test_each_rule_names_its_pages(operations, options, expected):
    assert causes(*operations, **options) == expected


def test_cached_pages_before_a_miss_make_it_sequential():
    before = [(Op.SINGLE, page, 0) for page in range(60, 64)]
    assert Cause.HISTORY in causes(*before, (Op.READ, 64 * PAGE, PAGE))


def test_the_rest_of_a_block_is_distinguished():
    found = causes((Op.READ, 100 * PAGE, PAGE), release="6.12", block=32)
    assert len(found[Cause.BLOCK]) >= 31
