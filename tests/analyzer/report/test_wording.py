"""Numbers and hostile text."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.report import wording
from foreread.analyzer.report.style import drawable
from foreread.boards.base.printable import printable

any_text = st.text(st.characters(), max_size=30)  # surrogates included


@given(any_text)
def test_drawable_has_only_glyphs_of_the_font(text):
    assert drawable(drawable(text)) == drawable(text)


@given(st.text(max_size=60), st.integers(2, 40))
def test_shortened_is_short_enough(text, length):
    short = wording.shortened(text, length)
    assert len(short) <= length
    assert short == text or "…" in short


@given(st.lists(st.binary(min_size=1, max_size=12).filter(lambda b: 0 not in b), max_size=3))
def test_shell_words_round_trip_through_a_shell(arguments):
    words = [argument.decode(errors="surrogateescape") for argument in arguments]
    line = wording.shell_words(["printf", r"%s\0", *words])
    assert printable(line) == line
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)
    assert done.stdout == b"".join(a + b"\0" for a in arguments) or not arguments


def test_shell_words_survives_a_surrogate_that_is_not_a_byte():
    assert wording.shell_words(["\ud800"]) == "$'?'"


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0.0, "0.000 s"), (0.5144, "0.514 s"), (3.468, "3.47 s"), (14.61, "14.6 s"), (151.2, "151 s")],
)
def test_seconds_have_three_digits(number, shown):
    assert wording.seconds(number) == shown


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [(0.0, "0.0 %"), (0.0181, "1.8 %"), (0.0996, "10 %"), (-0.52, "−52 %"), (None, "–")],
)
def test_percent(fraction, shown):
    assert wording.percent(fraction) == shown


def test_large_numbers_are_powers():
    assert wording.power(4.374e9) == "4.37×10⁹"
    assert wording.power(99_999) == "99,999"
    assert [wording.tick(n) for n in (1, 20_000, 1e5, 2e5)] == ["1", "20,000", "10⁵", "2×10⁵"]


@pytest.mark.parametrize(
    ("half_width_s", "shown"), [(0.0, "under 1 ms"), (0.0004, "under 1 ms"), (0.12, "±0.120 s")]
)
def test_a_band_that_rounds_to_nothing_has_a_limit(half_width_s, shown):
    assert wording.band(half_width_s) == shown
