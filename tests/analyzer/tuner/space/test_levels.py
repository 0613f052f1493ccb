"""Alleles as few levels."""

from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.tuner.space.levels import MOST_LEVELS, RANGES, Level, levels_of

NUMBERS = st.lists(st.integers(-500, 500), min_size=0, max_size=80)


@given(NUMBERS, st.integers(-500, 500))
def test_every_number_is_in_one_level_and_levels_rise(numbers, default):
    reference, others = levels_of(numbers, default)
    alleles = [a for level in sorted([reference, *others], key=lambda x: x.alleles[0])
               for a in level.alleles]  # fmt: skip
    assert alleles == sorted({*numbers, default})
    assert default in reference.alleles
    assert 1 + len(others) <= (MOST_LEVELS if len(alleles) <= MOST_LEVELS else RANGES)


def test_few_numbers_and_words_stay_apart():
    assert levels_of([4, 8, 8, 128], 128) == (Level((128,)), [Level((4,)), Level((8,))])
    reference, others = levels_of(["bfq", "none", "bfq"], "kyber")
    assert str(reference) == "kyber" and [str(level) for level in others] == ["bfq", "none"]


def test_ranges_hold_about_as_many():
    reference, others = levels_of(list(range(200)), 60)
    assert str(reference) == "40–79"
    assert [len(level.alleles) for level in others] == [40] * (RANGES - 1)
