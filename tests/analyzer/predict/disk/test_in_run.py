"""A measured disk takes the latencies that the run's own requests had."""

from __future__ import annotations

import numpy as np
import pytest

from foreread.analyzer.ingest.tables import REQUESTS, Table
from foreread.analyzer.predict.disk.in_run import FEWEST, as_in_run
from foreread.emulator.devices.measured import Measured, Point

DISK = Measured(
    (
        Point(4, False, 90_000.0, 30_000.0),
        Point(4, True, 70_000.0, 70_000.0),
        Point(64, False, 160_000.0, 140_000.0),
    ),
    band=0.1,
)


def requests(*rows):
    """Return requests of (issue, complete, sector, sectors)."""
    columns = np.array(rows, np.uint64).reshape(-1, 4).T
    names = ("issue_ns", "complete_ns", "sector", "sectors")
    found = dict(zip(names, columns, strict=True))
    zeros = np.zeros(len(rows), np.uint64)
    columns = {c.name: found.get(c.name, zeros).astype(c.dtype) for c in REQUESTS.columns}
    return Table(REQUESTS, columns)


def random_reads(took_ns, count=FEWEST, apart_ns=1_000_000):
    starts = [(1 + at) * apart_ns for at in range(count)]
    return [(start, start + took_ns, start, 8) for start in starts]


def latencies(device):
    return [point.latency_ns for point in device.points]


def test_all_sizes_lose_what_the_probe_measured_beside_the_disk():
    found = as_in_run(DISK, requests(*random_reads(60_500)), 500.0, same_disk=False)
    assert latencies(found) == [60_000, 40_000, 130_000]
    assert [point.occupancy_ns for point in found.points] == [30_000, 40_000, 130_000]
    assert found.band == DISK.band


def test_each_pattern_has_its_own_difference():
    took = [60_000] + [65_000] * 39  # the first one does not follow another
    starts = [10**9 + at * 10**6 for at in range(40)]
    stream = [
        (at, at + ns, 8 * row, 8) for row, (at, ns) in enumerate(zip(starts, took, strict=True))
    ]
    found = as_in_run(DISK, requests(*random_reads(60_000), *stream), 0.0, same_disk=False)
    assert latencies(found) == [60_000, 65_000, 130_000]


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(random_reads(60_000, FEWEST - 1), id="too few"),
        pytest.param(random_reads(60_000, apart_ns=50_000), id="several in flight"),
        pytest.param(random_reads(20_000), id="a much faster disk"),
        pytest.param(random_reads(900_000), id="a much slower disk"),
        pytest.param([(at, 0, at, 8) for at in range(1, 100)], id="no completions"),
        pytest.param([], id="none"),
    ],
)
def test_a_disk_that_the_run_does_not_show_stays_as_it_is(rows):
    assert as_in_run(DISK, requests(*rows), 0.0, same_disk=False) == DISK


@pytest.mark.parametrize("took_ns", [20_000, 900_000])
def test_a_busy_machine_made_the_probe_of_the_same_disk_slow(took_ns):
    found = as_in_run(DISK, requests(*random_reads(took_ns)), 0.0, same_disk=True)
    assert latencies(found)[0] == took_ns
    assert min(latencies(found)) > 0


def test_the_tail_of_the_latencies_is_part_of_the_disk_s_time_but_no_stall_is():
    rows = random_reads(60_000, 27) + random_reads(120_000, 10)[7:] + random_reads(10**8, 12)[11:]
    rows.sort()
    apart = [
        (10**9 * at, 10**9 * at + end - start, at, 8) for at, (start, end, *_) in enumerate(rows, 1)
    ]
    found = as_in_run(DISK, requests(*apart), 0.0, same_disk=True)
    expected = (27 * 60_000 + 3 * 120_000 + 10 * 60_000) / 31
    assert latencies(found)[0] == pytest.approx(expected)


def test_a_disk_that_drifts_during_the_run_has_a_wider_band():
    slower = [
        (10**9 + start, 10**9 + end + 20_000, *more) for start, end, *more in random_reads(60_000)
    ]
    drifting = as_in_run(DISK, requests(*random_reads(60_000), *slower), 0.0, same_disk=False)
    assert drifting.band == pytest.approx(np.hypot(DISK.band, 10 / 70))
