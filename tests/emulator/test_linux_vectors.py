"""READAHEAD vectors: reads seen on kernels, or required by their sources."""

from __future__ import annotations

import pytest
from programs import MapFlag, Op, Script

from foreread.emulator.linux.operations import Machine
from foreread.emulator.linux.rules import rules_for, version_of
from foreread.emulator.stepwise.replay import emulate

BEFORE_RAMP = [
    "2.6.18",
    "2.6.22",
    "2.6.23",
    "2.6.24",
    "2.6.32",
    "2.6.37",
    "3.0",
    "3.10",
    "3.19",
    "4.4",
]
BEFORE_RAMP += ["4.9", "4.10", "4.19", "5.4", "5.10", "5.15", "5.19", "6.1", "6.6", "6.11", "6.14"]


def read(script, release, window=32, **machine):
    """Return the pages that each operation read, as runs [(first, last), ...]."""
    program = script.program()
    found, before = [], 0
    for count in range(1, len(program.operations) + 1):
        part = type(program)(
            program.operations[:count], program.mappings, program.handles, program.files
        )
        outcome = emulate(part, rules_for(version_of(release)), window, Machine(**machine))
        found.append(runs(outcome.inserts[before:]))
        before = len(outcome.inserts)
    return [run for run, op in zip(found, program.operations["op"], strict=True) if op != Op.OPEN]


def runs(inserts):
    """Return (first, behind) of each maximal run of pages within one call."""
    found = []
    for _, index, order, run in inserts:
        behind = index + (1 << order)
        if found and found[-1][1] == index and found[-1][2] == run:
            found[-1] = (found[-1][0], behind, run)
        else:
            found.append((index, behind, run))
    return [(first, behind) for first, behind, _ in found]


def reader(*pages, large=False, size=None):
    script = Script()
    handle = script.open(script.file(size, large=large) if size else script.file(large=large))
    for page in pages:
        script.read(handle, *page) if isinstance(page, tuple) else script.read(handle, page)
    return script


def toucher(*pages, flags=0, start=0, length=1 << 16, size=None, write=False, large=True):
    script = Script()
    handle = script.open(script.file(size, large=large) if size else script.file(large=large))
    mapping = script.map(handle, start, length, flags)
    for page in pages:
        script.touch(mapping, page, write=write)
    return script


@pytest.mark.parametrize("release", BEFORE_RAMP)
def test_sequential_windows(release):
    script = reader(*range(29))
    windows = {page: run for page, run in enumerate(read(script, release)) if run}
    assert windows == {0: [(0, 4)], 1: [(4, 12)], 4: [(12, 28)], 12: [(28, 60)], 28: [(60, 92)]}


def test_sequential_windows_of_6_18_without_large_folios():
    windows = {p: run for p, run in enumerate(read(reader(*range(29)), "6.18")) if run}
    assert windows == {0: [(0, 4)], 1: [(4, 12)], 4: [(12, 28)], 12: [(28, 60)], 28: [(60, 92)]}


def test_sequential_windows_of_large_folios():
    windows = {p: r for p, r in enumerate(read(reader(*range(65), large=True), "6.18")) if r}
    assert windows == {
        0: [(0, 4)],
        1: [(4, 12)],
        4: [(12, 16)],
        12: [(16, 24)],
        16: [(24, 32)],
        24: [(32, 48)],
        32: [(48, 64)],
        48: [(64, 96)],
        64: [(96, 128)],
    }


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (reader(100, 102, large=True), [[(100, 101)], [(102, 106)]]),
        (reader(100, 103, large=True), [[(100, 101)], [(103, 104)]]),
        (
            reader(101, 102, 103, 106),
            [[(101, 102)], [(102, 106)], [(106, 112)], [(112, 124)]],
        ),
        (
            reader(1000, 1001, 2000, 1002, 1005, large=True),
            [[(1000, 1001)], [(1001, 1005)], [(2000, 2001)], [(1005, 1012)], [(1012, 1024)]],
        ),
        (
            reader(500, 505, (500, 20), large=True),
            [[(500, 501)], [(505, 506)], [(501, 505), (506, 520)]],
        ),
        (reader((600, 100), large=True), [[(600, 700)]]),
        (reader((0, 64), large=True), [[(0, 64), (64, 128)]]),
        (
            reader((2000, 700), large=True),
            [[(2000, 2320), (2320, 2640), (2640, 2960), (2960, 3280)]],
        ),
        (toucher(1000, 1024), [[(984, 1016)], [(1016, 1040)]]),
        (toucher(1000, 1024, flags=MapFlag.EXEC), [[(1000, 1032)], []]),
        (toucher(1010, flags=MapFlag.EXEC, start=1000, length=20), [[(1010, 1020)]]),
        (toucher(0, 200, flags=MapFlag.SEQUENTIAL), [[(0, 32)], [(200, 232)]]),
        (toucher(0, 9, flags=MapFlag.RANDOM), [[(0, 1)], [(9, 10)]]),
        (toucher(10, 20, size=28, large=False), [[(0, 28)], []]),
    ],
)
def test_seen_on_6_18(script, expected):
    assert read(script, "6.18.44") == expected


def test_small_windows_seen_on_6_18():
    assert read(reader(0, 1, 2, 4, 8, large=True), "6.18", window=4) == [
        [(0, 2)],
        [(2, 4)],
        [(4, 8)],
        [(8, 12)],
        [(12, 16)],
    ]
    assert read(reader(0, 1, 2, 9), "6.18", window=1) == [[(p, p + 1)] for p in (0, 1, 2, 9)]


def test_private_write_faults_stop_reading_around_seen_on_6_18():
    script = toucher(*range(0, 2200, 20), write=True)
    sizes = [sum(b - a for a, b in run) for run in read(script, "6.18", window=4)]
    assert sizes == [4] * 100 + [1] * 10


@pytest.mark.parametrize(
    ("releases", "expected"),
    [
        (["2.6.24"], [(0, 32), (32, 64)]),
        (["2.6.31", "2.6.39", "3.10", "4.4", "4.10"], [(0, 64)]),
        (["4.19", "5.4", "5.10", "6.1", "6.6", "6.11", "6.12", "6.18"], [(0, 32), (32, 64)]),
    ],
)
def test_a_read_of_the_window_by_the_sources(releases, expected):
    for release in releases:
        assert read(reader((0, 32)), release) == [expected], release
