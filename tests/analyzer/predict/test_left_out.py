"""The error that predicted seconds do not contain, by the kind of disk."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.predict.bands import CHANGED, REPLAY, RUN, left_out
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.devices.paced import Paced

LIMITER = Paced(1000, 40e6)
some_seconds = st.floats(0.01, 100)


@pytest.mark.parametrize("device", [FixedCost(1e5, 1e5), Paced(1000, 40e6, slice_ns=0)])
def test_without_a_slice_it_is_a_part_of_the_seconds(device):
    assert left_out(device, np.array([4.0, 0.1]), 4.0) == pytest.approx([4 * REPLAY, 0.1 * REPLAY])


def test_a_limiter_leaves_open_when_in_a_slice_a_start_begins_and_ends():
    """Against drawn starts and ends: two uniform times of a slice each."""
    drawn = np.random.default_rng(1).uniform(0, 0.1, (2, 100_000)).sum(axis=0)
    assert left_out(LIMITER, np.array([1e-6]), 0.0)[0] == pytest.approx(drawn.std(), rel=0.01)


@given(some_seconds, some_seconds)
def test_with_a_limiter_a_shorter_start_is_known_worse_in_parts(one, other):
    short, long = sorted((one, other))
    of = [left_out(LIMITER, np.array([at]), at)[0] / at for at in (short, long)]
    assert of[0] >= of[1] > RUN


@given(some_seconds, some_seconds)
def test_savings_by_a_window_have_a_wider_error(seconds, recorded):
    same, changed = (left_out(LIMITER, np.array([seconds]), at)[0] for at in (seconds, recorded))
    assert changed**2 - same**2 == pytest.approx((CHANGED * (seconds - recorded)) ** 2, abs=1e-9)
