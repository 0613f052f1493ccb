"""Clients of a load from events that a test makes: what a program did is what is seen of it."""

from __future__ import annotations

import os

import numpy as np
import pytest
from capture_builder import ROOT_PID, capture_of, device_of
from event_table import DISK, RUNS, event, switch, table, wake
from hypothesis import example, given
from hypothesis import strategies as st

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind, Rwbs
from foreread.analyzer.load.document import shown
from foreread.analyzer.load.error import LoadError
from foreread.analyzer.load.recorded import load_of, seen_load
from foreread.boards.base.document import encode

MS, US = 1_000_000, 1000
SECOND = 1000 * MS
KIB, MIB = 2, 2048  # in sectors
BLOCKED = 2
NAMES = {7: b"dd", 8: b"cat", 9: b"kworker/1:2", 10: b"fio", 12: b"jbd2/loop0-8"}
NAMES |= dict.fromkeys(range(21, 31), b"dd")
PIDS = {"block:block_bio_queue": "pid", "sched:sched_switch": "prev_pid"}


def asked(at, took, sector, sectors, pid=7, write=False, ahead=False, dev=DISK):
    """Return the events of a request that is asked for, issued at once, and ends."""
    flags = (Rwbs.WRITE if write else Rwbs.READ) | (Rwbs.AHEAD if ahead else 0)
    more = {"index": sector, "value": sectors, "flags": int(flags), "dev": dev}
    return [
        event(Kind.BIO_QUEUE, pid=pid, time_ns=at, **more),
        event(Kind.RQ_ISSUE, pid=pid, time_ns=at + 1, **more),
        event(Kind.RQ_COMPLETE, pid=0, time_ns=at + took, **more),
    ]


def recorded(
    events, seconds=1.0, calls=None, scenario="idle", window_kb=128, advised=(), **capture
):
    """Return a recording of a load; ``calls``: pid, pages wanted, window of readahead's calls."""
    events = sorted(events, key=lambda each: each[0])

    def read_fields(name, fields):
        if name in PIDS:
            pids = np.array(sorted(NAMES), np.int32)
            return {PIDS[name]: pids, fields[-1]: np.array([NAMES[p] for p in pids], object)}
        if name == "syscalls:sys_enter_fadvise64":
            pids = np.array(advised, np.int32)
            return {"pid": pids, "advice": np.full(len(pids), os.POSIX_FADV_SEQUENTIAL)}
        columns = np.array(calls or [], np.int64).reshape(-1, 3).T
        return dict(zip(("pid", "req_count", "ra_pages"), columns, strict=True))

    names = {*PIDS}
    names |= {"readahead:page_cache_async_ra"} if calls is not None else set()
    names |= {"syscalls:sys_enter_fadvise64"} if advised else set()
    trace = Trace(
        "tracefs pages", table(*events), event_names=frozenset(names), read_fields=read_fields
    )
    base = {
        "is_load": scenario == "idle",
        "scenario": scenario,
        "command": [],
        "start_ns": 0,
        "end_ns": round(seconds * SECOND),
        "ended_by": "duration",
        "devices": [device_of(filesystems=["7:0"], read_ahead_kb=window_kb)],
    }
    return interpret(trace, capture_of(**{**base, **capture}), [], "tree")


def in_turn(number, think, took, sectors, places=None, start=0, **more):
    """Return requests of a closed loop, each asked for ``think`` after the end of the last."""
    events, at = [], start
    for row in range(number):
        sector = row * sectors if places is None else int(places[row])
        events += asked(at, took, sector, sectors, **more)
        at += took + think
    return events


def test_a_direct_reader_in_order_is_seen_with_its_size_and_think_time():
    (client,) = load_of(recorded(in_turn(300, 40 * US, 3 * MS, 128 * KIB))).clients
    assert (client.write, client.in_order, client.cached) == (False, True, False)
    assert (client.size, client.outstanding) == (128 << 10, 1)
    assert client.think_ns == pytest.approx(40 * US)


def test_a_reader_at_random_is_not_in_order():
    places = np.random.default_rng(1).permutation(400) * 4096
    (client,) = load_of(recorded(in_turn(400, 5 * US, 2 * MS, 4 * KIB, places))).clients
    assert (client.in_order, client.size) == (False, 4096)


