"""The ranges of a recording: merged, in order, and no page of the start left out."""

from dataclasses import replace

import pytest
from capture_builder import recording_of
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.prefetch import PrefetchError, Range, decode, encode, find_ranges
from foreread.analyzer.prefetch.ranges import LARGEST_GAP, cheapest_gap
from foreread.emulator.devices.device import FixedCost
from foreread.tracer.formats.capture import Extent, FileEntry

PAGE = 4096


def recording(accesses, sizes, paths=None):
    """Return a recording of (file row, page) accesses, in order; ``sizes`` are the files'."""
    return recording_of(
        accesses,
        sizes,
        paths=tuple(paths or (f"/{row}" for row in range(len(sizes)))),
        entries=(None,) * len(sizes),
    )


def listed(found):
    return [(int(r.path[1:]), r.offset // PAGE, -(-r.length // PAGE)) for r in found.listing.ranges]


def test_runs_come_when_their_first_page_was_accessed():
    accesses = [(1, 5), (0, 9), (1, 4), (0, 2), (1, 6), (0, 3)]
    found = find_ranges(recording(accesses, [40 * PAGE, 40 * PAGE]))
    assert listed(found) == [(1, 4, 3), (0, 9, 1), (0, 2, 2)]
    assert (found.needed_bytes, found.wasted_bytes) == (6 * PAGE, 0)


def test_gaps_up_to_the_limit_are_merged():
    accesses = [(0, 0), (0, 3), (0, 7)]
    one = recording(accesses, [100 * PAGE])
    assert listed(find_ranges(one, gap_bytes=2 * PAGE - 1)) == [(0, 0, 1), (0, 3, 1), (0, 7, 1)]
    found = find_ranges(one, gap_bytes=2 * PAGE)
    assert listed(found) == [(0, 0, 4), (0, 7, 1)]
    assert (found.needed_bytes, found.wasted_bytes) == (3 * PAGE, 2 * PAGE)
    assert listed(find_ranges(one, gap_bytes=3 * PAGE)) == [(0, 0, 8)]


def test_the_last_page_ends_where_the_file_does():
    found = find_ranges(recording([(0, 0), (0, 1), (1, 0)], [PAGE + 10, -1]))
    assert found.listing.ranges == (Range("/0", 0, PAGE + 10), Range("/1", 0, PAGE))
    assert found.needed_bytes == found.listing.size_bytes


def test_long_ranges_are_several():
    found = find_ranges(recording([(0, page) for page in range(1100)], [1100 * PAGE]))
    assert listed(found) == [(0, 0, 512), (0, 512, 512), (0, 1024, 76)]


def test_files_without_a_name_are_left_out_and_counted():
    paths = (None, "relative", "/nul\0", "/\ud800", "/good")
    accesses = [(row, 0) for row in range(5)] + [(0, 1)]
    found = find_ranges(recording(accesses, [4 * PAGE] * 5, paths))
    assert [one.path for one in found.listing.ranges] == ["/good"]
    assert found.unnamed_bytes == 5 * PAGE
    with pytest.raises(PrefetchError, match="no path of a file"):
        find_ranges(recording([(0, 0)], [PAGE], (None,)))


def test_disk_order_is_that_of_the_places():
    accesses = [(0, 0), (1, 0), (2, 0), (0, 20)]
    one = recording(accesses, [40 * PAGE] * 3)

    def entry(*extents):
        found = [Extent(at * PAGE, physical, 4 * PAGE, True) for at, physical in extents]
        return FileEntry(dev="7:0", ino=1, path="/", size_bytes=1, extents=found)

    entries = (entry((0, 900000), (20, 100000)), None, entry((0, 500000)))
    found = find_ranges(replace(one, entries=entries), "disk")
    assert listed(found) == [(0, 20, 1), (2, 0, 1), (0, 0, 1), (1, 0, 1)]
    assert found.listing.order == "disk"


pages = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30)), min_size=1, unique=True)


@given(pages, st.integers(0, 8), st.sampled_from(["access", "disk"]))
def test_every_page_once_and_only_small_gaps(accesses, gap, order):
    found = find_ranges(recording(accesses, [31 * PAGE] * 3), order, gap * PAGE)
    covered = [(f, page) for f, first, n in listed(found) for page in range(first, first + n)]
    assert len(covered) == len(set(covered))
    assert set(accesses) <= set(covered)
    assert found.wasted_bytes == (len(covered) - len(accesses)) * PAGE
    for file, page in set(covered) - set(accesses):
        run = 1
        for step in (-1, 1):
            at = page + step
            while (file, at) in covered and (file, at) not in accesses:
                run, at = run + 1, at + step
        assert run <= gap
    assert decode(encode(found.listing)) == found.listing


@pytest.mark.parametrize(
    ("latency_us", "ns_per_kib", "gap"),
    [(1000, 50_000, 20 << 10), (100, 100_000, 0), (0, 1, 0), (1000, 0, LARGEST_GAP)],
)
def test_a_gap_costs_less_than_a_request(latency_us, ns_per_kib, gap):
    assert cheapest_gap(FixedCost(latency_us * 1000, ns_per_kib), PAGE) == gap
