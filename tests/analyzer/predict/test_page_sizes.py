"""A start on a machine with pages of 64 KiB. No package has such a kernel: its capture is forged.

Derived by hand from mm/readahead.c of 6.12: windows, limits and places are in pages there.
"""

from __future__ import annotations

import pytest
from capture_builder import ROOT_PID, capture_of, device_of, host_of
from event_table import R, event, table

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.predict.inputs import machine_of
from foreread.analyzer.predict.linux import predict_linux
from foreread.analyzer.prefetch.ranges import find_ranges
from foreread.tracer.formats.capture import FileEntry

PAGE = 65536
SECTORS = PAGE // 512
PAGES = 20
QUEUE = {"max_sectors_kb": "512", "nr_requests": "64"}


def start(size=PAGES * PAGE, touched=range(PAGES)):
    """A file that is read page by page, on arm64 with Linux 6.12."""
    events = []
    for page in touched:
        mine = {"pid": ROOT_PID, "ino": 7, "index": page}
        events.append(event(Kind.INSERT, **mine))
        sectors = {"index": page * SECTORS, "value": SECTORS, "flags": R}
        events.append(event(Kind.BIO_QUEUE, pid=ROOT_PID, **sectors))
        events.append(event(Kind.GET_PAGES, value=page, **mine))
    host = host_of(machine="aarch64", page_size=PAGE, kernel="6.12.9")
    capture = capture_of(host=host, devices=[device_of(filesystems=["7:0"], queue=QUEUE)])
    entry = FileEntry(dev="7:0", ino=7, path="/data", size_bytes=size)
    return interpret(Trace("test", table(*events), kernel="6.12.9"), capture, [entry], "all")


def test_windows_are_pages_and_kib_follow():
    curve = predict_linux(start(), "linux", [0, 1, 2, 8]).total
    assert curve.read_ahead_kb == [0, 64, 128, 512]
    # Window 2: two pages a request. Window 8: 2 at page 0, 4 at page 1, 8 at 2, the last 6 at 6.
    assert curve.f == [20, 20, 10, 4]
    assert curve.pages == [20, 20, 20, 20]
    assert curve.g == [0, 0, 0, 0]


def test_the_window_in_force_is_so_many_pages():
    prediction = predict_linux(start())
    assert prediction.page_size == PAGE
    assert prediction.total.current_read_ahead_kb == 128
    assert prediction.total.windows[:3] == [0, 1, 2]
    assert prediction.total.read_ahead_kb[:3] == [0, 64, 128]


def test_a_file_that_ends_within_a_page_has_that_page():
    curve = predict_linux(start(PAGES * PAGE - 5000), "linux", [0, 8]).total
    assert curve.pages == [20, 20]


@pytest.mark.parametrize(
    ("page", "around", "entries", "order", "io"),
    [(4096, 16, 512, 4, 128), (16384, 4, 2048, 2, 32), (65536, 1, 8192, 0, 8)],
)
def test_limits_that_are_bytes_are_fewer_pages(page, around, entries, order, io):
    """fault_around_bytes and exec_folio_order are 64 KiB; a page table has an eighth of a page."""
    machine, _ = machine_of(page, "aarch64", QUEUE)
    assert (machine.page_size, machine.fault_around, machine.table_pages) == (page, around, entries)
    assert (machine.exec_order, machine.io_pages) == (order, io)


def test_lists_of_reads_are_in_bytes():
    listing = find_ranges(start(touched=(3, 4, 10))).listing
    found = [(one.offset, one.length) for one in listing.ranges]
    assert found == [(3 * PAGE, 2 * PAGE), (10 * PAGE, PAGE)]


def test_a_kernel_with_such_pages_was_not_compared():
    doubts = predict_linux(start()).doubts
    assert any("Linux 6.12 on aarch64 with pages of 64 KiB" in one for one in doubts)