def test_a_call_that_is_split_is_one_call():
    events, at = [], 0
    for row in range(60):
        for part in range(4):
            events += asked(at + part, (part + 1) * 3 * MS, (4 * row + part) * MIB, MIB)
        at += 12 * MS + 100 * US
    (client,) = load_of(recorded(events)).clients
    assert (client.size, client.outstanding) == (4 << 20, 1)
    assert client.think_ns == pytest.approx(100 * US, abs=10)


def test_requests_in_flight_are_counted():
    places = np.random.default_rng(1).permutation(500) * 64
    events = [
        row for n in range(500) for row in asked(n * MS, 4 * MS - 2, int(places[n]), 8, pid=10)
    ]
    (client,) = load_of(recorded(events)).clients
    assert (client.outstanding, client.size, client.in_order) == (4, 4096, False)


def cached(number, sectors, took=6 * MS, pid=8):
    """Return requests of readahead: the next window is asked for when the last one has arrived.

    The program computes for 500 µs for each of them.
    """
    events, computing = [], []
    for n in range(number):
        at = n * took
        events += asked(at + 2, took - 4, n * sectors, sectors, pid=pid, ahead=True)
        computing += [
            switch(at + 1, 0, pid),
            switch(at + 500 * US, pid, 0, BLOCKED),
            wake(at + took - 1, 0, pid),
        ]
    return events + computing


def test_a_reader_through_the_cache_is_seen_by_the_calls_that_readahead_answers():
    calls = [(8, 32, 64)] * 40
    (client,) = load_of(recorded(cached(100, 256 * KIB), calls=calls)).clients
    assert (client.cached, client.sequential, client.in_order) == (True, True, True)
    assert client.size == 128 << 10
    # Each request of 256 KiB is read by two calls.
    assert client.think_ns == pytest.approx(250 * US, rel=0.05)


def test_a_call_is_as_large_as_what_is_often_left_of_it():
    parts = [(8, pages, 0) for pages in range(1, 33)] * 10 + [(8, 4096, 0)]
    (client,) = load_of(recorded(cached(100, 8), calls=parts, window_kb=0)).clients
    assert (client.size, client.sequential) == (128 << 10, False)
    recording = recorded(cached(100, 8), calls=parts, window_kb=0, advised=[8])
    assert load_of(recording).clients[0].sequential


def test_without_these_events_requests_of_two_windows_mean_sequential_reading():
    loads = {kib: load_of(recorded(cached(100, kib * KIB))) for kib in (128, 256, 512)}
    seen = {kib: (load.clients[0].sequential, load.clients[0].size) for kib, load in loads.items()}
    assert seen == {128: (False, 128 << 10), 256: (True, 128 << 10), 512: (False, 512 << 10)}
    assert all("derived from reads of" in load.notes[0] for load in loads.values())


def test_a_writer_that_syncs_writes_in_bursts():
    events, at = [], 0
    for burst in range(10):
        for part in range(8):
            sector = (burst % 2 * 8 + part) * MIB // 2
            events += asked(at + part, (part + 1) * 5 * MS, sector, 512 * KIB, write=True)
        at += 40 * MS + 20 * MS
    (client,) = load_of(recorded(events)).clients
    assert (client.write, client.cached, client.in_order) == (True, True, True)
    assert client.burst_bytes == 4 << 20
    assert client.think_ns == pytest.approx(20 * MS, rel=0.01)


def test_gaps_within_a_sync_do_not_end_its_burst():
    rng, events, at = np.random.default_rng(1), [], 0
    for n in range(50):
        for part in range(2):
            events += asked(at, 8 * MS, (2 * n + part) * MIB, MIB, write=True)
            events += asked(at + 1, 8 * MS, (1 << 20) + (2 * n + part) * MIB, MIB, write=True)
            at += 8 * MS + 200 * US
        at += int(rng.uniform(1, 9) * MS)  # dd writes into the cache, on a busy machine
    (client,) = load_of(recorded(events, at / SECOND)).clients
    assert client.burst_bytes == 4 << 20
    assert client.think_ns == pytest.approx(5.2 * MS, rel=0.1)


