"""Kibibytes, pages and bytes, and how sizes and shares are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.boards.base.units import (
    GIB,
    KIB,
    MIB,
    kib_text,
    kib_to_pages,
    pages_to_kib,
    percent,
    percent_text,
    size_text,
)

PAGES = st.sampled_from([1 << shift for shift in range(10, 17)])


@given(st.integers(0, 1 << 32), PAGES)
def test_kib_become_the_most_pages_that_fit(kib, page_bytes):
    pages = kib_to_pages(kib, page_bytes)
    assert pages * page_bytes <= kib * KIB < (pages + 1) * page_bytes


@given(st.integers(0, 1 << 32), PAGES)
def test_pages_become_kib_and_pages_again(pages, page_bytes):
    assert kib_to_pages(pages_to_kib(pages, page_bytes), page_bytes) == pages


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (KIB, "1 KiB"),
        (1536, "1.5 KiB"),
        (1234, "1.21 KiB"),
        (1000 * KIB, "1000 KiB"),
        (87.23 * MIB, "87.2 MiB"),
        (512 * MIB, "512 MiB"),
        (1.25 * GIB, "1.25 GiB"),
        (5000 * GIB, "4.9 TiB"),
        (-1, "unknown"),
    ],
)
def test_a_size_has_a_binary_unit_and_three_digits(size, text):
    assert size_text(size) == text


def test_a_size_beside_its_limit_has_four_digits():
    assert size_text(64 * MIB + 20 * KIB, digits=4) == "64.02 MiB"
    assert size_text(1023 * KIB, digits=4) == "1023 KiB"


def test_kib_have_separated_thousands():
    assert [kib_text(kib) for kib in (0, 128, 1024)] == ["0 KiB", "128 KiB", "1,024 KiB"]
    assert kib_text(16.0) == "16 KiB"
    assert (kib_text(None), kib_text(None, "-")) == ("unknown", "-")


@pytest.mark.parametrize(
    ("share", "text", "signed"),
    [
        (0.058, "5.8", "+5.8"),
        (-0.107, "-10.7", "-10.7"),
        (1.5, "150", "+150"),
        (0.999, "99.9", "+99.9"),
        (-0.00001, "0.0", "+0.0"),
    ],
)
def test_a_share_has_one_decimal_below_100_percent(share, text, signed):
    assert (percent(share), percent(share, signed=True)) == (text, signed)
    assert percent_text(share) == f"{text} %"


def test_the_decimals_of_a_share_can_be_given():
    assert (percent(0.4567, 0), percent(1.2345, 2)) == ("46", "123.45")
    assert percent_text(0.1234, 2, signed=True) == "+12.34 %"


def test_an_absent_share_is_a_word():
    assert (percent_text(None), percent_text(None, absent="unknown")) == ("-", "unknown")
