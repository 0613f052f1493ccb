"""Reads delayed by a limiter belong to the thread that asked, at the time of its request."""

import numpy as np
import pytest
from capture_builder import ROOT_PID, capture_of
from event_table import BDEV, BLOCKS, DISK, SOFTIRQ, R, event, insert, read, switch, table, wake
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.ingest.held import Places, with_askers
from foreread.analyzer.ingest.inserts import of_block_device
from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind, Rwbs
from foreread.analyzer.program.steps import own_requests
from foreread.tracer.formats.capture import Extent, FileEntry

A, WORKER, IDLE = ROOT_PID, 55, 0
EXTENTS = [Extent(0, 4096 * 100, 4096 * 8, True), Extent(4096 * 8, 4096 * 500, 4096 * 8, True)]
META = R | int(Rwbs.META)


def asked(*events, extents=EXTENTS, first=0):
    """Return (thread, time) of the reads that were queued, in order."""
    rows = table(*events)
    places = Places({(DISK, 1): extents}, {DISK: first}, {DISK: DISK}, 4096)
    bdev = of_block_device(rows, rows.take(rows["kind"] == Kind.INSERT))
    found = with_askers(rows, bdev, places)
    assert (np.diff(found["time_ns"].astype(np.int64)) >= 0).all()
    bios = found.take(found["kind"] == Kind.BIO_QUEUE)
    return list(zip(bios["pid"].tolist(), bios["time_ns"].tolist(), strict=True))


def test_a_read_that_the_worker_queued_is_the_inserting_thread_s():
    held = read((100 + 3) * 8, 1, pid=WORKER, time_ns=90_000, cpu=1)
    assert asked(insert(1, 3, pid=A, time_ns=10_000), held) == [(A, 10_000)]


def test_a_read_of_several_pages_was_asked_for_with_the_last_of_them():
    pages = [insert(1, page, pid=A, time_ns=10_000 + page) for page in (4, 5, 6)]
    assert asked(*pages, read(104 * 8, 3, pid=WORKER, time_ns=90_000)) == [(A, 10_006)]


def test_a_place_in_another_piece_of_the_file_and_on_a_partition():
    held = read(2048 + 502 * 8, 1, pid=WORKER, time_ns=90_000)
    assert asked(insert(1, 10, pid=A, time_ns=10_000), held, first=2048) == [(A, 10_000)]


def test_metadata_is_found_by_its_place_in_the_block_device():
    page = event(Kind.INSERT, dev=BDEV, ino=DISK, index=77, pid=A, time_ns=10_000)
    held = read(77 * 8, 1, flags=META, pid=WORKER, time_ns=90_000)
    assert asked(page, held) == [(A, 10_000)]


@pytest.mark.parametrize(
    "events",
    [
        [insert(1, 3, pid=A, time_ns=10_000), read(103 * 8, 1, pid=A, time_ns=11_000)],
        [insert(1, 99, pid=A, time_ns=10_000), read(103 * 8, 1, pid=WORKER, time_ns=11_000)],
        [read(103 * 8, 1, pid=WORKER, time_ns=11_000), insert(1, 3, pid=A, time_ns=12_000)],
    ],
    ids=["queued by itself", "place unknown", "inserted later"],
)
def test_other_reads_stay_as_they_were(events):
    bio = next(one for one in events if one[2] == Kind.BIO_QUEUE)
    assert asked(*events) == [(bio[3], 11_000)]


def test_the_last_of_two_readers_of_a_page_asked():
    """A page was evicted in between, and another thread reads it again."""
    events = [
        insert(1, 3, pid=7, time_ns=10_000),
        read(103 * 8, 1, pid=7, time_ns=11_000),
        insert(1, 3, pid=A, time_ns=20_000),
        read(103 * 8, 1, pid=WORKER, time_ns=90_000),
    ]
    assert asked(*events) == [(7, 11_000), (A, 20_000)]


def test_a_held_page_is_an_access_and_its_request_the_application_s():
    """Before, it counted as a hole, and its request as that of another process."""
    sector = 103 * 8
    page = event(Kind.RQ_ISSUE, pid=WORKER, index=sector, value=8, flags=R, time_ns=95_000, cpu=1)
    done = event(Kind.RQ_COMPLETE, pid=IDLE, index=sector, value=8, flags=R, time_ns=96_000)
    rows = table(
        switch(1000, IDLE, A),
        insert(1, 3, pid=A, time_ns=10_000),
        switch(11_000, A, IDLE, BLOCKS),
        read(sector, 1, pid=WORKER, time_ns=90_000, cpu=1),
        page,
        done,
        wake(96_010, IDLE, A, SOFTIRQ),
        switch(96_020, IDLE, A),
    )
    entry = FileEntry(dev="7:0", ino=1, path="/a", size_bytes=64 * 4096, extents=EXTENTS)
    trace = Trace("test", rows, kernel="6.18.0")
    recording = interpret(trace, capture_of(end_ns=100_000), [entry], "tree")
    assert recording.accesses["page"].tolist() == [3]
    assert recording.counts["written_or_hole"] == 0
    assert own_requests(recording, recording.requests).tolist() == [True]


SMALL = st.integers(0, 20)


@given(
    st.lists(st.tuples(st.booleans(), SMALL, st.integers(0, 3), SMALL), max_size=30),
    st.lists(st.tuples(SMALL, SMALL, SMALL, st.booleans()), max_size=4),
)
def test_whatever_is_recorded_the_same_events_come_out_in_order(found, pieces):
    events = [
        insert(1, at, pid=pid) if is_insert else read(at * 8, more, pid=pid)
        for is_insert, at, pid, more in found
    ]
    extents = [Extent(4096 * a, 4096 * p, 4096 * n, w) for a, p, n, w in pieces]
    before = sorted(event[2:3] + event[4:] for event in events)
    rows = table(*events)
    places = Places({(DISK, 1): extents}, {}, {DISK: DISK}, 4096)
    inserts = rows.take(rows["kind"] == Kind.INSERT)
    after = with_askers(rows, of_block_device(rows, inserts), places)
    names = ("kind", "dev", "ino", "index", "value", "flags")
    columns = [after[name].tolist() for name in names]
    assert sorted(zip(*columns, strict=True)) == before
