"""The disk by a capture's probe: generated devices are found again, impossible ones refused."""

from __future__ import annotations

from math import inf

import msgspec
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from probed_disks import probe_on, trial_on
from property_tests import examples

from foreread.analyzer.predict.disk.device_model import DeviceModelError
from foreread.analyzer.predict.disk.probed import device_of_probe, page_cost, probe_of
from foreread.boards.cost import FixedCost as FixedFigures
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.devices.measured import Measured, Point
from foreread.emulator.devices.paced import Paced
from foreread.tracer.formats.disk_probe import DiskProbe, PageReads, ProbeTrial
from foreread.tracer.local.disk.plan import probe

FAST = FixedCost(60_000, 500)


@given(latency=st.floats(80e3, 5e6), per_kib=st.floats(3e3, 1e5), seed=st.integers(0, 99))
@settings(max_examples=12, deadline=None)
def test_a_fixed_cost_is_recovered(latency, per_kib, seed):
    device = device_of_probe(probe_on(FixedCost(latency, per_kib), seed)).device
    for kib in (4, 64, 256):
        found = device.queue().submit(0.0, 0, 2 * kib)
        assert found == pytest.approx(latency + per_kib * kib, rel=0.05)


@given(requests=st.integers(200, 8000), mb_s=st.floats(2, 100), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
@example(requests=200, mb_s=2.125, seed=0)  # 3.2 requests of 64 KiB in a slice
@example(requests=200, mb_s=2.25, seed=0)
@example(requests=200, mb_s=11.25, seed=0)  # 4.3 requests of 256 KiB in a slice
def test_a_token_bucket_is_recovered(requests, mb_s, seed):
    device = device_of_probe(probe_on(Paced(requests, mb_s * 1e6, FAST), seed)).device
    assert isinstance(device, Paced)
    assert device.slice_ns == 100e6
    for kib in (4, 64):
        expected = min(requests, mb_s * 1e6 / (kib * 1024))
        by_turn, by_size = device.requests_per_second, device.bytes_per_second / (kib * 1024)
        assert min(by_turn, by_size) == pytest.approx(expected, rel=0.04)


def test_a_limit_of_requests_alone_limits_no_bytes():
    device = device_of_probe(probe_on(Paced(500, inf, FAST))).device
    assert isinstance(device, Paced)
    assert device.requests_per_second == pytest.approx(500, rel=0.02)
    assert device.bytes_per_second > 400e6


def test_flash_that_works_in_parallel_is_a_table():
    points = [
        Point(kib, sequential, 60e3 + kib * 1e3, 15e3 + kib * 0.9e3)
        for kib in (4, 16, 64, 256, 1024)
        for sequential in (False, True)
    ]
    device = device_of_probe(probe_on(Measured(tuple(points)), seed=1)).device
    alone, beside = device.queue(), device.queue()
    assert alone.submit(0.0, 0, 8) == pytest.approx(64e3, rel=0.05)
    beside.submit(0.0, 0, 8)
    assert beside.submit(0.0, 1 << 20, 8) < 1.5 * 64e3


def test_the_probe_of_a_working_disk_is_over_in_a_second_and_that_of_a_limited_one_in_two():
    def took_s(device):
        asked = []

        def run(pattern, seconds):
            asked.append(seconds)
            return trial_on(device, pattern, seconds)

        probe(run, asked.append)
        return sum(asked)

    assert took_s(FAST) < 1.2
    assert took_s(Paced(1000, 40e6, FAST)) < 2.4


def test_a_known_cost_is_taken_as_it_is():
    known = FixedFigures(obtained="set", latency_us=1000, ns_per_kib=50_000)
    probed = device_of_probe(DiskProbe(dev="7:0", name="vda", known=known))
    assert probed.device == FixedCost(1e6, 50e3)
    assert "emulated board" in probed.how


def test_only_the_probe_of_the_disk_itself_is_used():
    probe_found = DiskProbe(dev="7:0", name="loop0")
    assert probe_of(probe_found, "7:0") is probe_found
    assert probe_of(probe_found, "8:0") is None
    assert probe_of(None, "7:0") is None


def reads(size, direct_us, cached_us):
    return PageReads(
        request_bytes=size,
        direct_ns=[int(1000 * us) for us in direct_us],
        cached_ns=[int(1000 * us) for us in cached_us],
    )


def test_page_cost_is_the_extra_time_of_cached_reads():
    small = reads(4096, [90, 100, 500], [104, 105, 900])
    large = reads(131072, [300, 310, 320], [410, 439, 440])
    disk = DiskProbe(dev="7:0", name="vda", pages=[large, small])
    assert page_cost(disk, 4096) == pytest.approx((129 - 5) * 1000 / 31)
    assert page_cost(disk, 16384) == pytest.approx(4 * (129 - 5) * 1000 / 31)


def test_without_reads_into_the_cache_a_page_costs_nothing_more():
    assert page_cost(None, 4096) == 0
    assert page_cost(DiskProbe(dev="7:0", name="vda", pages=[reads(4096, [1], [2])]), 4096) == 0
    faster = [reads(4096, [90], [100]), reads(131072, [300], [200])]
    assert page_cost(DiskProbe(dev="7:0", name="vda", pages=faster), 4096) == 0
    empty = [reads(4096, [], []), reads(131072, [300], [400])]
    assert page_cost(DiskProbe(dev="7:0", name="vda", pages=empty), 4096) == 0


def trial(**changed):
    given = {
        "request_bytes": 4096,
        "sequential": False,
        "depth": 1,
        "offset": [0, 4096, 8192, 0],
        "issue_ns": [0, 1000, 2000, 3000],
        "complete_ns": [900, 1900, 2900, 3900],
    }
    return given | changed


def probe_file(*trials, **changed):
    return {"dev": "7:0", "name": "loop0", "seconds": 1.0, "trials": list(trials)} | changed


@pytest.mark.parametrize(
    "found",
    [
        probe_file(trial(issue_ns=[float("nan"), 1, 2, 3])),
        probe_file(trial(issue_ns=[-1, 1, 2, 3])),
        probe_file(trial(complete_ns=[10**30, 1, 2, 3])),
        probe_file(trial(complete_ns=[0, 0, 0, 0])),
        probe_file(trial(offset=[1])),
        probe_file(trial(request_bytes=0)),
        probe_file(trial(request_bytes=1 << 40)),
        probe_file(trial(depth=0)),
        probe_file(trial(depth=1 << 30)),
        probe_file(seconds=float("nan")),
        probe_file(seconds=-1.0),
        probe_file(*[trial()] * 101),
        probe_file(known={"model": "fixed", "obtained": "set", "latency_us": -1, "ns_per_kib": 0}),
        {"name": "loop0"},
    ],
)
def test_a_damaged_probe_is_refused(found):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(found, type=DiskProbe)


@pytest.mark.parametrize(
    "trials",
    [
        [],
        [trial()],
        [trial(offset=[], issue_ns=[], complete_ns=[]), trial(), trial(depth=2)][:1],
        [trial(depth=2), trial(depth=4, request_bytes=65536)],
        [trial(issue_ns=[0] * 4, complete_ns=[5] * 4)] * 3,
    ],
)
def test_a_probe_that_shows_nothing_is_refused(trials):
    found = msgspec.convert(probe_file(*trials), type=DiskProbe)
    with pytest.raises(DeviceModelError) as refused:
        device_of_probe(found)
    assert "calibrate" in refused.value.remedy


@given(
    st.lists(
        st.builds(
            lambda size, sequential, depth, times: ProbeTrial(
                request_bytes=size,
                sequential=sequential,
                depth=depth,
                offset=[0] * len(times),
                issue_ns=[begin for begin, _ in times],
                complete_ns=[begin + took for begin, took in times],
            ),
            st.sampled_from([512, 1024, 4096, 1 << 20, 1 << 26]),
            st.booleans(),
            st.sampled_from([1, 2, 1024]),
            st.lists(
                st.tuples(st.integers(0, 10**12), st.sampled_from([0, 1, 10**6, 10**12])),
                max_size=12,
            ),
        ),
        max_size=6,
    )
)
@settings(
    max_examples=examples(60), phases=(Phase.explicit, Phase.reuse, Phase.generate), deadline=None
)
def test_any_probe_gives_a_usable_device_or_is_refused(trials):
    try:
        device = device_of_probe(DiskProbe(dev="7:0", name="x", trials=trials)).device
    except DeviceModelError:
        return
    end = device.queue().submit(0.0, 0, 8)
    assert 0 <= end < inf
