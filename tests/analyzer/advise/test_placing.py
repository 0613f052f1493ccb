"""Where a linker places functions: by hand, byte by byte, and as a linker does it."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.advise.placing import Places, placed
from foreread.analyzer.advise.symbols import Function, Section

PAGE = 256
LONG = 64  # bytes that are more than padding


def function(name, at, size):
    return Function(name, at, size, ".text")


def test_a_listed_function_goes_to_the_front():
    whole = [function("a", 0, PAGE), function("b", PAGE, PAGE), function("c", 2 * PAGE, PAGE)]
    found = placed(Section(0, 3 * PAGE), whole, [whole[2]], (), PAGE)
    assert found == {0: {1: PAGE}, 1: {2: PAGE}, 2: {0: PAGE}}


def test_bytes_beside_the_section_stay():
    """The section begins in the middle of page 0, with one function of one page."""
    half = PAGE // 2
    two = [function("a", half, PAGE), function("b", half + PAGE, PAGE)]
    found = placed(Section(half, half + 2 * PAGE), two, [two[1]], (), PAGE)
    assert found[0] == {0: half, 1: half}
    assert found[2] == {1: half, 2: half}


def test_functions_on_fixed_pages_stay_and_others_go_past_them():
    three = [function(name, at * PAGE, PAGE) for at, name in enumerate("abc")]
    found = placed(Section(0, 3 * PAGE), three, [three[2]], {0}, PAGE)
    assert found == {1: {2: PAGE}, 2: {1: PAGE}}


def test_code_without_a_symbol_is_not_listed():
    two = [function("a", 0, PAGE), function("b", 3 * PAGE, PAGE)]
    found = placed(Section(0, 4 * PAGE), two, two, (), PAGE)
    assert found == {0: {0: PAGE}, 3: {1: PAGE}, 1: {2: PAGE}, 2: {3: PAGE}}


def test_a_page_goes_where_most_of_it_goes_or_with_random_numbers_where_any_byte_goes():
    shares = {5: {1: 200, 2: 56}}
    assert Places(shares).chosen(None) == {5: 1}
    drawn = Counter(
        Places(shares).chosen(np.random.default_rng(number))[5] for number in range(400)
    )
    assert set(drawn) == {1, 2}
    assert drawn[1] > drawn[2]


def byte_by_byte(section, functions, listed, page):
    """Return the shares of a section without gaps between functions, one byte after the other."""
    order = [*dict.fromkeys([*listed, *functions])]
    to, found = section.at, {}
    for one in order:
        for at in range(one.at, one.at + one.size):
            found.setdefault(at // page, Counter())[to // page] += 1
            to += 1
    for old, shares in found.items():
        shares[old] += page - shares.total()
    return {old: +shares for old, shares in found.items()}


sizes = st.lists(st.integers(1, 3 * PAGE), min_size=1, max_size=12)


@given(sizes, st.integers(0, 2 * PAGE), st.randoms(use_true_random=False))
def test_pages_are_placed_as_byte_by_byte(lengths, begin, rng):
    at, functions = begin, []
    for number, size in enumerate(lengths):
        functions.append(function(f"f{number}", at, size))
        at += size
    listed = rng.sample(functions, rng.randint(0, len(functions)))
    section = Section(begin, at)
    found = placed(section, functions, listed, (), PAGE)
    assert found == byte_by_byte(section, functions, listed, PAGE)


@given(
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 3000)), max_size=20),
    st.lists(st.integers(0, 19), max_size=10),
    st.sets(st.integers(0, 10)),
)
def test_any_functions_keep_every_byte(spans, listed, fixed):
    functions = [function(f"f{number}", at, size) for number, (at, size) in enumerate(spans)]
    order = [functions[at] for at in listed if at < len(functions)]
    section = Section(100, 2300)
    found = placed(section, functions, order, fixed, PAGE)
    assert all(sum(shares.values()) == PAGE for shares in found.values())
    assert not fixed & set(found)
    arrived: Counter[int] = Counter()
    for page in range(9):
        arrived.update(found.get(page, {page: PAGE}))
    assert fixed or set(arrived.values()) == {PAGE}
