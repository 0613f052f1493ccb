"""The verdict: set, keep or none, and a sentence with the figures."""

from math import isqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from foreread.analyzer.predict.bands import REPLAY, Bands
from foreread.analyzer.predict.criterion import c_opt, quasi_optimal
from foreread.analyzer.predict.prediction import Curve, Spent, Verdict
from foreread.analyzer.predict.verdict import (
    FEW_PAGES,
    MARGIN_PERCENT,
    Missing,
    Point,
    decide_by_criterion,
    decide_by_seconds,
    decide_without_seconds,
)

TAP = 1000
WINDOWS = [0, 1, 3, 31]


def curve(requests: list[int], current: int | None, tap: int = TAP) -> Curve:
    coefficients = c_opt(requests, WINDOWS, tap)
    formula = [f * (w + 1) - tap for f, w in zip(requests, WINDOWS, strict=True)]
    best = quasi_optimal(coefficients, WINDOWS)
    return Curve(
        dev="total",
        name="total",
        tap=tap,
        windows=WINDOWS,
        read_ahead_kb=[4 * w for w in WINDOWS],
        f=requests,
        g=formula,
        g_formula=formula,
        pages=[tap + g for g in formula],
        c_opt=coefficients,
        seconds=None,
        quasi_optimal=best,
        predicted_best=None,
        iterated=best,
        turning_points=1,
        pareto=[best],
        current_read_ahead_kb=current,
    )


def point(whole: Curve) -> Point | None:
    """Return the current window's figures where the curve has them, as predict does."""
    current = whole.current_read_ahead_kb
    window = None if current is None else current // 4
    if current is None or window not in WINDOWS:
        return None
    return Point(window, current, whole.f[WINDOWS.index(window)], whole.tap)


def decided(requests: list[int], current: int | None, tap: int = TAP) -> Verdict:
    whole = curve(requests, current, tap)
    return decide_by_criterion(whole, point(whole))


def test_far_from_the_best_is_set_with_both_figures() -> None:
    """F = 300 at w = 3: 300² + (1200 − 1000)² = 130,000; F = 200 at w = 31: 29,200,000 or so."""
    verdict = decided([1000, 600, 300, 200], 124)
    assert (verdict.action, verdict.read_ahead_kb) == ("set", 12)
    assert "130,000 at 12 KiB (F = 300 requests, G = 200 pages)" in verdict.why
    assert "at 124 KiB (F = 200 requests, G = 5,400 pages) now" in verdict.why


def test_the_best_is_kept() -> None:
    verdict = decided([1000, 600, 300, 200], 12)
    assert (verdict.action, verdict.read_ahead_kb) == ("keep", 12)
    assert "current window is the best" in verdict.why


def test_odd_values_round_down_as_in_the_kernel() -> None:
    verdict = decided([1000, 600, 300, 200], 15)
    assert (verdict.action, verdict.read_ahead_kb) == ("keep", 15)


def test_a_small_gain_is_not_worth_a_change() -> None:
    """w = 1: 510² + 20² = 260,500; w = 0 far off; w = 3 at 400² + 600² = 520,000."""
    near = [1000, 510, 400, 200]
    assert decided(near, 4).action == "keep"
    assert decided(near, 12).action == "set"


