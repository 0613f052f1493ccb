"""The calls that advice for an application names."""

from analyzer.advise.applications import _pieces

MOST = 131_072
LONG = [("/a", 0, MOST), ("/a", 3 * MOST, MOST + 4096)]


def test_long_ranges_are_asked_for_in_pieces_that_the_kernel_does_not_cut():
    (said,) = _pieces(LONG, "WILLNEED", MOST)
    assert "every 131,072 bytes" in said


def test_short_ranges_and_populate_need_no_pieces():
    assert [*_pieces(LONG[:1], "WILLNEED", MOST)] == []
    assert [*_pieces(LONG, "POPULATE", MOST)] == []