def test_the_journal_is_a_part_of_a_writers_sync():
    data = [
        row
        for n in range(40)
        for part in range(2)
        for row in asked(n * 20 * MS + part, 8 * MS, (2 * n + part) * MIB, MIB, write=True)
    ]
    journal = [
        row
        for n in range(40)
        for row in asked(n * 20 * MS + 9 * MS, MS, (1 << 20) + n * 8, 8, pid=12, write=True)
    ]
    seen = seen_load(recorded([*data, *journal]))
    assert [client.name for client in seen.clients] == ["dd"]
    alone = seen_load(recorded(journal))
    assert [client.name for client in alone.clients] == ["journal"]


def test_programs_of_one_name_that_follow_each_other_are_one_client():
    events = []
    for n in range(10):
        events += in_turn(20, 10 * US, 2 * MS, 64 * KIB, start=n * 100 * MS, pid=21 + n)
    assert len(load_of(recorded(events)).clients) == 1
    both = in_turn(100, 0, 4 * MS, 64 * KIB) + in_turn(
        100, 0, 4 * MS, 64 * KIB, start=MS, pid=21, places=np.arange(100) * 999
    )
    assert len(load_of(recorded(both)).clients) == 2


def test_reads_that_a_limiter_held_back_belong_to_the_thread_that_waited():
    events = []
    for n in range(100):
        at = n * 10 * MS
        events += [
            switch(at + 20 * US, 7, 0, BLOCKED),
            *asked(at + 7 * MS, 3 * MS - 100 * US, n * 256, 128 * KIB, pid=9),
            wake(at + 10 * MS - 100 * US + 1, 0, 7),
            switch(at + 10 * MS, 0, 7),
        ]
    seen = seen_load(recorded(events))
    assert [client.name for client in seen.clients] == ["dd"]
    # It computed for 20 µs; the 7 ms were the limiter's.
    assert seen.clients[0].client.think_ns == pytest.approx(20 * US, rel=0.1)


def test_waits_for_a_processor_are_not_thought():
    events = []
    for n in range(100):
        at = n * 10 * MS
        events += [
            switch(at, 0, 7),
            *asked(at + 30 * US, 5 * MS, n * 256, 128 * KIB),
            # Another thread runs before it sleeps, and before it comes back.
            switch(at + 40 * US, 7, 5, RUNS),
            switch(at + 90 * US, 5, 7),
            switch(at + 95 * US, 7, 5, BLOCKED),
            wake(at + 5 * MS + 31 * US, 0, 7),
        ]
    (client,) = load_of(recorded(events)).clients
    assert client.think_ns == pytest.approx(31 * US, rel=0.1)


def test_a_timer_is_not_a_closed_loop():
    took = np.random.default_rng(1).uniform(1, 6, 100) * MS
    slow = [row for n in range(100) for row in asked(n * 10 * MS, int(took[n]), n * 256, 256)]
    seen = load_of(recorded(slow))
    assert seen.unpredicted == ""
    assert "it asks at its own times, every 10 ms" in " ".join(seen.notes)
    busy = [
        row
        for n in range(160)
        for row in asked(n * 6 * MS, int(took[n % 100] * 0.95), n * 256, 256)
    ]
    assert "it asks at its own times, every 6" in load_of(recorded(busy, 0.6)).unpredicted


def test_a_loop_with_uneven_service_stays_closed():
    rng, events, at = np.random.default_rng(1), [], 0
    for n in range(200):
        took, think = int(rng.uniform(1, 6) * MS), int(rng.uniform(0.1, 1) * MS)
        events += asked(at, took, n * 256, 256)
        at += took + think
    load = load_of(recorded(events, at / SECOND))
    assert (load.unpredicted, load.notes) == ("", ())


def test_the_start_and_its_children_are_not_of_the_load():
    places = np.arange(100) * 8 + (1 << 20)
    start = in_turn(50, 0, 4 * MS, 8, places, pid=ROOT_PID)
    start += in_turn(50, 0, 4 * MS, 8, places[50:], pid=101)
    forks = [event(Kind.FORK, pid=ROOT_PID, value=101, time_ns=1)]
    load = in_turn(200, 10 * US, 4 * MS, 128 * KIB)
    recording = recorded([*start, *forks, *load], scenario="reader")
    assert set(recording.requests["pid"].tolist()) == {ROOT_PID, 101}
    assert set(recording.load_requests["pid"].tolist()) == {7}
    seen = seen_load(recording)
    assert [client.name for client in seen.clients] == ["dd"]
    assert seen.load.name == "reader"
    assert seen.load.limited is True


