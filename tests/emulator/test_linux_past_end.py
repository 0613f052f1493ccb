"""Reads at the end of a file: derived by hand from mm/filemap.c of 5.10.223, 5.12.9 and 5.17."""

from __future__ import annotations

import numpy as np
import pytest
from logged_inserts import expected_log, logged
from programs import PAGE, Script

from foreread.emulator.devices.device import FixedCost
from foreread.emulator.linux.operations import Machine
from foreread.emulator.linux.requests import EXTENT, Layout, Limits, count
from foreread.emulator.linux.rules import rules_for, version_of
from foreread.emulator.linux.steps import STEP, Run
from foreread.emulator.linux.timed_windows import timed_windows
from foreread.emulator.linux.windows import Emulation
from foreread.emulator.stepwise.replay import emulate, pages_of
from foreread.emulator.stepwise.timed import timed

BEYOND = ("2.6.23", "2.6.32", "4.19", "5.10")
AT_END = ("5.11", "5.15")
NOTHING = ("2.6.22", "5.16", "6.1")
LIMITS = Limits(512)


def run(script, release, window=32):
    """Return what the plain Python reads; the C core must read the same."""
    program, rules = script.program(), rules_for(version_of(release))
    plain = emulate(program, rules, window)
    no_extents = np.zeros(0, EXTENT)
    group = np.arange(len(program.files), dtype=np.uint32)
    core = Emulation(program, rules, Machine(), LIMITS, no_extents, group)
    assert logged(core, window) == expected_log(plain)
    counts = core.counts([window])
    expected = count(plain, program, Layout(no_extents), LIMITS, PAGE)
    assert (counts.requests[:, 0].tolist(), counts.pages[:, 0].tolist()) == expected
    return plain, expected


def reading(size, *reads):
    script = Script()
    handle = script.open(script.sized(size))
    for position, length in reads:
        script.read_bytes(handle, position, length)
    return script


def pages(script, release, window=32):
    plain, _ = run(script, release, window)
    return [index for _, index, _, _ in plain.inserts]


def test_a_read_that_goes_beyond_whole_pages_adds_an_empty_page():
    script = reading(2 * PAGE, (0, 3 * PAGE))
    for releases, expected in ((BEYOND, [0, 1, 2]), (AT_END + NOTHING, [0, 1])):
        for release in releases:
            assert pages(script, release) == expected, release


def test_a_read_at_the_end_adds_an_empty_page():
    script = reading(2 * PAGE, (0, 2 * PAGE), (2 * PAGE, 1))
    for releases, expected in ((BEYOND + AT_END, [0, 1, 2]), (NOTHING, [0, 1])):
        for release in releases:
            assert pages(script, release) == expected, release


def test_a_read_of_an_empty_file_adds_its_first_page():
    for releases, expected in ((BEYOND + AT_END, [0]), (NOTHING, [])):
        for release in releases:
            assert pages(reading(0, (0, 100)), release) == expected, release


def test_an_empty_page_is_neither_read_nor_requested():
    plain, (requests, read) = run(reading(2 * PAGE, (0, 3 * PAGE), (7 * PAGE, 9)), "5.10")
    assert [index for _, index, _, _ in plain.inserts] == [0, 1, 2, 7]
    assert (requests, read) == ([1], [2])
    assert pages_of(plain) == {(0, 0), (0, 1)}


def test_a_read_beyond_a_page_that_the_file_ends_in_adds_nothing():
    for release in BEYOND + AT_END + NOTHING:
        assert pages(reading(2 * PAGE - 1, (0, 3 * PAGE)), release) == [0, 1], release


def test_a_read_after_the_end_but_in_the_last_page_reads_that_page():
    # 100 pages and a byte; a window of 4 pages does not reach the last one.
    script = reading(100 * PAGE + 1, (100 * PAGE + 50, 10))
    for releases, expected in ((BEYOND + AT_END, [100]), (NOTHING, [])):
        for release in releases:
            assert pages(script, release, 4) == expected, release


def test_a_read_of_no_bytes_adds_nothing():
    for release in BEYOND:
        assert pages(reading(2 * PAGE, (2 * PAGE, 0)), release) == [], release


def test_a_read_at_the_end_leaves_the_position_of_the_last_read():
    """ra->prev_pos is that of the last byte copied: the read of page 11 follows that of page 10."""
    script = reading(40 * PAGE, (10 * PAGE, PAGE), (40 * PAGE, 1), (11 * PAGE, PAGE))
    for release in ("5.10", "5.15", "5.16"):
        plain, _ = run(script, release)
        assert plain.windows == [(0, 11, 4, 3)], release


@pytest.mark.parametrize("release", ["5.10", "5.16"])
def test_an_empty_page_takes_no_time(release):
    program = reading(2 * PAGE, (0, 3 * PAGE)).program()
    steps = np.zeros(2, STEP)
    steps["operation"], steps["waits_for"], steps["woken_by"] = [0, 1], -1, -1
    rules, layout = rules_for(version_of(release)), Layout(np.zeros(0, EXTENT))
    whole = Run(program, steps, 0.0, rules, Machine(), LIMITS, layout)
    device = FixedCost(1000.0, 0.0, 0.0)
    plain = timed(whole, 32, device)
    assert plain.total_ns == 1000.0
    assert plain.work[:, :3].tolist() == [[0, 0, 0], [1, 2, 0]]
    (core,) = timed_windows(whole, [32], device)
    assert (core.total_ns, core.work.tolist()) == (plain.total_ns, plain.work.tolist())
