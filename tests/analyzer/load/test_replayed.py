"""A start beside a load: whose requests wait for whose, and whose seconds count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loaded_starts import DISK, MS, PAGE, PAGES, a_start

from foreread.analyzer.load.client import Client, Load
from foreread.analyzer.load.error import LoadError
from foreread.analyzer.load.replayed import unpredicted, with_load
from foreread.analyzer.load.scenarios import load_of_scenario
from foreread.analyzer.predict.seconds import number_of_draws, replayed_bands
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.devices.paced import Paced
from foreread.emulator.linux.steps import UNLIMITED, WRITE
from foreread.emulator.stepwise.timed import timed

LIMITER = Paced(requests_per_second=1000, bytes_per_second=40e6)
RANDOM = Client(in_order=False, size=PAGE, think_ns=20_000)
CAT = Client(cached=True, sequential=True, think_ns=20_000)
WRITER = Client(write=True, cached=True, size=64 << 10, think_ns=3 * MS, burst_bytes=4 << 20)


def seconds(start, window=0):
    return start.timed([window])[0].total_ns / 1e9


def beside(start, *clients, **load):
    return with_load(start, Load("load", clients, **load))


def test_an_idle_machine_is_no_load():
    start = a_start()
    assert with_load(start, load_of_scenario("idle", start)) is start


def test_each_read_of_a_start_waits_for_the_requests_of_a_client():
    """A read of 4 KiB takes the disk 1.2 ms, of which at most one precedes each of the start's."""
    start = a_start()
    idle, loaded = seconds(start), seconds(beside(start, RANDOM))
    assert idle + PAGES * 0.5e-3 < loaded < idle + (PAGES + 1) * 1.2e-3


def test_more_outstanding_requests_are_more_to_wait_for():
    start = a_start()
    times = [seconds(beside(start, replace(RANDOM, outstanding=n))) for n in (1, 2, 4)]
    assert times[0] < times[1] < times[2]
    assert times[2] - times[1] == pytest.approx(2 * (times[1] - times[0]), rel=0.3)


def test_a_reader_through_the_page_cache_follows_the_window():
    """Requests of the load grow with the window, and with them the waits of the start's last."""
    start = a_start()
    loaded = beside(start, CAT)
    waits = [seconds(loaded, window) - seconds(start, window) for window in (32, 256)]
    assert 0 < waits[0] < waits[1]


def test_sequential_advice_doubles_what_a_reader_has_in_flight():
    start = a_start()
    plain = beside(start, replace(CAT, sequential=False))
    assert seconds(plain, 64) < seconds(beside(start, CAT), 64)


def test_a_writer_s_burst_is_in_the_queue_at_once():
    """4 MiB in requests of 1,280 KiB take 214 ms: the start waits for a burst at least."""
    start = a_start()
    assert seconds(beside(start, WRITER)) > seconds(start) + 0.2


def test_a_limiter_of_reads_holds_no_writes():
    start = a_start(LIMITER)
    assert seconds(beside(start, WRITER)) == pytest.approx(seconds(start), rel=0.05)


@pytest.mark.parametrize("limited", [True, None])
def test_a_load_in_the_group_of_the_start_shares_its_limit(limited):
    start = a_start(LIMITER)
    assert seconds(beside(start, RANDOM, limited=limited)) > 1.4 * seconds(start)


def test_a_load_that_is_not_limited_uses_the_disk_but_not_the_limiter():
    start = a_start(replace(LIMITER, base=FixedCost(0.0, 0.0)))
    loaded = beside(start, RANDOM, limited=False)
    assert (loaded.run.steps["meta"][loaded.run.own_steps :] & UNLIMITED).all()
    assert seconds(loaded) == pytest.approx(seconds(start))


def test_a_client_that_ends_early_delays_no_later_read():
    start = a_start()
    times = [seconds(beside(start, replace(RANDOM, stop_s=stop))) for stop in (-0.5, 0.03, 9.0)]
    assert times[0] == pytest.approx(seconds(start))
    assert times[0] < times[1] < times[2]
    late = replace(RANDOM, start_s=0.05)
    assert seconds(start) < seconds(beside(start, late)) < times[2]


def test_parts_of_a_time_are_the_start_s_alone():
    start = a_start()
    idle, loaded = (one.timed([8])[0] for one in (start, beside(start, RANDOM)))
    assert loaded.compute_ns == pytest.approx(idle.compute_ns, rel=0.05)
    assert loaded.compute_ns + loaded.waited_ns == pytest.approx(loaded.total_ns)


