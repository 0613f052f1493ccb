"""The published criterion: by hand, and against what must hold for any curve."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foreread.analyzer.predict.criterion import (
    c_opt,
    local_minima,
    pareto_front,
    quasi_optimal,
    turning_point,
)

curves = st.lists(st.integers(0, 6), min_size=1, max_size=60)


@st.composite
def valleys(draw: st.DrawFn) -> list[int]:
    """Curves that fall, then rise, with plateaus anywhere: one turning point."""
    falling = sorted(draw(st.lists(st.integers(0, 9), max_size=40)), reverse=True)
    rising = sorted(draw(st.lists(st.integers(0, 9), max_size=40)))
    return [10 + v for v in falling] + [draw(st.integers(0, 9))] + [10 + v for v in rising]


def test_equation_7_by_hand() -> None:
    """F = 4, w = 2, Tap = 10: 4² + (4·3 − 10)² = 20; and F = Tap, w = 0: Tap²."""
    assert c_opt([10, 4], [0, 2], 10) == [100, 20]


def test_equation_7_is_exact_beyond_64_bits() -> None:
    requests, window = 10**10, 16383
    [value] = c_opt([requests], [window], 3)
    assert value == 10**20 + (10**10 * 16384 - 3) ** 2
    assert value > 2**64


def test_quasi_optimal_takes_the_smallest_of_equals() -> None:
    assert quasi_optimal([9, 3, 5, 3], [0, 1, 2, 7]) == 1


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ([5], 1),
        ([4, 4, 4], 1),
        ([3, 2, 1], 1),
        ([1, 2, 3], 1),
        ([3, 1, 1, 2], 1),
        ([1, 2, 1], 2),
        ([2, 1, 1, 3, 3, 1, 4, 0], 3),
        ([3, 2, 2, 1], 1),
    ],
)
def test_local_minima_by_hand(values: list[int], count: int) -> None:
    assert local_minima(values) == count


@given(curves)
def test_local_minima_are_as_many_as_falls_that_end(values: list[int]) -> None:
    """Seen as a walk, each minimum but a leading one ends a fall."""
    slopes = [b > a for a, b in pairwise(values) if a != b]
    falls = sum(not s and (i == 0 or slopes[i - 1]) for i, s in enumerate(slopes))
    assert local_minima(values) == falls + (not slopes or slopes[0])


@given(valleys())
@example([10, 10, 10, 10, 0, 10, 10, 10, 10])  # a step from plateau to plateau
@example([11, 11, 11, 11, 10, 0, 10, 10, 10])  # and one to a lower plateau
def test_iteration_finds_the_optimum_of_a_single_turning_point(values: list[int]) -> None:
    windows = list(range(0, 2 * len(values), 2))
    found, _ = turning_point(lambda window: values[window // 2], windows)
    assert found == quasi_optimal(values, windows)


@given(curves)
def test_iteration_ends_in_a_local_minimum(values: list[int]) -> None:
    """For any curve: no neighbour of the result is lower, and no window is repeated."""
    asked: list[int] = []

    def evaluate(window: int) -> int:
        asked.append(window)
        return values[window]

    found, evaluations = turning_point(evaluate, range(len(values)))
    assert values[found] <= min(values[max(0, found - 1) : found + 2])
    assert evaluations == len(asked) == len(set(asked))


def test_iteration_evaluates_few_windows() -> None:
    found, evaluations = turning_point(lambda w: (w - 17) ** 2, range(1024))
    assert (found, evaluations) == (17, evaluations)
    assert evaluations <= 20  # two for each halving of 1024


def test_iteration_of_one_window() -> None:
    assert turning_point(lambda _: 5, [8]) == (8, 1)


def test_pareto_front_by_hand() -> None:
    """Window 2 loses to 1 (as many requests, more waste), 4 equals 3."""
    assert pareto_front([0, 1, 2, 3, 4], [9, 5, 5, 2, 2], [0, 3, 4, 8, 8]) == [0, 1, 3]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30))
def test_pareto_front_holds_all_that_is_not_dominated(points: list[tuple[int, int]]) -> None:
    windows = list(range(len(points)))

    def dominated(point: tuple[int, int]) -> bool:
        return any(f <= point[0] and g <= point[1] and (f, g) != point for f, g in points)

    expected = {points.index(p) for p in points if not dominated(p)}
    front = pareto_front(windows, [f for f, _ in points], [g for _, g in points])
    assert front == sorted(expected)
