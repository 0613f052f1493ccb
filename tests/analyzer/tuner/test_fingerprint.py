"""Fingerprints: the paper's rules, and both ways to take a snapshot."""

from __future__ import annotations

import pytest
from event_table import DISK, R, event, table
from hypothesis import given
from hypothesis import strategies as st

from analyzer.ingest.tables import Kind, Rwbs
from analyzer.tuner.fingerprint import BY_NAME, FINGERPRINTS, Snapshot, Watcher, snapshots

W = int(Rwbs.WRITE)


def stream(sectors, count, step=None, write=False):
    watcher = Watcher()
    for number in range(count):
        watcher.see(DISK, number * (step or sectors), sectors, write)
    return watcher.take()


def test_there_are_eight():
    assert len(set(FINGERPRINTS)) == 8
    assert all(BY_NAME[str(one)] == one for one in FINGERPRINTS)


@pytest.mark.parametrize(
    ("reads", "writes", "told"),
    [(1, 0, "read"), (2, 1, "write"), (3, 1, "read"), (0, 1, "write"), (200, 100, "write")],
)
def test_a_read_workload_has_more_than_two_reads_a_write(reads, writes, told):
    assert Snapshot(reads=reads, writes=writes).fingerprint().type == told


@pytest.mark.parametrize(
    ("sectors", "told"), [(0, "sequential"), (25, "sequential"), (26, "random")]
)
def test_more_than_25_sectors_on_average_are_random_as_published(sectors, told):
    snapshot = Snapshot(reads=2, followers=2, distances=2 * sectors)
    assert snapshot.fingerprint(published=True).pattern == told


@pytest.mark.parametrize(("jumps", "told"), [(0, "sequential"), (5, "sequential"), (6, "random")])
def test_mostly_jumps_are_random(jumps, told):
    assert Snapshot(reads=11, followers=10, jumps=jumps).fingerprint().pattern == told


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize(("gap", "jumps"), [(0, 0), (25, 0), (26, 1)])
def test_a_jump_is_more_than_25_sectors_from_the_end(gap, jumps, back):
    watcher = Watcher()
    watcher.see(DISK, 1000, 8, write=False)
    watcher.see(DISK, 1008 - gap if back else 1008 + gap, 8, write=False)
    assert watcher.take().jumps == jumps


def test_one_look_at_metadata_makes_no_stream_random():
    watcher = Watcher()
    for number in range(100):
        watcher.see(DISK, 10**6 if number == 50 else number * 8, 8, write=False)
    snapshot = watcher.take()
    assert snapshot.fingerprint().pattern == "sequential"
    assert snapshot.fingerprint(published=True).pattern == "random"


@pytest.mark.parametrize(
    ("sectors", "page_bytes", "told"),
    [(8, 4096, "small"), (9, 4096, "large"), (32, 16384, "small"), (1, 4096, "small")],
)
def test_more_than_a_page_is_large(sectors, page_bytes, told):
    assert stream(sectors, 4).fingerprint(page_bytes).size == told


def test_a_stream_of_large_bios_is_random_as_published_and_sequential_here():
    large = stream(sectors=256, count=10)
    assert (large.distance, large.jumps) == (256, 0)
    assert large.fingerprint(published=True).pattern == "random"
    assert large.fingerprint().pattern == "sequential"


def test_a_stream_of_pages_is_sequential_either_way():
    small = stream(sectors=8, count=10)
    assert small.fingerprint() == small.fingerprint(published=True)
    assert str(small.fingerprint()) == "read-sequential-small"


def test_no_fingerprint_without_io():
    assert Snapshot().fingerprint() is None
    assert Watcher().take() == Snapshot()


def test_the_first_io_of_a_period_follows_the_last_of_the_one_before():
    watcher = Watcher()
    watcher.see(DISK, 0, 8, write=False)
    assert watcher.take().followers == 0
    watcher.see(DISK, 1000, 8, write=True)
    assert watcher.take() == Snapshot(writes=1, sectors=8, followers=1, distances=1000, jumps=1)


def test_heads_of_two_disks_are_kept_apart():
    watcher = Watcher()
    for number in range(10):
        watcher.see(1, number * 8, 8, write=False)
        watcher.see(2, 10**9 + number * 8, 8, write=False)
    assert watcher.take().jumps == 0


def test_metrics_hold_a_snapshot():
    one = stream(sectors=256, count=10, step=1000, write=True)
    assert Snapshot.from_metrics(one.metrics()) == one
    assert Snapshot.from_metrics({}) == Snapshot()


def test_what_moves_no_data_does_not_count():
    events = table(
        event(Kind.BIO_QUEUE, index=0, value=8, flags=R),
        event(Kind.BIO_QUEUE, index=0, value=0, flags=W | int(Rwbs.FLUSH)),
        event(Kind.BIO_QUEUE, index=500, value=64, flags=int(Rwbs.DISCARD)),
        event(Kind.RQ_ISSUE, index=900, value=8, flags=R),
        event(Kind.BIO_QUEUE, index=8, value=8, flags=R),
    )
    assert snapshots(events) == {
        DISK: Snapshot(reads=2, sectors=16, followers=1, distances=8, jumps=0)
    }
    assert snapshots(events, Kind.RQ_ISSUE)[DISK].reads == 1


def test_a_partition_is_part_of_its_disk():
    events = table(
        event(Kind.BIO_QUEUE, dev=DISK + 1, index=0, value=8, flags=R),
        event(Kind.BIO_QUEUE, dev=DISK, index=8, value=8, flags=R),
    )
    assert snapshots(events, disks={DISK + 1: DISK})[DISK].followers == 1
    assert set(snapshots(events)) == {DISK, DISK + 1}


IOS = st.tuples(st.integers(1, 3), st.integers(0, 1 << 40), st.integers(1, 2048), st.booleans())


@given(st.lists(IOS, max_size=40))
def test_a_trace_gives_what_its_ios_give_one_by_one(ios):
    watchers = {}
    for disk, sector, sectors, write in ios:
        watchers.setdefault(disk, Watcher()).see(disk, sector, sectors, write)
    events = table(
        *(
            event(Kind.BIO_QUEUE, dev=disk, index=sector, value=n, flags=W if write else R)
            for disk, sector, n, write in ios
        )
    )
    assert snapshots(events) == {disk: one.take() for disk, one in watchers.items()}


@given(st.lists(IOS, max_size=40), st.integers(0, 40))
def test_periods_consolidate_to_the_whole(ios, cut):
    whole, parts = Watcher(), Watcher()
    taken = Snapshot()
    for number, io in enumerate(ios):
        whole.see(*io)
        if number == cut:
            taken += parts.take()
        parts.see(*io)
    assert taken + parts.take() == whole.take()


@given(st.lists(st.integers(0, 2**64 - 1), min_size=2, max_size=5))
def test_no_sector_is_too_large(sectors):
    events = table(*(event(Kind.BIO_QUEUE, index=s, value=2**64 - 1, flags=R) for s in sectors))
    assert snapshots(events)[DISK].fingerprint() is not None
