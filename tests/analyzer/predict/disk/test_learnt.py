"""A disk is learnt from requests as what it is, or refused: never as a simpler one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from disk_kinds import model_of
from rings import further

from foreread.analyzer.ingest.tables import REQUESTS, Rwbs, Table
from foreread.analyzer.predict.disk.device_model import UnexplainedError
from foreread.analyzer.predict.disk.learnt import learn_disk, with_copies
from foreread.analyzer.predict.disk.observed import observed, unexplained
from foreread.analyzer.predict.doubts.start import of_table
from foreread.boards import disks
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.devices.measured import Measured, Point
from foreread.emulator.devices.stateful import Stateful

COPY_NS, COPY_NS_PER_KIB = 2e3, 400


def reads(device, number=1500, seed=5, copies=0.0, several=0.1):
    """Return what a disk makes of reads like those of a start: small ones near others, some long.

    A tenth is issued without waiting for the one before, as readahead is.
    """
    rng = np.random.default_rng(seed)
    queue, now, rows, place = device.queue(), 1e6, [], 0
    for _ in range(number):
        if rng.random() < 0.5:
            place = int(rng.integers(0, 1 << 19)) & ~7
        else:
            place += 8 * int(rng.integers(0, 6))
        sectors = int(rng.choice([8, 8, 8, 8, 8, 16, 64, 128, 255]))
        copy = copies * (COPY_NS + COPY_NS_PER_KIB * sectors / 2)
        done = queue.submit(now + copy, place, sectors)
        rows.append((now, done, place, sectors))
        place += sectors
        now = now + 3e3 if rng.random() < several else done + float(rng.exponential(3e5))
    return table(rows)


def table(rows):
    issue, complete, sector, sectors = np.array(rows).T
    found = {
        "issue_ns": issue,
        "complete_ns": complete,
        "sector": sector,
        "sectors": sectors,
        "flags": np.full(len(rows), Rwbs.READ),
    }
    zeros = np.zeros(len(rows))
    columns = {c.name: found.get(c.name, zeros).astype(c.dtype) for c in REQUESTS.columns}
    return Table(REQUESTS, columns)


def kind(name):
    return model_of(disks.kind(name).costs)


def table_by_size(device):
    """Return what fio measures of a disk: one request at a time, at random and in order."""
    points = []
    for kib in (4, 64, 124):
        for in_order in (False, True):
            queue, apart = device.queue(), 0 if in_order else 9999
            at = [number * (2 * kib + apart) for number in range(64)]
            took = [queue.submit(i * 1e9, one, 2 * kib) - i * 1e9 for i, one in enumerate(at)]
            points.append(Point(kib, in_order, float(np.mean(took)), float(np.mean(took))))
    return Measured(tuple(points))


def mean_ns(device, requests):
    return float(observed(requests).alone_ns(device).mean())


def test_a_fixed_cost_stays_one():
    found = learn_disk(reads(FixedCost(1e6, 5e4), several=0.0))
    assert isinstance(found, FixedCost)
    assert (found.latency_ns, found.ns_per_kib) == pytest.approx((1e6, 5e4), rel=1e-3)


@pytest.mark.parametrize("name", further(["nvme", "emmc", "erase-block", "rotating", "network"], 2))
def test_a_kind_is_learnt_from_its_requests(name):
    """Other requests than those that it was learnt from take the same time on the learnt disk."""
    true, others = kind(name), reads(kind(name), seed=6)
    found = learn_disk(reads(true))
    assert found.unit_kib == true.unit_kib
    assert (found.parallel > 1) == (true.parallel > 1)
    served = observed(others)
    assert served.served_ns(found).sum() == pytest.approx(served.took_ns.sum(), rel=0.03)


def test_few_requests_at_once_show_that_a_disk_serves_them_at_once():
    """Four, which are too few for a group of their own."""
    device, rows, now = kind("nvme"), [], 1e6
    queue = device.queue()
    for number in range(200):
        sectors = 128 if number % 20 == 0 else 8
        for place in [number * 4096, *([number * 4096 + 2048] * (number in (20, 60, 90, 150)))]:
            rows.append((now, queue.submit(now, place, sectors), place, sectors))
            now += 1e3
        now += 1e6
    found, seen = learn_disk(table(rows)), observed(table(rows))
    assert isinstance(found, Stateful)
    assert found.parallel > 1
    assert seen.served_ns(found) == pytest.approx(seen.took_ns, rel=0.02)


def test_the_band_contains_the_error_of_few_large_requests():
    """Half of the requests under a wide window are large; four of 800 show what they cost."""
    noisy, rows, now = Stateful(1e6, 5e4, jitter_ns=4e5, seed=3), [], 1e6
    queue = noisy.queue()
    for number in range(800):
        sectors = 256 if number % 200 == 100 else 8
        done = queue.submit(now, number * 4096, sectors)
        rows.append((now, done, number * 4096, sectors))
        now = done + 1e5
    found = learn_disk(table(rows))
    large = 1.4e6 + 128 * 5e4
    error = found.latency_ns + found.jitter_ns + 128 * found.ns_per_kib - large
    assert abs(error) / large < 2 * found.band
    assert found.band > 0.01


def test_a_speed_that_drops_is_refused():
    with pytest.raises(UnexplainedError, match=r"quarter of the time take \d+% (more|less) time"):
        learn_disk(reads(kind("throttled")))


def test_a_speed_that_drops_later_cannot_be_seen():
    """Until the drop the disk has a fixed cost, and the capture shows no more."""
    found = learn_disk(reads(kind("throttled"), number=80, several=0.0))
    assert isinstance(found, FixedCost)


@pytest.mark.parametrize("name", ["emmc", "rotating"])
def test_a_wrong_disk_does_not_explain_the_requests(name):
    requests = reads(kind(name))
    off = unexplained(observed(requests), FixedCost(kind(name).latency_ns, kind(name).ns_per_kib))
    assert off is not None
    assert abs(off.part) > 0.05


@pytest.mark.parametrize("seed", further(range(20)))
def test_noise_alone_contradicts_no_group(seed):
    """Twenty disks whose times are random: none is refused."""
    noisy = Stateful(1e6, 5e4, jitter_ns=3e5, seed=seed + 1)
    requests = reads(noisy, seed=seed, several=0.0)
    assert mean_ns(learn_disk(requests), requests) == pytest.approx(
        float(observed(requests).took_ns.mean()), rel=0.02
    )


def test_the_drivers_copies_are_added_to_a_given_disk():
    given = Stateful(1e6, 8e4, parallel=4)
    found = with_copies(given, reads(given, copies=1.0), 0.0)
    assert found.latency_ns - given.latency_ns == pytest.approx(COPY_NS, rel=0.2)
    assert found.ns_per_kib - given.ns_per_kib == pytest.approx(COPY_NS_PER_KIB, rel=0.1)


def test_another_disks_recording_changes_no_given_disk():
    given = Stateful(1e6, 8e4, parallel=4)
    assert with_copies(given, reads(kind("rotating")), 0.0) == given


@pytest.mark.parametrize("name", ["emmc", "erase-block", "rotating"])
def test_a_table_of_a_disk_with_a_history_is_doubted(name):
    """Requests near to each other take any time between that in order and that at random."""
    (doubt,) = of_table(table_by_size(kind(name)), reads(kind(name)), 0.0)
    assert doubt.spread > 0.2
    assert "predict without --device-model" in doubt.text


def test_a_table_that_explains_the_requests_is_not_doubted():
    table = table_by_size(kind("emmc"))
    assert not [*of_table(table, reads(table), 0.0)]


def test_a_table_that_is_the_same_in_order_and_at_random_is_not_doubted():
    """The requests of another disk say nothing against it."""
    assert not [*of_table(table_by_size(kind("nvme")), reads(kind("rotating")), 0.0)]


def test_transfers_show_where_latencies_are_random():
    """Small reads alone, and long ones two at a time: the second one's latency passes meanwhile."""
    disk = replace(kind("network"), seed=7)
    rng = np.random.default_rng(1)
    queue, now, rows = disk.queue(), 1e6, []
    for number in range(900):
        sizes = (255, 64) if number % 30 == 0 else (int(rng.choice([8, 8, 8, 64])),)
        place = int(rng.integers(0, 1 << 19)) & ~7
        begin = now
        for sectors in sizes:
            now = queue.submit(begin, place, sectors)
            rows.append((begin, now, place, sectors))
            place += sectors
        now += float(rng.exponential(3e5))
    learnt = learn_disk(table(rows))
    assert isinstance(learnt, Stateful)
    assert learnt.ns_per_kib == pytest.approx(disk.ns_per_kib, rel=0.002)
    mean_ns = disk.latency_ns + disk.jitter_ns
    assert learnt.latency_ns + learnt.jitter_ns == pytest.approx(mean_ns, rel=0.03)


def test_requests_together_wait_for_the_longest_of_random_latencies():
    disk = kind("network")
    rows = [(1e6 + 1e9 * (row // 8), 2e6 + 1e9 * (row // 8), 1000 * row, 1) for row in range(400)]
    at_once = observed(table(rows))
    latest = [at_once.served_ns(replace(disk, seed=seed)).mean() for seed in range(100, 130)]
    of_the_mean = replace(disk, latency_ns=disk.latency_ns + disk.jitter_ns, jitter_ns=0.0)
    assert np.mean(latest) > 1.05 * at_once.served_ns(of_the_mean).mean()
    drawn = at_once.served_ns(replace(disk, seed=0)).mean()
    assert drawn == pytest.approx(np.mean(latest), rel=0.02)
