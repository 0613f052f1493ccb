"""A recorded run against the emulation: forged from the emulation itself, then changed."""

import numpy as np
import pytest
from capture_builder import recording_of, table_of
from event_table import DISK, insert, table

from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import REQUESTS, Rwbs
from foreread.analyzer.judge.expected import Emulated
from foreread.analyzer.judge.programs import programs
from foreread.analyzer.judge.run import Files, compare, extent_table
from foreread.emulator.linux.operations import Machine
from foreread.emulator.linux.requests import Layout, Limits, requests
from foreread.emulator.linux.rules import rules_for
from foreread.tracer.formats.capture import Extent

PAGE = 4096
WINDOW = 32
LIMITS = Limits(1280)
FIRST_INODE = 500
PARTITION = 2048
COUNT = len(programs(PAGE))
EVERYTHING = frozenset(range(COUNT))


def files(known=True):
    extents = [
        extent_table([Extent(0, (row + 1) << 21, 1 << 20, True)], PARTITION) for row in range(COUNT)
    ]
    inodes = [FIRST_INODE + row for row in range(COUNT)]
    return Files("7:0", "7:0", inodes, extents if known else None, LIMITS)


def emulated(version=(6, 12), large=False):
    return Emulated(programs(PAGE), rules_for(version), Machine(), large)


def recorded(expected, changed=lambda rows: rows, more=()):
    """Return what a kernel would have recorded that does just this, and other processes' reads."""
    events = [
        insert(FIRST_INODE + row, page, order)
        for row, one in enumerate(expected)
        for page, order in one.folios
    ]
    events.insert(3, insert(77, 5))
    events += more
    pieces = [
        (sector, sectors)
        for row, one in enumerate(expected)
        for _, sector, sectors, _ in requests(
            one.outcome, Layout(files().extents[row]), LIMITS, PAGE
        )
    ]
    pieces = [*changed(pieces), (3, 8)]
    sectors = table_of(
        REQUESTS,
        len(pieces),
        dev=DISK,
        sector=[at for at, _ in pieces],
        sectors=[count for _, count in pieces],
        flags=int(Rwbs.READ),
    )
    trace = Trace("test", table(*events))
    return recording_of([], [], trace=trace, requests=sectors)


@pytest.mark.parametrize("version", [(5, 10), (6, 1), (6, 12), (6, 18)])
@pytest.mark.parametrize("large", [False, True])
def test_a_kernel_that_does_as_emulated_has_no_difference(version, large):
    given = emulated(version, large)
    expected = given.at(WINDOW)
    found = compare(given, expected, recorded(expected), files(), WINDOW, EVERYTHING)
    assert not found.differences
    assert found.folios == sum(len(one.folios) for one in expected)
    assert found.requests > 300
    assert found.merged == 0


def test_another_kernels_reads_are_found_and_named():
    given = emulated()
    other = emulated((5, 10)).at(WINDOW)
    found = compare(given, given.at(WINDOW), recorded(other), files(), WINDOW, EVERYTHING)
    assert found.differences
    assert all(one.window == WINDOW for one in found.differences.values())


@pytest.mark.parametrize("window", [8, 31, 33])
def test_another_window_is_found(window):
    given = emulated()
    other = given.at(window)
    found = compare(given, given.at(WINDOW), recorded(other), files(), WINDOW, EVERYTHING)
    assert len(found.differences) > 10


def test_one_other_request_is_found_in_its_program():
    given = emulated()
    expected = given.at(WINDOW)
    run = recorded(
        expected,
        lambda pieces: [(at, n - 8) if not row else (at, n) for row, (at, n) in enumerate(pieces)],
    )
    found = compare(given, expected, run, files(), WINDOW, EVERYTHING)
    assert list(found.differences) == [0]
    assert "not the emulation's" in found.differences[0].seen


def test_without_places_pages_alone_are_compared():
    given = emulated()
    expected = given.at(WINDOW)
    found = compare(given, expected, recorded(expected), files(known=False), WINDOW, EVERYTHING)
    assert (found.requests, found.differences) == (0, {})


def test_only_the_programs_that_ran_are_compared():
    given = emulated()
    expected = given.at(WINDOW)
    run = recorded(expected[:2])
    found = compare(given, expected, run, files(), WINDOW, frozenset({0, 1}))
    assert not found.differences
    assert compare(given, expected, run, files(), WINDOW, EVERYTHING).differences


def test_extents_are_in_sectors_of_the_disk():
    rows = extent_table([Extent(4096, 8192, 4096, True), Extent(0, 4096, 4096, False)], 100)
    assert rows.tolist() == [(0, 8, 116, 8, 1), (0, 0, 108, 8, 0)]
    assert rows.dtype.names == ("file", "at", "sector", "sectors", "read")
    assert np.array_equal(Layout(rows).extents["at"], [0, 8])


def test_an_empty_page_after_the_end_of_a_file_is_compared():
    """Linux 5.10 adds one where a read goes beyond a file of whole pages, 6.12 does not."""
    older, newer = emulated((5, 10)), emulated()
    rows = [row for row, one in enumerate(older.at(WINDOW)) if one.outcome.empty]
    assert rows
    behind = [insert(FIRST_INODE + row, newer.tasks[row].pages) for row in rows]
    expected = newer.at(WINDOW)
    run = recorded(expected, more=behind)
    found = compare(newer, expected, run, files(), WINDOW, EVERYTHING)
    assert sorted(found.differences) == rows