def test_the_costs_of_computing_count_from_the_idle_run():
    """The reference, with the same recorded run, gives the same."""
    start = a_start()
    loaded = beside(start, RANDOM, CAT, WRITER)
    recorded = timed(start.run, 0, DISK)
    plain = timed(loaded.run, 8, DISK, start.cpu, recorded)
    assert loaded.timed([8])[0].total_ns == pytest.approx(plain.total_ns)


def test_bands_are_those_of_any_start():
    loaded = beside(a_start(), RANDOM)
    replays, bands = replayed_bands([loaded], [0, 8, 32], [8, 32])
    assert bands.seconds.tolist() == [run.total_ns / 1e9 for run in replays[0]]
    low, high = bands.band()
    assert (low < bands.seconds).all() and (bands.seconds < high).all()


def test_a_load_replaces_the_one_before():
    start = a_start()
    twice = with_load(beside(start, WRITER), Load("other", (RANDOM,)))
    assert seconds(twice) == seconds(beside(start, RANDOM))
    assert seconds(twice.idle) == seconds(start)


@pytest.mark.parametrize("scheduler", ["bfq", "kyber"])
def test_schedulers_with_an_order_of_their_own_are_not_predicted(scheduler):
    start = a_start(scheduler=f"none mq-deadline [{scheduler}]")
    load = Load("load", (RANDOM,))
    assert scheduler in unpredicted(start, load)
    with pytest.raises(LoadError, match=scheduler):
        with_load(start, load)
    assert unpredicted(a_start(scheduler="none [mq-deadline]"), load) == ""


def test_a_load_that_is_not_predicted_says_why():
    start = a_start()
    memory = load_of_scenario("memory:16", start)
    with pytest.raises(LoadError, match="memory"):
        with_load(start, memory)
    many = Load("load", (replace(RANDOM, outstanding=2000),))
    assert "1,024 requests" in unpredicted(start, many)


@pytest.mark.parametrize(
    "client",
    [
        Client(size=0, think_ns=-5.0, outstanding=0),
        Client(size=1 << 40, outstanding=1000, cached=True),
        Client(size=1 << 40, outstanding=1000, in_order=False),
        Client(write=True, cached=True, burst_bytes=1, think_ns=0.0),
        Client(in_order=False, cached=True, size=1000),
    ],
)
def test_extreme_clients_are_replayed(client):
    start = a_start()
    assert seconds(beside(start, client), 8) >= seconds(start, 8)


def test_clients_of_a_machine_with_one_sequence_have_processors():
    start = a_start()
    assert (start.threads, start.run.cpus) == ((), 1)
    assert beside(start, RANDOM).run.cpus == 2


def test_files_of_loads_lie_after_those_of_the_start():
    start = a_start()
    loaded = beside(start, CAT, CAT)
    extents = loaded.run.layout.extents
    files = len(start.run.program.files)
    ours = extents[extents["file"] >= files]
    theirs = extents[extents["file"] < files]
    assert len(theirs) == 0 or ours["sector"].min() >= (theirs["sector"] + theirs["sectors"]).max()
    assert len(np.unique(loaded.run.program.handles[-2:])) == 2


def test_a_start_beside_a_load_is_drawn_less_often():
    """Its replays take longer."""
    start = a_start()
    loaded = beside(start, RANDOM)
    assert number_of_draws(loaded, 64) < number_of_draws(start, 64)


@pytest.mark.parametrize(
    ("latency", "places"),
    [("", 1 << 20), ("0", 1 << 20), ("-1", 1 << 20), ("1000", 2), ("75000", 48)],
)
def test_the_kernel_s_throttle_limits_the_writes_in_the_queue(latency, places):
    """A page takes the disk 1.2 ms after a write, and its queue holds 64 requests."""
    start = a_start(nr_requests="64", wbt_lat_usec=latency)
    assert beside(start, WRITER).run.limits.nr_writes == places
    alone = beside(start, RANDOM)
    assert not (alone.run.steps["meta"] & WRITE).any()


@pytest.mark.parametrize(
    ("version", "cpus", "credit"),
    [((6, 5, 13), 1, 3 * MS), ((6, 1), 4, 9 * MS), ((5, 10), 32, 12 * MS), ((6, 6), 1, 0)],
)
def test_a_client_that_sleeps_has_credit_before_linux_6_6(version, cpus, credit):
    start = replace(a_start(), version=version, threads=(1,))
    start = replace(start, run=replace(start.run, cpus=cpus))
    assert start.run.machine.credit_ns == 0
    assert beside(start, RANDOM).run.machine.credit_ns == credit


def test_writes_that_are_throttled_delay_a_start_less():
    times = [seconds(beside(a_start(wbt_lat_usec=latency), WRITER)) for latency in ("1000", "0")]
    assert times[0] < times[1]