@pytest.mark.parametrize(("excess", "action"), [(0, "keep"), (1, "set")])
def test_margin_is_exact(excess: int, action: str) -> None:
    whole = replace(curve([10**15] * 4, 0), quasi_optimal=1)
    best = Point(1, 4, 10**15, whole.tap).c_opt
    # f² = C_opt of a window of 0 pages whose requests are all its pages.
    f = isqrt(best * (100 + MARGIN_PERCENT) // 100) + excess
    current = Point(0, 0, f, f)
    assert decide_by_criterion(whole, current).action == action


def test_unknown_current_value_is_said() -> None:
    verdict = decided([1000, 600, 300, 200], None)
    assert (verdict.action, verdict.read_ahead_kb) == ("set", 12)
    assert "current window is unknown" in verdict.why


def test_current_value_that_was_not_emulated_is_said() -> None:
    verdict = decided([1000, 600, 300, 200], 8192)
    assert verdict.action == "set"
    assert "8,192 KiB is larger than any emulated window" in verdict.why


@pytest.mark.parametrize("tap", [0, 1, FEW_PAGES])
def test_too_few_pages_to_gain_anything(tap: int) -> None:
    verdict = decided([tap] * 4, 128, tap)
    assert (verdict.action, verdict.read_ahead_kb) == ("none", None)


def test_one_page_more_is_worth_a_mark() -> None:
    assert decided([FEW_PAGES + 1] * 4, 124, FEW_PAGES + 1).action == "set"


@given(
    current=st.sampled_from([None, 0, 4, 12, 124, 8192]),
    tap=st.sampled_from([0, TAP]),
)
def test_criterion_names_its_model_and_its_limits(current: int | None, tap: int) -> None:
    whole = curve([tap] * 4, current, tap)
    verdict = decide_by_criterion(whole, point(whole))
    says = "F² + G² of the fixed window, which ignores the speed of the disk"
    assert (says in verdict.why) == (verdict.action != "none")
    assert verdict.by == (None if verdict.action == "none" else "criterion")
    assert "\n" not in verdict.why


@pytest.mark.parametrize("current", [None, 0, 12, 124])
def test_without_seconds_no_window_is_recommended(current: int | None) -> None:
    """Whatever F² + G² says: here it is far better at 12 KiB."""
    whole = curve([1000, 600, 300, 200], current)
    verdict = decide_without_seconds(
        whole, Missing("the cost of the disk is unknown", "foreread calibrate")
    )
    assert (verdict.action, verdict.read_ahead_kb, verdict.by) == ("measure", None, None)
    assert verdict.why == "no predicted seconds: the cost of the disk is unknown"
    assert verdict.remedy == "foreread calibrate"


def test_without_possible_gain_no_measurement_is_proposed() -> None:
    whole = curve([3, 2, 1, 1], 12, tap=3)
    assert decide_without_seconds(whole, Missing("why", "command")).action == "none"


def by_seconds(seconds: list[float], current: int | None, apart: float = 0.0) -> Verdict:
    """Return the verdict; ``apart`` seconds are what windows 1 and 31 take turns by."""
    whole = curve([1000, 600, 300, 200], current)
    at = np.array(seconds)
    draws = at + np.outer([-apart, apart], [0, 1, 0, -1])
    bands = Bands(WINDOWS, at, draws, WINDOWS, REPLAY * at)
    timed = replace(whole, seconds=seconds, predicted_best=bands.best)
    now = None if current is None else current // 4
    return decide_by_seconds(timed, bands, now)


def test_the_fewest_seconds_are_set() -> None:
    verdict = by_seconds([4.0, 2.0, 5.0, 3.0], 124)
    assert (verdict.action, verdict.read_ahead_kb, verdict.by) == ("set", 4, "seconds")
    said = "2.000 s predicted at 4 KiB, the fastest window, against 3.000 s at 124 KiB now"
    assert verdict.why.startswith(said)


@pytest.mark.parametrize(("now", "action"), [(2.02, "keep"), (2.021, "set")])
def test_a_gain_of_one_percent_is_not_worth_it(now: float, action: str) -> None:
    """2.02 s less 1 % are 1.9998 s."""
    verdict = by_seconds([4.0, 2.0, 3.0, now], 124)
    assert (verdict.action, verdict.read_ahead_kb) == (action, 124 if action == "keep" else 4)


def test_little_waiting_is_not_a_reason_for_a_change() -> None:
    whole = curve([1000, 600, 300, 200], 124)
    seconds = [2.01, 2.0, 2.0, 2.01]
    waited = [0.02, 0.01, 0.01, 0.0201]
    rest = [0.0] * 4
    timed = replace(whole, seconds=seconds, spent=Spent(rest, waited, rest, rest))
    at = np.array(seconds)
    bands = Bands(WINDOWS, at, at[None], WINDOWS, REPLAY * at)
    verdict = decide_by_seconds(timed, bands, 31)
    assert (verdict.action, verdict.read_ahead_kb) == ("keep", 124)
    assert "the current window (1 % of it waits for the disk), and no more than" in verdict.why


def test_smallest_of_indistinguishable_windows_is_set() -> None:
    verdict = by_seconds([4.0, 2.1, 3.0, 2.0], 12, apart=0.1)
    assert (verdict.action, verdict.read_ahead_kb) == ("set", 4)
    assert (
        "smallest window that is not distinguishable from the best (2.000 s at 124 KiB)"
        in verdict.why
    )


def test_a_window_indistinguishable_from_the_best_is_kept() -> None:
    verdict = by_seconds([4.0, 2.0, 3.0, 2.1], 124, apart=0.1)
    assert (verdict.action, verdict.read_ahead_kb) == ("keep", 124)
    assert "is not distinguishable from the best" in verdict.why


def test_with_an_unknown_window_the_fewest_seconds_are_set() -> None:
    assert by_seconds([4.0, 2.0, 3.0, 3.0], None).action == "set"


def test_without_possible_gain_seconds_do_not_change_the_verdict() -> None:
    whole = replace(curve([3, 2, 1, 1], 12, tap=3), seconds=[4.0, 2.0, 3.0, 3.0], predicted_best=1)
    seconds = np.array([4.0, 2.0, 3.0, 3.0])
    bands = Bands(WINDOWS, seconds, seconds[None], WINDOWS, REPLAY * seconds)
    assert decide_by_seconds(whole, bands, 3).action == "none"


def test_the_best_window_is_kept() -> None:
    verdict = by_seconds([4.0, 2.0, 3.0, 3.0], 4)
    assert (verdict.action, verdict.read_ahead_kb) == ("keep", 4)
    assert verdict.why.startswith("the current window is the best: 2.000 s predicted at 4 KiB")
