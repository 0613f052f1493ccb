"""The fixed-window model: by hand, against its plain reference, and at its limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property_tests import examples

from foreread.emulator import EmulationError, FixedWindow, _fixed, fixed_window
from foreread.emulator.fixed import MAX_WINDOW, Isa
from foreread.emulator.reference import fixed_window as reference

# Where there is no AVX2 (arm64, old x86), the baseline is all there is to check.
ISAS: list[Isa] = ["baseline", *(["avx2"] if _fixed.has_avx2() else [])]
UNKNOWN = -1


def emulate(
    accesses: list[tuple[int, int]],
    file_pages: list[int],
    max_window: int = 4,
    isa: Isa = "auto",
) -> FixedWindow:
    files = np.array([file for file, _ in accesses], np.uint32)
    pages = np.array([page for _, page in accesses], np.uint64)
    lengths = np.array(file_pages, np.int64)
    return fixed_window(files, pages, lengths, max_window=max_window, isa=isa)


@st.composite
def recordings(draw: st.DrawFn) -> tuple[list[tuple[int, int]], list[int]]:
    """A few files with scattered, repeated and sequential touches; some grew, some shrank."""
    span = draw(st.sampled_from([3, 40, 400]))
    rows = draw(st.integers(1, 4))
    runs = draw(
        st.lists(
            st.tuples(st.integers(0, rows - 1), st.integers(0, span), st.integers(1, 12)),
            max_size=25,
        )
    )
    accesses = [(row, page + i) for row, page, length in runs for i in range(length)]
    order = draw(st.sampled_from(["as is", "reversed", "shuffled", "sorted"]))
    if order == "shuffled":
        accesses = draw(st.permutations(accesses))
    elif order != "as is":
        accesses = sorted(accesses, reverse=order == "reversed")
    lengths = st.lists(st.integers(-1, span + 20), min_size=rows, max_size=rows)
    return accesses, draw(lengths)


@pytest.mark.parametrize("isa", ISAS)
@settings(max_examples=examples(150))
@given(recording=recordings(), max_window=st.sampled_from([0, 1, 2, 31, 32, 63, 64, 100]))
def test_core_agrees_with_the_reference(
    isa: Isa, recording: tuple[list[tuple[int, int]], list[int]], max_window: int
) -> None:
    accesses, file_pages = recording
    result = emulate(accesses, file_pages, max_window, isa)
    requests, loaded, tap = reference.fixed_window(accesses, file_pages, max_window)
    assert result.requests.tolist() == requests
    assert result.loaded.tolist() == loaded
    assert result.tap == tap


@given(recording=recordings())
def test_window_zero_reads_exactly_what_was_accessed(
    recording: tuple[list[tuple[int, int]], list[int]],
) -> None:
    """The paper's first limiting case: F = Tap, G = 0 by either formula."""
    result = emulate(*recording)
    assert result.requests[0] == result.tap
    assert result.wasted[0] == result.wasted_formula[0] == 0


@given(recording=recordings())
def test_exact_waste_never_exceeds_the_formula(
    recording: tuple[list[tuple[int, int]], list[int]],
) -> None:
    """Equation 3 counts clipped and doubly covered pages as read; nothing is counted less."""
    result = emulate(*recording)
    assert (result.wasted >= 0).all()
    assert (result.wasted <= result.wasted_formula).all()


def test_sequential_file_by_hand() -> None:
    """Ten pages in order: a request every w + 1 pages, the last clipped at the end."""
    result = emulate([(0, page) for page in range(10)], [10], 4)
    assert result.requests.tolist() == [10, 5, 4, 3, 2]
    assert result.loaded.tolist() == [10] * 5
    assert result.wasted_formula.tolist() == [0, 0, 2, 2, 0]
    assert result.windows.tolist() == [0, 1, 2, 3, 4]


def test_backward_touches_load_no_page_twice() -> None:
    """Pages 2, 1, 0: each is below what is loaded, so each is a request; none is read twice."""
    result = emulate([(0, 2), (0, 1), (0, 0)], [UNKNOWN], 3)
    assert result.requests.tolist() == [3, 3, 3, 3]
    assert result.loaded.tolist() == [3, 4, 5, 6]
    assert result.wasted_formula.tolist() == [0, 3, 6, 9]


def test_repeated_touches_count_once() -> None:
    result = emulate([(0, 5), (0, 0), (0, 5), (0, 0)], [6], 2)
    assert result.tap == 2
    assert result.requests.tolist() == [2, 2, 2]
    assert result.loaded.tolist() == [2, 3, 4]


def test_files_do_not_share_pages() -> None:
    result = emulate([(1, 0), (0, 1), (1, 1), (2, 1)], [2, 2, 2], 1)
    assert result.requests.tolist() == [4, 3]
    assert result.loaded.tolist() == [4, 4]


