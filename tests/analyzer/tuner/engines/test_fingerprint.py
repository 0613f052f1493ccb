"""Fingerprints: the paper's rules, and those that depart from them."""

import pytest

from foreread.analyzer.tuner.engines.fingerprint import BY_NAME, FINGERPRINTS, Snapshot


def stream(sectors, count):
    """Return the snapshot of reads that follow one another."""
    distances = (count - 1) * sectors
    return Snapshot(count, sectors=count * sectors, followers=count - 1, distances=distances)


def test_there_are_eight():
    assert len(set(FINGERPRINTS)) == 8
    assert all(BY_NAME[str(one)] == one for one in FINGERPRINTS)


@pytest.mark.parametrize(
    ("reads", "writes", "received"),
    [(1, 0, "read"), (2, 1, "write"), (3, 1, "read"), (0, 1, "write"), (200, 100, "write")],
)
def test_a_read_workload_has_more_than_two_reads_a_write(reads, writes, received):
    assert Snapshot(reads=reads, writes=writes).fingerprint().type == received


@pytest.mark.parametrize(
    ("sectors", "received"), [(0, "sequential"), (25, "sequential"), (26, "random")]
)
def test_more_than_25_sectors_on_average_are_random_as_published(sectors, received):
    snapshot = Snapshot(reads=2, followers=2, distances=2 * sectors)
    assert snapshot.fingerprint(published=True).pattern == received


@pytest.mark.parametrize(
    ("jumps", "received"), [(0, "sequential"), (5, "sequential"), (6, "random")]
)
def test_mostly_jumps_are_random(jumps, received):
    assert Snapshot(reads=11, followers=10, jumps=jumps).fingerprint().pattern == received


def test_one_look_at_metadata_makes_no_stream_random():
    snapshot = Snapshot(reads=100, followers=99, distances=2 * 10**6, jumps=2)
    assert snapshot.fingerprint().pattern == "sequential"
    assert snapshot.fingerprint(published=True).pattern == "random"


@pytest.mark.parametrize(
    ("sectors", "page_bytes", "received"),
    [(8, 4096, "small"), (9, 4096, "large"), (32, 16384, "small"), (1, 4096, "small")],
)
def test_more_than_a_page_is_large(sectors, page_bytes, received):
    assert stream(sectors, 4).fingerprint(page_bytes).size == received


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


def test_snapshots_consolidate_by_addition():
    one, other = Snapshot(1, 2, 3, 4, 5, 6), Snapshot(10, 20, 30, 40, 50, 60)
    assert one + other == Snapshot(11, 22, 33, 44, 55, 66)


def test_metrics_hold_a_snapshot():
    one = Snapshot(writes=10, sectors=2560, followers=9, distances=9000, jumps=9)
    assert Snapshot.from_metrics(one.metrics()) == one
    assert Snapshot.from_metrics({}) == Snapshot()
