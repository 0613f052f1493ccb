"""A paced device: the blkio limiter tick by tick, and one that lets requests pass evenly."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.emulator.devices.device import FixedCost
from foreread.emulator.devices.paced import Paced

MS = 1e6
BASE = FixedCost(10_000, 0)


def one_by_one(model, requests, meta=False):
    """Return when each request of (sectors, bios) completes, each sent when the last is done."""
    queue, at, found = model.queue(), 0.0, []
    for sectors, bios in requests:
        at = queue.submit(at, 0, sectors, bios, meta)
        found.append(at)
    return found


def test_a_slice_s_budget_is_granted_at_once():
    """1,000 a second: 100 at once; then a timer for tick 25, which fires after it, at 104 ms."""
    found = one_by_one(Paced(requests_per_second=1000, base=BASE), [(8, 1)] * 401)
    assert found[99] == pytest.approx(100 * 0.01 * MS)
    assert found[100] == pytest.approx(104.01 * MS)
    assert found[199] == pytest.approx(105 * MS)
    assert found[200] == pytest.approx(204.01 * MS)
    assert found[400] == pytest.approx(404.01 * MS)


def test_bytes_wait_for_the_slice_and_for_what_is_missing():
    """5 MB/s: 500,000 bytes at once; 524,288 wait 25 ticks, 1 for 24,288, and 1 for the timer.

    The running kernel did the same: 27 ticks for the first, then 26 to 27 for each.
    """
    found = one_by_one(Paced(bytes_per_second=5e6, base=BASE), [(1024, 1)] * 40)
    assert found[0] == pytest.approx(27 * 4 * MS + 0.01 * MS)
    assert found[39] - found[0] == pytest.approx(39 * 524_288 / 5e6 * 1e9, abs=8 * MS)


def test_each_bio_counts():
    model = Paced(requests_per_second=1000, base=BASE)
    assert one_by_one(model, [(64, 8)] * 12)[-1] < 1 * MS
    assert one_by_one(model, [(64, 8)] * 13)[-1] == pytest.approx(104.01 * MS)


def test_limits_overlap():
    """Each limit by itself takes a second for 1,000 requests of 10,240 bytes, and so do both."""
    each = [(20, 1)] * 1000
    both = one_by_one(Paced(1000, 10.24e6), each)[-1]
    alone = one_by_one(Paced(requests_per_second=1000), each)[-1]
    assert both == pytest.approx(alone, abs=8 * MS)
    assert alone == pytest.approx(904 * MS)


def test_metadata_passes_before_its_budget():
    """It never waits, and what comes after it pays: 150 of 100 a slice are over at 200 ms."""
    model = Paced(requests_per_second=1000, base=BASE)
    queue = model.queue()
    at = 0.0
    for _ in range(150):
        at = queue.submit(at, 0, 8, 1, meta=True)
    assert at == pytest.approx(150 * 0.01 * MS)
    for _ in range(50):
        at = queue.submit(at, 0, 8)
    assert at < 110 * MS
    assert queue.submit(at, 0, 8) == pytest.approx(204.01 * MS)
    assert queue.submit(at, 0, 8, 1, meta=True) < 205 * MS


def test_unused_budget_is_kept_for_one_slice():
    """Idle for 300 ms, and the slice is forgotten: 100 at once again, and no more."""
    queue = Paced(requests_per_second=1000).queue()
    assert queue.submit(0, 0, 8) == 0
    at = 300 * MS
    for _ in range(100):
        at = queue.submit(at, 0, 8)
    assert at == 300 * MS
    assert queue.submit(at, 0, 8) == 404 * MS


def test_an_even_pace_takes_the_stricter_limit():
    """1 ms a request, 1 ms for 10 KiB; the device behind needs 4 ms by itself."""
    model = Paced(1000, 10.24e6, slice_ns=0)
    assert one_by_one(model, [(8, 1), (40, 1), (8, 2)]) == pytest.approx([1e6, 3e6, 5e6])
    slow = Paced(1000, inf, FixedCost(4e6, 0), slice_ns=0)
    assert one_by_one(slow, [(8, 1), (8, 1)]) == pytest.approx([4e6, 8e6])


requests = st.lists(
    st.tuples(st.integers(1, 2048), st.integers(1, 4), st.floats(0, 300 * MS), st.booleans()),
    min_size=1,
    max_size=120,
)


@given(
    each=requests,
    bios_per_s=st.floats(5, 10_000),
    bytes_per_s=st.floats(1e5, 1e9),
    slice_ns=st.sampled_from([0, 100 * MS]),
    tick_ns=st.sampled_from([1 * MS, 4 * MS, 10 * MS]),
)
def test_no_more_passes_than_the_rates_allow(each, bios_per_s, bytes_per_s, slice_ns, tick_ns):
    """Up to two slices' budget may be saved up, and one bio more passes each limit."""
    queue = Paced(bios_per_s, bytes_per_s, slice_ns=slice_ns, tick_ns=tick_ns).queue()
    now = passed_bios = passed_bytes = latest = 0.0
    for sectors, bios, pause, waited in each:
        done = queue.submit(now, 0, sectors, bios)
        assert done >= now
        assert done >= latest or slice_ns == 0
        latest = max(latest, done)
        passed_bios, passed_bytes = passed_bios + bios, passed_bytes + sectors * 512
        saved = 2 * slice_ns
        assert passed_bios <= bios_per_s * (latest + saved) / 1e9 + 1.001
        assert passed_bytes <= bytes_per_s * (latest + saved) / 1e9 + 513
        now = max(now, done) if waited else now + pause


def test_the_rates_are_drawn_from_the_band():
    rng = np.random.default_rng(2)
    sure = Paced(1000, 1e6)
    assert sure.perturbed(rng) == sure
    drawn = [Paced(1000, 1e6, band=0.05).perturbed(rng) for _ in range(500)]
    assert np.std([one.requests_per_second for one in drawn]) == pytest.approx(50, rel=0.15)
    assert np.std([one.bytes_per_second for one in drawn]) == pytest.approx(5e4, rel=0.15)


@pytest.mark.parametrize("arguments", [{"requests_per_second": 0}, {"tick_ns": 0}])
def test_invalid_paces_are_refused(arguments):
    with pytest.raises(ValueError, match="above 0"):
        Paced(**arguments)


def test_it_is_described_in_words():
    assert (
        Paced(1000, 5e6)
        .describe()
        .startswith("limited to 1,000 requests/s and 5.0 MB/s, in slices of 100 ms")
    )
    assert "nothing, evenly" in Paced(slice_ns=0).describe()
