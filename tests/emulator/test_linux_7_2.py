"""What Linux 7.2 changed: reads derived by hand from mm/readahead.c and mm/filemap.c of 7.2.12.

Each vector has the kernel before as well (6.19), where the change makes a difference.
"""

from __future__ import annotations

import numpy as np
import pytest
from logged_inserts import expected_log, logged
from programs import MapFlag, Op, Script

from foreread.emulator.linux.operations import Machine
from foreread.emulator.linux.requests import EXTENT, Limits
from foreread.emulator.linux.rules import rules_for, version_of
from foreread.emulator.linux.windows import Emulation
from foreread.emulator.stepwise.replay import emulate

BOTH = ("6.19", "7.2")


def run(script, release, window, **machine):
    """Return what the plain Python reads; the C core must read the same."""
    program, rules, of = script.program(), rules_for(version_of(release)), Machine(**machine)
    plain = emulate(program, rules, window, of)
    group = np.zeros(len(program.files), np.uint32)
    core = Emulation(program, rules, of, Limits(512), np.zeros(0, EXTENT), group)
    assert logged(core, window) == expected_log(plain)
    return plain


def sizes(script, release, window, **machine):
    """Return the pages of each readahead call, and of each read of a single page."""
    found: dict[int, int] = {}
    for _, _, order, call in run(script, release, window, **machine).inserts:
        found[call] = found.get(call, 0) + (1 << order)
    return list(found.values())


def mapped(*pages, flags=0, size=1 << 16, large=False, write=False):
    script = Script()
    mapping = script.map(script.open(script.file(size, large=large)), 0, size, flags)
    for page in pages:
        script.touch(mapping, page, write=write)
    return script


@pytest.mark.parametrize("large", [False, True])
def test_a_window_that_reaches_the_end_has_no_marker(large):
    # Read-around at 30: 14 to 39, the last page. 6.19 marks one page of it (before large folios
    # 14 + 26 - 8 = 32), whose touch asks for the window after the end; 7.2 marks none.
    script = mapped(30, *range(14, 40), size=40, large=large)
    windows = {release: run(script, release, 32).windows for release in BOTH}
    assert windows["7.2"] == [(0, 14, 32, 8)]
    assert len(windows["6.19"]) == 2
    assert {sum(sizes(script, release, 32)) for release in BOTH} == {26}


def test_a_window_that_ends_before_the_end_keeps_its_marker():
    # The window is 14 to 45 of 47 pages: the marker is at 46 - 8 = 38, and asks for the last one.
    script = mapped(30, 38, size=47)
    for release in BOTH:
        assert sizes(script, release, 32) == [32, 1], release


def test_a_window_that_ends_at_the_end_has_no_marker():
    # The window is 14 to 45 of 46 pages: nr_to_read (32) > end_index - index (31).
    script = mapped(30, *range(14, 46), size=46)
    assert run(script, "7.2", 32).windows == [(0, 14, 32, 8)]
    assert len(run(script, "6.19", 32).windows) == 2


def test_executable_mappings_read_ahead_after_any_number_of_misses():
    # 4 pages from each fault on. Without fault-around, 6.19 stops after 100 misses.
    script = mapped(*range(0, 2200, 20), flags=MapFlag.EXEC)
    assert sizes(script, "6.19", 4, fault_around=1) == [4] * 100 + [1] * 10
    assert sizes(script, "7.2", 4, fault_around=1) == [4] * 110


def test_misses_of_executable_mappings_do_not_stop_others():
    # One struct file, two mappings: 110 executable misses, then 3 others.
    script = Script()
    handle = script.open(script.file())
    code = script.map(handle, 0, 1 << 14, MapFlag.EXEC)
    data = script.map(handle, 1 << 14, 1 << 14)
    for page in range(0, 2200, 20):
        script.touch(code, page)
    for page in range(20_000, 20_060, 20):
        script.touch(data, page)
    assert sizes(script, "6.19", 4, fault_around=1)[110:] == [1, 1, 1]
    assert sizes(script, "7.2", 4, fault_around=1)[110:] == [4, 4, 4]


def test_hits_of_executable_and_sequential_mappings_do_not_help_others():
    # 101 misses of data; then the touch of a cached page, by a fault: a hit; then another miss.
    for flags in (MapFlag.EXEC, MapFlag.SEQUENTIAL):
        script = Script()
        handle = script.open(script.file())
        data = script.map(handle, 0, 1 << 14)
        other = script.map(handle, 0, 1 << 14, flags)
        for page in range(0, 2020, 20):
            script.touch(data, page)
        script.touch(other, 0).touch(other, 20)
        script.touch(data, 5000)
        assert sizes(script, "6.19", 4, fault_around=1)[-1] == 4
        assert sizes(script, "7.2", 4, fault_around=1)[-1] == 1


