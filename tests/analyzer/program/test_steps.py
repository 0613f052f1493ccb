"""A recording in time: what was computed between the steps, and what events cost."""

import numpy as np
import pytest
from capture_builder import capture_of, host_of
from event_table import R, event, insert, metadata_insert, read, table

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.requests import find_requests
from foreread.analyzer.ingest.tables import Kind, Rwbs
from foreread.analyzer.program.cpu import event_cost
from foreread.analyzer.program.steps import Busy, own_requests, steps_of, without_recording
from foreread.emulator.linux.operations import FILE, MAPPING, OPERATION, Op, Program
from foreread.tracer.formats.capture import NO_METADATA, Extent, FileEntry, Mount


def request(sector, issue, complete, sectors=8, flags=R):
    return [
        event(Kind.RQ_ISSUE, index=sector, value=sectors, flags=flags, time_ns=issue),
        event(Kind.RQ_COMPLETE, index=sector, value=sectors, flags=flags, time_ns=complete),
    ]


def served(*requests):
    rows = sorted((row for one in requests for row in one), key=lambda row: row[0])
    return find_requests(table(*rows))


def singles(pages):
    rows = [(Op.SINGLE, 0, 0, page, 1) for page in pages]
    files = np.array([(1 << 20, 0, 0, -1)], FILE)
    return Program(np.array(rows, OPERATION), np.zeros(0, MAPPING), np.zeros(0, np.uint32), files)


def test_while_the_disk_serves_nothing_is_computed():
    """Served 100-300 and, waiting for that, 250-500: at 700 there were 400 of 700 without."""
    busy = Busy(served(request(0, 100, 300), request(8, 250, 500)))
    moments = np.array([50, 100, 200, 300, 400, 500, 700], np.uint64)
    assert busy.computed(moments).tolist() == [50, 100, 100, 100, 100, 100, 300]


def test_steps_are_operations_and_reads_by_others_in_order_of_time():
    """Run 1000-3000; own read 1100-1400, metadata 1500-1900, an operation without at 2200."""
    requests = served(request(0, 1100, 1400), request(800, 1500, 1900, 16))
    own = np.array([True, False])
    times = np.array([0, 1090, 2200], np.uint64)
    found = steps_of(singles([7, 0, 1]), times, requests, own, 1000, 3000)
    assert found.steps["operation"].tolist() == [0, 1, -1, 2]
    assert found.steps["sectors"].tolist() == [0, 0, 16, 0]
    assert found.steps["sector"].tolist() == [0, 0, 800, 0]
    assert found.steps["bios"].tolist() == [0, 0, 1, 0]
    assert found.steps["cpu_ns"].tolist() == [0, 90, 10 + 100, 300]
    assert (found.tail_ns, found.total_ns) == (800, 2000)


def test_metadata_is_distinguished_from_data():
    requests = served(request(800, 1500, 1900, 16, flags=R | Rwbs.META))
    found = steps_of(singles([]), np.zeros(0, np.uint64), requests, np.array([False]), 1000, 3000)
    assert found.steps[["sector", "sectors", "bios", "meta"]].tolist() == [(800, 16, 2, 1)]


def test_the_cost_of_recording_is_subtracted():
    """Eleven events 10 ns apart at their closest: 110 of the 1300 ns computed."""
    requests = served(request(0, 1100, 1400), request(800, 1500, 1900, 16))
    times = np.array([1090, 2200], np.uint64)
    program = singles([0, 1])
    found = steps_of(program, times, requests, np.array([True, False]), 1000, 3000)
    events = table(*(event(Kind.FAULT, time_ns=1000 + 10 * row) for row in range(11)))
    assert event_cost(events) == pytest.approx(10)
    less = without_recording(found, events, 1000, 3000)
    assert less.steps["cpu_ns"].sum() + less.tail_ns == pytest.approx(1300 - 110)


def test_metadata_and_reads_of_others_are_not_the_program_s():
    """Pages of the block device without the M flag, and an insert by an unrelated thread."""
    rows = [
        metadata_insert(100, time_ns=10),
        read(800, 1, time_ns=11),
        *request(800, 20, 30),
        insert(5, 0, time_ns=40),
        read(80, 1, time_ns=41),
        *request(80, 50, 60),
        *request(1600, 70, 80, flags=R | 8),
        insert(6, 0, pid=9, time_ns=90),
        read(240, 1, pid=9, time_ns=91),
        event(Kind.RQ_ISSUE, index=240, value=8, flags=R, pid=9, time_ns=100),
        event(Kind.RQ_COMPLETE, index=240, value=8, flags=R, time_ns=110),
    ]
    recording = interpret(Trace("test", table(*rows)), NO_METADATA, [], frozenset({1}))
    assert own_requests(recording, recording.requests).tolist() == [False, True, False, False]


def test_reads_of_f2fs_s_nodes_are_not_the_program_s():
    """They have no flag, and the page of the file is inserted before them."""
    rows = [
        insert(5, 0, time_ns=10),
        insert(1, 7, time_ns=11),
        read(800, 1, time_ns=12),
        *request(800, 20, 30),
        read(80, 1, time_ns=41),
        *request(80, 50, 60),
    ]
    mount = Mount(dev="7:0", mountpoint="/", fstype="f2fs", source="", options="rw")
    recording = interpret(Trace("test", table(*rows)), capture_of(mounts=[mount]), [], "all")
    assert own_requests(recording, recording.requests).tolist() == [False, True]


@pytest.mark.parametrize(
    ("extents", "own"), [((Extent(0, 4096, 4096, True),), True), (None, False)]
)
def test_data_beside_metadata_in_one_page_is_the_program_s(extents, own):
    """A page of 16 KiB: its first block is a directory's, the second belongs to a file."""
    rows = [
        metadata_insert(0, time_ns=10),
        *request(0, 20, 30, flags=R | 8),
        insert(5, 0, time_ns=40),
        read(8, 1, time_ns=41),
        *request(8, 50, 60),
    ]
    entry = FileEntry(dev="7:0", ino=5, path="/a", size_bytes=4096, extents=extents)
    capture = capture_of(host=host_of(page_size=16384))
    recording = interpret(Trace("test", table(*rows)), capture, [entry], "all")
    assert recording.page_size == 16384
    assert own_requests(recording, recording.requests).tolist() == [False, own]