def test_page_beyond_the_known_length_is_loaded() -> None:
    """Length 3, page 7 touched: the file had eight pages at least, and is clipped there."""
    result = emulate([(0, 2), (0, 7)], [3], 3)
    assert result.requests.tolist() == [2, 2, 2, 2]
    assert result.loaded.tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize("isa", ISAS)
def test_gaps_and_pages_of_any_size(isa: Isa) -> None:
    """Distances beyond 16 and 32 bits are not folded into near ones."""
    top = 2**64 - 1
    pages = [0, 2**16, 2**16 + 1, 2**32 + 1, 2**48, 2**63, top - 1, top]
    result = emulate([(0, page) for page in pages], [UNKNOWN], 2, isa)
    assert result.requests.tolist() == [8, 6, 6]
    assert result.loaded.tolist() == [8, 12, 18]


@pytest.mark.parametrize("isa", ISAS)
def test_widest_window_is_exact(isa: Isa) -> None:
    """Two pages exactly MAX_WINDOW apart: only the widest window covers both."""
    result = emulate([(0, 0), (0, MAX_WINDOW)], [UNKNOWN], MAX_WINDOW, isa)
    assert result.requests[-2:].tolist() == [2, 1]
    assert result.loaded[-2:].tolist() == [2 * MAX_WINDOW, MAX_WINDOW + 1]


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(("pages", "max_window"), [(3000, 1023), (40_000, MAX_WINDOW)])
def test_long_run_by_hand(isa: Isa, pages: int, max_window: int) -> None:
    """A whole file in order takes a request every w + 1 pages and reads no unused page."""
    result = emulate([(0, page) for page in range(pages)], [pages], max_window, isa)
    assert result.requests.tolist() == [-(-pages // (w + 1)) for w in range(max_window + 1)]
    assert set(result.loaded.tolist()) == {pages}


@pytest.mark.parametrize("isa", ISAS)
def test_long_run_after_a_request_elsewhere(isa: Isa) -> None:
    """Page 210 first, then 0 to 399 in order: the run meets what is loaded already."""
    accesses = [(0, 210), *((0, page) for page in range(400))]
    result = emulate(accesses, [400], 300, isa)
    for window in (0, 1, 2, 61, 62, 63, 64, 100, 209, 210, 211, 300):
        counts = reference.fixed_window_at(accesses, [400], window)
        assert (result.requests[window], result.loaded[window]) == counts


@pytest.mark.parametrize("isa", ISAS)
def test_deep_nesting_keeps_every_ancestor(isa: Isa) -> None:
    """Even pages upwards, then odd ones downwards: every even page has two children."""
    accesses = [(0, page) for page in [*range(0, 600, 2), *range(599, 0, -2)]]
    result = emulate(accesses, [600], 130, isa)
    for window in (0, 1, 2, 3, 64, 127, 130):
        counts = reference.fixed_window_at(accesses, [600], window)
        assert (result.requests[window], result.loaded[window]) == counts


@pytest.mark.parametrize("isa", ISAS)
def test_counters_do_not_overflow_16_bits(isa: Isa) -> None:
    """200,000 touches 1,000 pages apart: sums far beyond the kernels' own counters."""
    count = 200_000
    result = emulate([(0, 1000 * i) for i in range(count)], [UNKNOWN], 1001, isa)
    assert result.requests[[0, 999, 1000]].tolist() == [count, count, count // 2]
    assert result.loaded[999] == count * 1000


def test_nothing_accessed() -> None:
    result = emulate([], [], 3)
    assert result.tap == 0
    assert result.requests.tolist() == result.loaded.tolist() == [0, 0, 0, 0]


def test_window_zero_alone() -> None:
    result = emulate([(0, 3), (0, 4)], [9], 0)
    assert (result.requests.tolist(), result.loaded.tolist()) == ([2], [2])


@pytest.mark.parametrize("max_window", [-1, MAX_WINDOW + 1])
def test_window_out_of_range(max_window: int) -> None:
    with pytest.raises(EmulationError, match="out of range") as caught:
        emulate([(0, 0)], [1], max_window)
    assert str(MAX_WINDOW) in caught.value.remedy


@pytest.mark.parametrize(
    ("accesses", "file_pages", "message"),
    [([(1, 0)], [4], "not in file_pages"), ([(0, 0)], [-2], "negative length")],
)
def test_accesses_out_of_range(
    accesses: list[tuple[int, int]], file_pages: list[int], message: str
) -> None:
    with pytest.raises(EmulationError, match=message) as caught:
        emulate(accesses, file_pages)
    assert caught.value.remedy