def test_the_retry_of_a_fault_is_no_hit():
    # Each fault reads 4 pages and is done again, by fault-around: 6.19 takes the 3 or 4 pages that
    # it maps for hits, and always reads around; 7.2 stops after 100 misses.
    script = mapped(*range(0, 2200, 20))
    assert sizes(script, "6.19", 4) == [4] * 110
    assert sizes(script, "7.2", 4) == [4] * 100 + [1] * 10


def test_only_the_touched_page_is_a_hit():
    # 102 misses of single touches, 60 pages apart with a window of 32 (16 before, 16 after). Then
    # the page 16 before an earlier fault, cached and in another group of 16: fault-around maps
    # it with its neighbours. One hit brings the counter to 101: 7.2 still reads single pages; the
    # second one to 100, so that the next miss makes 101.
    misses = [32 * 16 + 64 * n for n in range(102)]
    script = mapped(*misses, *(misses[n] - 16 for n in (1, 2)), 32 * 16 + 64 * 300)
    assert sizes(script, "7.2", 32) == [32] * 100 + [1, 1, 1]
    script = mapped(*misses, *(misses[n] - 16 for n in (1, 2, 3)), 32 * 16 + 64 * 300)
    assert sizes(script, "7.2", 32) == [32] * 100 + [1, 1, 32]
    assert sizes(script, "6.19", 32) == [32] * 103


def test_huge_pages_need_large_folios():
    # madvise(MADV_HUGEPAGE): 6.19 reads two PMDs also where files have no large folios.
    huge = {"flags": MapFlag.HUGE}
    assert sizes(mapped(700, **huge), "6.19", 32) == [1024]
    assert sizes(mapped(700, **huge), "7.2", 32) == [32]
    assert sizes(mapped(700, **huge), "7.2", 0) == [1]
    for release in BOTH:
        found = run(mapped(700, large=True, **huge), release, 0).inserts
        assert [(index, order) for _, index, order, _ in found] == [(512, 9), (1024, 9)]


def test_huge_folios_have_2_mib():
    # Pages of 64 KiB: a PMD is 8192 of them, 2 MiB are 32 (get_order(SZ_2M) = 5).
    script = Script()
    handle = script.open(script.sized(1 << 32, large=True))
    script.touch(script.map(handle, 0, 1 << 16, MapFlag.HUGE), 100)
    arm64 = {"page_size": 65536, "table_pages": 8192, "fault_around": 1}
    found = run(script, "7.2", 2, **arm64).inserts
    assert [(index, order) for _, index, order, _ in found] == [(96, 5), (128, 5)]


def test_huge_pages_of_a_random_mapping_are_one_folio():
    script = mapped(700, flags=MapFlag.HUGE | MapFlag.RANDOM, large=True)
    assert sizes(script, "7.2", 32) == [512]


def test_history_as_long_as_the_window_counts_whole():
    # 4 cached pages, a window of 4, and a read of 3: 6.19 counts 3 pages of history, no more than
    # are read; 7.2 counts 4, which makes a window of min(4 + 3, 4) pages.
    script = Script()
    file = script.file()
    handle = script.open(file)
    script.operations.append((Op.PRESENT, file, 0, 100, 4))
    script.read(handle, 104, 3)
    assert sizes(script, "6.19", 4) == [3]
    assert sizes(script, "7.2", 4) == [4]


def test_history_up_to_the_first_page_is_doubled():
    # Pages 0 and 1 are cached: 2 * 2 + 1 pages from 2 on, on both.
    script = Script()
    file = script.file()
    handle = script.open(file)
    script.operations.append((Op.PRESENT, file, 0, 0, 2))
    script.read(handle, 2)
    for release in BOTH:
        assert sizes(script, release, 32) == [5], release


def test_a_marker_is_hit_twice():
    # 150 faults 24 pages apart with a window of 8: from 4 before to 3 after, the marker 2 after.
    # Misses are 150. Each of 25 faults on markers is done again and is a hit twice: 100 remain, and
    # the next miss makes 101. After a 26th fault it makes 99. Seen on 7.2.12.
    faults = list(range(16, 3616, 24))
    for markers, last in ((25, 1), (26, 8)):
        script = mapped(*faults, *(page + 2 for page in faults[:markers]), 3900)
        assert sizes(script, "7.2", 8)[-1] == last, markers