def test_a_load_that_ends_early_stops_beside_the_start():
    recording = recorded(in_turn(100, 10 * US, 4 * MS, 128 * KIB), scenario="reader")
    (client,) = load_of(recording).clients
    assert client.start_s is None
    assert client.stop_s == pytest.approx(0.401, abs=0.001)
    (alone,) = load_of(recorded(in_turn(100, 10 * US, 4 * MS, 128 * KIB))).clients
    assert (alone.start_s, alone.stop_s) == (None, None)
    assert any("from 0.0 s to 0.4 s of 1.0 s" in note for note in load_of(recording).notes)


def test_a_load_that_is_not_limited_says_so():
    load = load_of(
        recorded(in_turn(200, 0, 4 * MS, 256), scenario="reader", load_apart="no such group")
    )
    assert load.limited is False
    assert any("no such group" in note for note in load.notes)


def test_another_disk_of_the_load_is_left_out():
    other = (8 << 20) | 16
    elsewhere = in_turn(100, 0, 4 * MS, 256, pid=8, dev=other)
    recording = recorded([*in_turn(200, 0, 4 * MS, 256), *elsewhere])
    assert [c.size for c in load_of(recording).clients] == [128 << 10]
    assert any("33% of its bytes are of another disk, 8:16" in n for n in load_of(recording).notes)
    assert load_of(recording, (8 << 20) | 32).clients == ()


def test_few_requests_are_no_client():
    few = in_turn(3, 4 * MS, MS // 4, 8, pid=8, places=[1 << 20, 1 << 21, 1 << 22])
    load = load_of(recorded([*in_turn(240, 10 * US, 4 * MS, 256), *few]))
    assert len(load.clients) == 1
    assert load.notes == ("3 requests of 1 program (12 KiB) are left out: too few",)
    assert load_of(recorded(few)).clients == ()


def test_memory_and_lost_events_are_not_predicted():
    requests = in_turn(200, 0, 4 * MS, 256)
    assert "memory" in load_of(recorded(requests, scenario="memory:8")).unpredicted
    assert "--buffer-kib" in load_of(recorded(requests, lost={"0": 100})).unpredicted


def test_a_start_on_an_idle_machine_has_no_load():
    with pytest.raises(LoadError, match="holds no load") as error:
        load_of(recorded([], is_load=False))
    assert "--load 10s" in error.value.remedy


KINDS = [Kind.BIO_QUEUE, Kind.RQ_ISSUE, Kind.RQ_COMPLETE, Kind.SWITCH, Kind.WAKING, Kind.FORK]
WORDS = st.integers(0, (1 << 64) - 1)
ANY = st.tuples(
    st.sampled_from(
        [Kind.BIO_QUEUE, Kind.RQ_ISSUE, Kind.RQ_COMPLETE, Kind.SWITCH, Kind.WAKING, Kind.FORK]
    ),
    st.integers(0, 12),
    st.sampled_from([DISK, DISK + 1]),
    st.one_of(st.integers(0, 64), WORDS),
    st.one_of(st.integers(0, 64), WORDS),
    st.integers(0, 255),
    st.one_of(st.integers(0, 1 << 20), st.integers(0, (1 << 63) - 1)),
)


@given(st.lists(ANY, max_size=40), st.sampled_from(["idle", "reader"]))
@example([(Kind.BIO_QUEUE, 0, DISK, 0, size, 1, 0) for size in (1, 1 + (1 << 54))], "idle")
def test_any_events_make_a_load_that_can_be_written(rows, scenario):
    events = [
        event(kind, pid=pid, dev=dev, index=index, value=value, flags=flags, time_ns=at)
        for kind, pid, dev, index, value, flags, at in rows
    ]
    seen = seen_load(recorded(events, scenario=scenario, end_ns=(1 << 63) - 1))
    assert encode(shown(seen))
    for client in seen.load.clients:
        assert client.size > 0
        assert client.outstanding > 0
        assert client.think_ns >= 0
