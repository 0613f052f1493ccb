"""Pages in the order of their access: what a rebuilt file would read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from advice_starts import faulting, reading
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.advise.order import free_parts, ordered, page_order
from foreread.tracer.formats.capture import FileEntry, Segment

PAGE = 4096


def touched(variant):
    faults = variant.run.program.operations[1:]
    return faults["at"].tolist()


def test_scattered_pages_lie_together_at_the_front_of_the_part():
    base = faulting([100, 50, 7], window=4)
    changed = ordered(base, 0, ((16, 128),))
    assert touched(changed) == [16, 17, 7]
    assert changed.moved == {0: {100: 16, 50: 17}}
    assert base.cost().seconds > changed.cost().seconds


def test_a_window_that_reads_around_reads_ordered_pages_at_once():
    """Before: three requests of four pages. Ordered at 0, 1, 2: one request of pages 0 to 3."""
    base = faulting([100, 50, 90], window=4)
    changed = ordered(base, 0, ((0, 128),))
    assert base.cost().read_bytes == 12 * PAGE
    assert changed.cost().read_bytes == 4 * PAGE
    assert base.cost().seconds - changed.cost().seconds == pytest.approx(2 * 2600e-9)


def test_reads_of_several_pages_keep_their_place():
    base = reading([9, 30, 31])
    program = base.run.program
    program.operations["length"][2] = 2 * PAGE  # pages 30 and 31
    assert page_order(base, 0, ((0, 64),)) == {}
    changed = ordered(reading([9, 30, 31]), 0, ((8, 64),))
    assert (changed.run.program.operations["at"][1:] // PAGE).tolist() == [8, 9, 10]


def test_pages_in_order_already_change_nothing():
    assert ordered(faulting([0, 1, 2]), 0, ((0, 128),)) is None
    assert ordered(faulting([5]), 0, ((0, 128),)) is None


def test_of_programs_the_executable_segments_are_free():
    segments = [
        Segment(at=0, length=3 * PAGE, executable=False, writable=False),
        Segment(at=3 * PAGE + 10, length=5 * PAGE, executable=True, writable=False),
        Segment(at=9 * PAGE, length=100, executable=True, writable=False),
    ]
    entry = FileEntry(dev="7:0", ino=1, path="/a", size_bytes=10 * PAGE, segments=segments)
    assert free_parts(entry, 10 * PAGE, PAGE) == ((4, 8),)
    whole = [Segment(at=0, length=8 * PAGE, executable=True, writable=False)]
    merged = FileEntry(dev="7:0", ino=1, path="/a", size_bytes=10 * PAGE, segments=whole)
    assert free_parts(merged, 10 * PAGE, PAGE) == ()
    plain = FileEntry(dev="7:0", ino=1, path="/a", size_bytes=10 * PAGE)
    assert free_parts(plain, 10 * PAGE - 5, PAGE) == ((0, 10),)
    assert free_parts(None, -1, PAGE) == ((0, 0),)


pages = st.lists(st.integers(0, 90), min_size=1, max_size=20, unique=True)


@given(pages, st.integers(0, 40), st.integers(1, 60))
def test_every_page_has_one_place_and_no_two_share_one(accessed, first, length):
    base = faulting(accessed)
    changed = ordered(base, 0, ((first, first + length),)) or base
    places = touched(changed)
    assert len(set(places)) == len(places)
    for old, new in zip(accessed, places, strict=True):
        assert (first <= old < first + length) == (first <= new < first + length)
        assert old == new or first <= old < first + length
    assert changed.cost().seconds == pytest.approx(base.cost().seconds)  # without readahead


def test_of_code_neighbouring_pages_need_one_page_more():
    """Pages 50 and 51 are neighbours, 7 is alone: three pages and the end of the first function."""
    base = faulting([50, 51, 7], window=4)
    assert touched(ordered(base, 0, ((0, 128),), code=True)) == [0, 1, 3]
    assert ordered(base, 0, ((50, 53),), code=True) is None


def test_a_random_link_moves_the_whole_part_and_is_the_same_each_time():
    base = faulting([100, 50, 7], window=4)
    places = [touched(ordered(replace(base, link=link), 0, ((0, 128),))) for link in (1, 2, 3, 1)]
    assert places[0] == places[3]
    assert len({one[0] for one in places}) > 1
    assert all([at - one[0] for at in one] == [0, 1, 2] for one in places)


def test_a_page_moves_no_farther_than_its_mapping():
    base = faulting([100, 50, 7])
    base.run.program.mappings["start"][0] = 40
    assert ordered(base, 0, ((0, 128),)) is None


def test_a_file_moves_once():
    once = ordered(faulting([100, 50]), 0, ((0, 128),))
    assert ordered(once, 0, ((0, 128),)) is None
