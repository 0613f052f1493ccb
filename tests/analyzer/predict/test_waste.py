"""Unused pages by file: agrees with the plain model, and its runs are what they say."""

from __future__ import annotations

import pytest
from capture_builder import recording_of
from hypothesis import given, settings
from hypothesis import strategies as st
from property_tests import examples

from foreread.analyzer.predict.waste import waste
from foreread.emulator.reference.fixed_window import fixed_window_at

PAGE = 4096


def recording(accesses, file_pages):
    sizes = [-1 if n < 0 else n * PAGE for n in file_pages]
    return recording_of(accesses, sizes, kernel=None, recorded_read_ahead_kb=None)


touches = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 40)), unique=True, min_size=1, max_size=60
)


@settings(max_examples=examples(200))
@given(touches, st.lists(st.integers(-1, 50), min_size=3, max_size=3), st.integers(0, 12))
def test_agrees_with_the_plain_model_file_by_file(accesses, file_pages, window):
    found = waste(recording(accesses, file_pages), window)
    for row, pages in enumerate(file_pages):
        own = [(0, page) for file, page in accesses if file == row]
        requests, loaded = fixed_window_at(own, [pages], window)
        assert found.requests[row] == requests
        assert found.wasted[row] == loaded - len(own)


@settings(max_examples=examples(200))
@given(touches, st.integers(0, 12))
def test_runs_are_disjoint_from_accesses_and_add_up(accesses, window):
    found = waste(recording(accesses, [-1] * 3), window)
    pages = [
        (int(file), int(first) + i)
        for file, first, n in zip(found.run_file, found.run_page, found.run_pages, strict=True)
        for i in range(n)
    ]
    assert len(pages) == len(set(pages)) == found.wasted.sum()
    assert not set(pages) & set(accesses)


def test_a_run_has_the_time_of_the_request_that_read_it():
    """Page 10 reads 10..14 at 1; 12 is a hit; 13..14 are unused, read at 1 and not at 2."""
    found = waste(recording([(0, 10), (0, 12)], [-1]), 4)
    assert found.run_page.tolist() == [11, 13]
    assert found.run_pages.tolist() == [1, 2]
    assert found.run_ns.tolist() == [1, 1]


def test_clipped_at_the_end_of_the_file():
    assert waste(recording([(0, 2)], [4]), 100).wasted.tolist() == [1]
    assert waste(recording([(0, 2)], [-1]), 100).wasted.tolist() == [100]


@pytest.mark.parametrize("page", [2**52, 2**63, 2**64 - 1])
def test_a_damaged_page_index_is_survived(page):
    assert waste(recording([(0, page)], [-1]), 8).wasted.tolist() == [8]


def test_nothing_accessed():
    found = waste(recording([], [4]), 8)
    assert found.requests.tolist() == found.wasted.tolist() == [0]
