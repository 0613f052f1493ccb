"""The device's cost: learnt from requests, read from files, refused with a reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.ingest.tables import REQUESTS, Rwbs, Table
from foreread.analyzer.predict.disk.device_model import DeviceModelError, learn, read_device_model
from foreread.boards.profile import ProfileError
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.devices.measured import Measured, Point
from foreread.emulator.devices.paced import Paced
from foreread.emulator.devices.stateful import Stateful

LARGE = [8, 16, 32, 64, 128]
EXAMPLES = Path(__file__).parents[4] / "examples/device-models"


def requests(kib, service_ns, apart_ns=1_000_000, complete=True):
    """One request after the other, or sooner than that where they are less ``apart``."""
    table = Table.empty(REQUESTS, len(kib))
    columns = {name: table[name].copy() for name in table}
    columns["sectors"] = (np.array(kib) * 2).astype(np.uint32)
    columns["flags"][:] = Rwbs.READ
    free = issue = 1.0
    for row, one in enumerate(service_ns):
        columns["issue_ns"][row] = issue
        free = max(free, issue) + one
        columns["complete_ns"][row] = free if complete else 0
        issue = free + apart_ns if apart_ns >= 0 else issue + 1
    return Table(REQUESTS, columns)


@pytest.mark.thorough
@given(
    latency=st.floats(10e3, 5e6),
    per_kib=st.floats(1e3, 2e5),
    noise=st.lists(st.floats(-0.01, 0.01), min_size=115, max_size=115),
    late=st.lists(st.integers(0, 99), max_size=5),
    queued=st.booleans(),
)
def test_a_noisy_device_is_learnt(latency, per_kib, noise, late, queued):
    """Noise of 1 %, and up to five of 115 requests that took ten times as long."""
    kib = [4] * 100 + [size for size in LARGE for _ in range(3)]
    service = [(latency + per_kib * k) * (1 + n) for k, n in zip(kib, noise, strict=True)]
    for row in late:
        service[row] *= 10
    found = learn(requests(kib, service, -1 if queued else 1_000_000))
    for size in (4, 32, 128):
        assert found.service_ns(2 * size) == pytest.approx(latency + per_kib * size, rel=0.03)


def test_the_spread_is_the_remaining_error():
    kib = [4] * 20 + [64] * 4
    service = [1_000_000 + 50_000 * k for k in kib]
    assert learn(requests(kib, service)).spread_ns == pytest.approx(0, abs=2)
    service = [s + (20_000 if row % 2 else -20_000) for row, s in enumerate(service)]
    assert learn(requests(kib, service)).spread_ns == pytest.approx(20_000, rel=0.1)


def held_back(limit, pause_ns):
    """Requests that a limiter let pass, one after the other, ``pause_ns`` of computing apart."""
    queue, now, issues, service = limit.queue(), 1.0, [], []
    for row in range(1500):
        done = queue.submit(now, 0, 8 if row % 20 else 64)
        # A request is issued when the limiter has let it pass.
        issues.append(done - limit.base.service_ns(8))
        service.append(limit.base.service_ns(8))
        now = done + pause_ns
    table = Table.empty(REQUESTS, len(issues))
    columns = {name: table[name].copy() for name in table}
    columns["sectors"][:] = [8 if row % 20 else 64 for row in range(len(issues))]
    columns["flags"][:] = Rwbs.READ
    columns["issue_ns"] = np.array(issues).astype(np.uint64)
    columns["complete_ns"] = (np.array(issues) + service).astype(np.uint64)
    return Table(REQUESTS, columns)


@pytest.mark.parametrize(("requests", "mb_s"), [(1000, 5), (4000, 10), (500, 40)])
def test_a_limiter_is_recognised_and_not_learnt_as_if_it_were_not_there(requests, mb_s):
    limit = Paced(requests, mb_s * 1e6, FixedCost(1e5, 1000))
    with pytest.raises(DeviceModelError, match="bursts 100 ms apart") as caught:
        learn(held_back(limit, 50_000))
    assert "foreread calibrate" in caught.value.remedy


def test_computing_between_reads_is_not_a_limiter():
    rng = np.random.default_rng(0)
    table = held_back(Paced(base=FixedCost(1e5, 1000)), 0)
    columns = {name: table[name].copy() for name in table}
    pauses = np.cumsum(rng.exponential(30e6, table.rows)).astype(np.uint64)
    for name in ("issue_ns", "complete_ns"):
        columns[name] += pauses
    assert learn(Table(REQUESTS, columns)).latency_ns > 0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (requests([4] * 100, [1e6] * 100), "nearly all reads are of 4 KiB"),
        (requests([4] * 98 + [64] * 2, [1e6] * 100), "nearly all reads are of 4 KiB"),
        (requests([4, 8] * 5, [1e6] * 10), "only 10 reads"),
        (requests([4, 8] * 50, [1e6] * 100, complete=False), "100 of 100 reads have no completion"),
        (Table.empty(REQUESTS), "only 0 reads"),
    ],
)
def test_undeterminable_costs_are_refused(table, message):
    with pytest.raises(DeviceModelError, match=message) as caught:
        learn(table)
    assert "--device-model" in caught.value.remedy


def test_a_file_gives_the_cost(tmp_path):
    path = tmp_path / "disk.toml"
    path.write_text('kind = "fixed"\nlatency_us = 250\nns_per_kib = 12_500.5\n')
    found = read_device_model(str(path))
    assert (found.latency_ns, found.ns_per_kib) == (250_000, 12_500.5)


def test_a_board_on_paper_is_given_by_its_rates(tmp_path):
    """Latency, bytes and requests a second: a data sheet; without a slice it is the limiter."""
    path = tmp_path / "disk.toml"
    rates = "latency_us = 250\nbytes_per_second = 80e6\nrequests_per_second = 5000\n"
    path.write_text(f'kind = "paced"\nslice_ms = 0\n{rates}')
    assert read_device_model(str(path)) == Paced(5000, 80e6, FixedCost(250_000, 0), slice_ns=0)
    path.write_text('kind = "paced"\nrequests_per_second = 1000\nband = 0.01\n')
    assert read_device_model(str(path)) == Paced(1000, band=0.01)


def test_a_table_gives_the_cost(tmp_path):
    path = tmp_path / "disk.toml"
    path.write_text(
        'kind = "measured"\n'
        "[[points]]\nrequest_kib = 4\nlatency_us = 100\n"
        "[[points]]\nrequest_kib = 4\nsequential = true\nlatency_us = 50\noccupancy_us = 20\n"
    )
    points = (Point(4, False, 100_000, 100_000), Point(4, True, 50_000, 20_000))
    assert read_device_model(str(path)) == Measured(points)


def test_a_profile_of_any_kind_gives_the_cost():
    assert read_device_model("loop") == Paced(1000, 40e6)


def test_a_board_profile_gives_the_cost():
    found = read_device_model("arm64")
    assert (found.latency_ns, found.ns_per_kib) == (1_000_000, 50_000)


@pytest.mark.parametrize(
    "text",
    [
        "",
        'kind = "paced"\nlatency_us = 1\nns_per_kib = 1',
        'kind = "fixed"\nlatency_us = -1\nns_per_kib = 1',
        'kind = "fixed"\nlatency_us = nan\nns_per_kib = 1',
        'kind = "fixed"\nlatency_us = 1',
        'kind = "fixed"\nlatency_us = 1\nns_per_kib = 1\nmore = 1',
        'model = "fixed"\nlatency_us = 1\nns_per_kib = 1',
        'kind = "measured"\npoints = []',
        'kind = "measured"\npoints = [{request_kib = 4, latency_us = 0}]',
        'kind = "paced"\nrequests_per_second = 0',
        'kind = "paced"\nrequests_per_second = 1\nslice_ms = 0.000001\nkind = 1',
        "a = " + "[" * 100_000,
        "\0",
    ],
)
def test_a_wrong_file_is_refused(tmp_path, text):
    path = tmp_path / "disk.toml"
    path.write_text(text)
    with pytest.raises(DeviceModelError, match=r"disk\.toml"):
        read_device_model(str(path))


def test_a_profile_without_a_cost_is_refused():
    with pytest.raises(ProfileError, match="0 storage devices with a known cost"):
        read_device_model("omap5912osk")


def test_the_shipped_examples_are_device_models():
    kinds = {file.stem: type(read_device_model(file)) for file in EXAMPLES.glob("*.toml")}
    assert kinds == {
        "data-sheet": Paced,
        "fixed": FixedCost,
        "limiter": Paced,
        "measured": Measured,
        "stateful": Stateful,
    }
