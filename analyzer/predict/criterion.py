"""The criteria of a verdict; the published one: its coefficient, and two searches for its minimum.

Source: Gorelkina et al., "Prediction of Optimal Readahead Parameter in Linux by Using Monitoring
Tool", Linux Symposium 2010, sections 2.3 (equations 3 to 7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

Criterion = Literal["seconds", "published"]
SECONDS: Criterion = "seconds"
PUBLISHED: Criterion = "published"


def c_opt(requests: Sequence[int], windows: Sequence[int], tap: int) -> list[int]:
    """Return the coefficient of optimality F² + [F·(w + 1) − Tap]² (equation 7), exact.

    ``requests`` is F of each of ``windows`` (pages), ``tap`` the pages accessed.
    """
    return [f * f + (f * (w + 1) - tap) ** 2 for f, w in zip(requests, windows, strict=True)]


def quasi_optimal(coefficients: Sequence[int], windows: Sequence[int]) -> int:
    """Return the window of the least coefficient by exhaustive search; of equals the smallest."""
    return min(zip(coefficients, windows, strict=True))[1]


def local_minima(values: Sequence[int]) -> int:
    """Count the local minima, ends included; a plateau counts once."""
    steps = [value for i, value in enumerate(values) if i == 0 or value != values[i - 1]]
    padded = [None, *steps, None]
    return sum(
        (left is None or left > value) and (right is None or right > value)
        for left, value, right in zip(padded, steps, padded[2:], strict=False)
    )


def turning_point(evaluate: Callable[[int], int], windows: Sequence[int]) -> tuple[int, int]:
    """Return the window at the turning point of C_opt, and how many windows were evaluated.

    The paper noted a single turning point and iterated to it instead of trying every window
    (section 2.3); it does not say how. Here windows grow by doubling steps from the smallest
    until C_opt rises, and between the last three the slope at the middle decides which half
    goes on. Where the curve has several local minima this finds an early one, not always the
    least. ``windows`` rise and are at least one.
    """
    values: dict[int, int] = {}

    def value(at: int) -> int:
        if at not in values:
            values[at] = evaluate(windows[at])
        return values[at]

    low, high = _bracket(value, len(windows) - 1)
    while low < high:
        middle = (low + high) // 2
        step = _end_of_plateau(value, middle, high)
        if value(step) < value(middle):
            low = step
        else:
            high = middle
    return windows[_downhill(value, low, len(windows) - 1)], len(values)


def _bracket(value: Callable[[int], int], last: int) -> tuple[int, int]:
    """Return two indices with a turning point between them, found by doubling steps."""
    before, at, step = 0, 0, 1
    while at < last:
        after = min(at + step, last)
        if value(after) > value(at) or _valley_between(value, at, after):
            return before, after
        if value(after) < value(at):  # otherwise the last step may have jumped over the valley
            before = at
        at, step = after, 2 * step
    return before, last


def _valley_between(value: Callable[[int], int], at: int, after: int) -> bool:
    """Return whether a step has jumped over other values between two equal ones."""
    return value(after) == value(at) and _end_of_plateau(value, at, after) < after


def _downhill(value: Callable[[int], int], at: int, last: int) -> int:
    """Return the first index, from ``at`` on, without a lower neighbour."""
    while True:
        lowest = min((at, max(at - 1, 0), min(at + 1, last)), key=value)
        if lowest == at:
            return at
        at = lowest


def _end_of_plateau(value: Callable[[int], int], start: int, last: int) -> int:
    """Return the first index after ``start`` whose value differs, or ``last``."""
    at = start + 1
    while at < last and value(at) == value(start):
        at += 1
    return at


def pareto_front(
    windows: Sequence[int], requests: Sequence[int], wasted: Sequence[int]
) -> list[int]:
    """Return the windows that no other beats in both F and G, rising; the smallest of equals."""
    front: list[int] = []
    least = None
    for _, g, w in sorted(zip(requests, wasted, windows, strict=True)):
        if least is None or g < least:
            least = g
            front.append(w)
    return sorted(front)
