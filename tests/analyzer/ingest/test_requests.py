"""Requests: each issue finds its own completion."""

import numpy as np
from event_table import DISK, R, event, table
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.ingest.requests import find_requests
from foreread.analyzer.ingest.tables import Kind, Rwbs


def issue(sector, sectors=8, dev=DISK):
    return event(Kind.RQ_ISSUE, index=sector, value=sectors, flags=R, dev=dev)


def complete(sector, sectors=8, dev=DISK):
    return event(Kind.RQ_COMPLETE, index=sector, value=sectors, flags=R, dev=dev)


def test_each_issue_has_its_completion():
    requests = find_requests(table(issue(0), issue(80), complete(80), complete(0)))
    assert requests["sector"].tolist() == [0, 80]
    assert requests["complete_ns"].tolist() == [4000, 3000]


def test_a_sector_read_twice_keeps_its_order():
    requests = find_requests(table(issue(0), complete(0), issue(0), complete(0)))
    assert requests["complete_ns"].tolist() == [2000, 4000]


def test_a_missing_completion_is_zero():
    requests = find_requests(table(issue(0), issue(0), complete(0), complete(5)))
    assert requests["complete_ns"].tolist() == [0, 3000]


def test_devices_are_distinguished():
    other = (8 << 20) | 1
    requests = find_requests(table(issue(0), issue(0, dev=other), complete(0, dev=other)))
    assert requests["complete_ns"].tolist() == [0, 3000]


def queue(sector, sectors=8, dev=DISK):
    return event(Kind.BIO_QUEUE, index=sector, value=sectors, flags=R, dev=dev)


def test_bios_are_counted_that_were_merged():
    """Three blocks in one request, then one alone; on another disk the same sectors."""
    other, partition = (8 << 20) | 16, DISK | 2
    bios = [queue(80), queue(88), queue(96, dev=partition), queue(200), queue(80, dev=other)]
    issues = [issue(80, 24), issue(200), issue(80, 24, dev=other)]
    assert find_requests(table(*bios, *issues))["bios"].tolist() == [3, 1, 2]


def test_a_bio_that_is_split_is_one_for_each_request():
    requests = find_requests(table(queue(0, 2048), issue(0, 1024), issue(1024, 1024)))
    assert requests["bios"].tolist() == [1, 1]


def test_where_bios_are_not_reported_metadata_is_read_block_by_block():
    metadata = event(Kind.RQ_ISSUE, index=800, value=32, flags=R | Rwbs.META, dev=DISK)
    assert find_requests(table(metadata, issue(0, 32)))["bios"].tolist() == [4, 1]


def test_a_request_belongs_to_the_thread_that_queued_its_bio():
    found = find_requests(
        table(
            event(Kind.BIO_QUEUE, pid=7, index=8, value=8),
            event(Kind.RQ_ISSUE, pid=39, index=8, value=8),
            event(Kind.BIO_QUEUE, pid=9, index=8, value=8),
            event(Kind.RQ_ISSUE, pid=39, index=8, value=8),
        )
    )
    assert found["pid"].tolist() == [7, 9]


def test_a_bio_of_another_disk_sector_or_time_does_not_name_the_thread():
    found = find_requests(
        table(
            event(Kind.BIO_QUEUE, pid=7, index=16, value=8),
            event(Kind.RQ_ISSUE, pid=39, index=8, value=8),
            event(Kind.BIO_QUEUE, pid=9, dev=DISK + (1 << 20), index=24, value=8),
            event(Kind.RQ_ISSUE, pid=40, index=24, value=8),
            event(Kind.RQ_ISSUE, pid=8, dev=DISK + (1 << 20), index=24, value=8),
            event(Kind.BIO_QUEUE, pid=6, index=8, value=8),
        )
    )
    assert found["pid"].tolist() == [39, 40, 9]


def test_the_rest_of_a_split_bio_belongs_to_its_thread():
    found = find_requests(
        table(
            event(Kind.BIO_QUEUE, pid=7, index=8, value=24),
            event(Kind.RQ_ISSUE, pid=7, index=8, value=16),
            event(Kind.RQ_ISSUE, pid=39, index=24, value=8),
            event(Kind.RQ_ISSUE, pid=39, index=32, value=8),
            event(Kind.BIO_QUEUE, pid=9, index=31, value=8),
        )
    )
    assert found["pid"].tolist() == [7, 7, 39]


def test_a_bio_may_name_the_partition_that_it_is_for():
    bio = event(Kind.BIO_QUEUE, pid=7, dev=DISK + 1, index=8, value=8)
    found = find_requests(table(bio, event(Kind.RQ_ISSUE, pid=39, index=8, value=8)))
    assert found["pid"].tolist() == [7]


def test_a_part_of_a_bio_belongs_to_it_though_an_older_bio_began_there():
    """Two runs read the same sectors: the first in bios of 8, the second in one, sent in parts."""
    first = [
        event(kind, pid=7, index=sector, value=8)
        for sector in (0, 8, 16)
        for kind in (Kind.BIO_QUEUE, Kind.RQ_ISSUE, Kind.RQ_COMPLETE)
    ]
    second = [
        event(Kind.BIO_QUEUE, pid=9, index=0, value=24),
        *(event(Kind.RQ_ISSUE, pid=39, index=sector, value=8) for sector in (0, 8, 16)),
    ]
    assert find_requests(table(*first, *second))["pid"].tolist() == [7, 7, 7, 9, 9, 9]


@given(
    st.lists(
        st.tuples(st.integers(0, 12), st.integers(1, 12), st.integers(1, 4), st.booleans()),
        max_size=12,
    )
)
def test_each_request_belongs_to_the_latest_bio_with_its_begin(bios):
    """Bios one after the other, each sent in parts of some size before the next is queued."""
    events, expected = [], []
    for pid, (begin, length, part, lost) in enumerate(bios, start=100):
        if not lost:
            events.append(event(Kind.BIO_QUEUE, pid=pid, index=8 * begin, value=8 * length))
        for at in range(begin, begin + length, part):
            size = min(part, begin + length - at)
            events.append(event(Kind.RQ_ISSUE, pid=39, index=8 * at, value=8 * size))
            expected.append(None if lost else pid)
    found = find_requests(table(*events))["pid"].tolist() if events else []
    assert [None if e is None else f for e, f in zip(expected, found, strict=True)] == expected


def test_bios_of_a_request_are_distinct_begins_that_were_queued_before():
    chance = np.random.default_rng(5)
    rows = []
    for time in range(400):
        sector = int(chance.integers(0, 40)) * 8
        rows.append((queue if chance.random() < 0.8 else issue)(sector, 8 * (1 + time % 5)))
    events = table(*rows)
    queued = events.take(events["kind"] == Kind.BIO_QUEUE)
    issued = events.take(events["kind"] == Kind.RQ_ISSUE)
    expected = []
    for at, begin, length in zip(issued["time_ns"], issued["index"], issued["value"], strict=True):
        within = (queued["index"] >= begin) & (queued["index"] < begin + length)
        begins = np.unique(queued["index"][within & (queued["time_ns"] <= at)])
        expected.append(max(len(begins), 1) if length > 8 else 1)
    assert find_requests(events)["bios"].tolist() == expected
    assert max(expected) > 2
