"""Rules that no kernel has: reads derived by hand from the description of each proposed change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from logged_inserts import expected_log, logged
from programs import MapFlag, Script

from foreread.emulator.linux.operations import Machine
from foreread.emulator.linux.requests import EXTENT, Limits
from foreread.emulator.linux.rules import WithinMapping, rules_for, version_of
from foreread.emulator.linux.windows import Emulation
from foreread.emulator.stepwise.replay import emulate


def calls(script, release, window=32, page_size=4096, **changed):
    """Return (first page, end, largest order) of each readahead call; C and Python agree."""
    rules = replace(rules_for(version_of(release)), **changed)
    program = script.program()
    machine = Machine(page_size=page_size, table_pages=page_size // 8)
    plain = emulate(program, rules, window, machine)
    group = np.zeros(len(program.files), np.uint32)
    core = Emulation(program, rules, machine, Limits(512), np.zeros(0, EXTENT), group)
    assert logged(core, window) == expected_log(plain)
    found = {}
    for _, index, order, call in plain.inserts:
        first, _, most = found.get(call, (index, 0, 0))
        found[call] = (first, index + (1 << order), max(most, order))
    return list(found.values())


def asked(script, release, window=32, **changed):
    """Return (first page, pages) of each window, before a mapping or a file limits it."""
    rules = replace(rules_for(version_of(release)), **changed)
    plain = emulate(script.program(), rules, window, Machine())
    return [(start, size) for _, start, size, _ in plain.windows]


def mapped(*pages, start=100, length=30, flags=0, large=False, size=1000):
    script = Script()
    mapping = script.map(script.open(script.file(size, large=large)), start, length, flags)
    for page in pages:
        script.touch(mapping, page)
    return script


def ends(script, release, **changed):
    return [(first, end) for first, end, _ in calls(script, release, **changed)]


def test_one_rule_of_a_later_kernel_reads_code_as_that_kernel_was_seen_to():
    # Seen on 6.18 at 128 KiB: 1000 to 1031 in a long mapping, 1010 to 1019 if it is 1000 to 1019.
    long = mapped(1000, 1024, start=0, length=4000, flags=MapFlag.EXEC, size=4000)
    short = mapped(1010, start=1000, length=20, flags=MapFlag.EXEC, size=4000)
    assert ends(long, "6.14") == [(984, 1016), (1016, 1040)]
    assert ends(short, "6.14") == [(994, 1026)]
    assert ends(long, "6.14", exec_window=True) == [(1000, 1032)]
    assert ends(short, "6.14", exec_window=True) == [(1010, 1020)]


ALL, CODE, NONE = WithinMapping.ALL, WithinMapping.CODE, WithinMapping.NONE


@pytest.mark.parametrize("release", ["2.6.18", "2.6.32", "4.19", "5.10", "6.12", "7.2"])
def test_read_around_stays_within_the_mapping(release):
    # The window at 110 begins at 110 - 16 = 94, before the mapping, and has 32 pages: from the
    # mapping's first page, 100, on they end at 132, after its last page, 129.
    assert ends(mapped(110), release) == [(94, 126)]
    assert ends(mapped(110), release, within_mapping=ALL) == [(100, 130)]


def test_a_limit_of_code_is_about_executable_mappings_only():
    assert ends(mapped(110), "6.12", within_mapping=CODE) == [(94, 126)]
    code = mapped(110, flags=MapFlag.EXEC)
    assert ends(code, "6.12", within_mapping=CODE) == [(100, 130)]
    # Since 6.17 the window of code ends with the mapping anyway.
    for within in (NONE, CODE, ALL):
        assert ends(code, "7.2", within_mapping=within) == [(110, 130)]


@pytest.mark.parametrize("release", ["6.12", "7.2"])
def test_sequential_readahead_of_a_mapping_ends_with_it(release):
    script = mapped(120, flags=MapFlag.SEQUENTIAL)
    assert ends(script, release) == [(120, 152)]
    assert ends(script, release, within_mapping=ALL) == [(120, 130)]


def test_the_window_after_a_marker_ends_with_the_mapping():
    # Read-around at 16 has the marker at 32 - 8 = 24, whose touch asks for 32 to 63.
    script = mapped(16, 24, start=0, length=40)
    assert ends(script, "6.12") == [(0, 32), (32, 64)]
    assert ends(script, "6.12", within_mapping=ALL) == [(0, 32), (32, 40)]


def test_a_read_system_call_is_not_limited_by_a_mapping():
    script = Script()
    handle = script.open(script.file(1000))
    script.map(handle, 0, 4)
    script.read(handle, 0, 32)
    assert ends(script, "6.12", within_mapping=ALL) == ends(script, "6.12") == [(0, 32), (32, 64)]


def test_a_window_that_reaches_the_end_of_the_mapping_has_no_marker_in_7_2():
    # Read-around at 110 ends with the mapping, as if the file ended there. 6.12 marks page
    # 130 - 8 = 122, whose touch asks for a window from the hole at 130 on: outside the mapping.
    script = mapped(*range(100, 130))
    windows = {release: asked(script, release, within_mapping=ALL) for release in ("6.12", "7.2")}
    assert windows == {"6.12": [(100, 32), (130, 32)], "7.2": [(100, 32)]}
    for release in windows:
        assert ends(script, release, within_mapping=ALL) == [(100, 130)]


@pytest.mark.parametrize(
    ("page_size", "kb", "order"),
    [(4096, 0, 0), (4096, 8, 1), (4096, 64, 4), (16384, 64, 2), (65536, 64, 0), (4096, 2048, 5)],
)
def test_read_around_has_folios_of_the_size_asked(page_size, kb, order):
    # Read-around at 512 is 496 to 527: the largest folio that fits has 16 pages.
    script = Script()
    file = script.sized(1000 * page_size, large=True)
    script.touch(script.map(script.open(file), 0, 1000), 512)
    found = calls(script, "7.2", page_size=page_size, mapped_folio_kb=kb)
    assert found == [(496, 528, min(order, 4))]


def test_folios_of_a_mapping_do_not_change_what_follows_a_marker():
    # The marker is at 544 - 16 = 528. The order of the state stays 0: the next window's is 2.
    script = mapped(512, 528, start=0, length=1000, large=True)
    today = calls(script, "7.2", window=64)
    assert today == [(480, 544, 0), (544, 608, 2)]
    assert calls(script, "7.2", window=64, mapped_folio_kb=64) == [(480, 544, 4), (544, 608, 2)]


def test_a_marked_folio_that_holds_the_faulting_page_is_mapped_and_asks_for_nothing():
    # The marker of 496 to 527 is at 520: in the folio 512 to 527, which the fault at 512 maps.
    script = mapped(512, *range(513, 528), start=0, length=1000, large=True)
    assert calls(script, "7.2") == [(496, 528, 0), (528, 560, 2)]
    assert calls(script, "7.2", mapped_folio_kb=64) == [(496, 528, 4)]


def test_files_without_large_folios_keep_single_pages():
    script = mapped(512, start=0, length=1000)
    assert calls(script, "7.2", mapped_folio_kb=64) == calls(script, "7.2") == [(496, 528, 0)]
