"""Directories of raw pages, against the text of the same ring buffer."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from ring_pages import Event, RingPages
from tracedat_files import header_page, insert, insert_format

from foreread.analyzer.ingest import text, tracefs
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.tables import EVENTS

FIXTURES = Path(__file__).parent / "data" / "ftrace"
PAGES = FIXTURES / "pages"


@pytest.fixture
def copy(tmp_path):
    return Path(shutil.copytree(PAGES, tmp_path / "pages"))


def test_pages_and_text_of_one_buffer_are_the_same():
    trace, printed = tracefs.read(PAGES), text.read(FIXTURES / "trace.txt")
    assert trace.events.rows == printed.events.rows > 100
    # text has rounded microseconds (ns2usecs), so that CPUs may swap places within one
    rounded = (trace.events["time_ns"] + np.uint64(500)) // np.uint64(1000)
    assert (rounded == printed.events["time_ns"] // np.uint64(1000)).all()
    names = [column.name for column in EVENTS.columns if column.name != "time_ns"]
    for cpu in (0, 1):
        of_cpu = trace.events.take(trace.events["cpu"] == cpu)
        text_of_cpu = printed.events.take(printed.events["cpu"] == cpu)
        for name in names:
            assert of_cpu[name].tolist() == text_of_cpu[name].tolist(), name


def test_the_directory_s_metadata():
    trace = tracefs.read(PAGES)
    assert (trace.format, trace.page_size, trace.lost) == ("tracefs pages", 4096, {})
    assert len(trace.event_names) == 13
    found = trace.read_fields("sched:sched_process_exec", ("filename",))
    assert b"/usr/bin/busybox" in found["filename"].tolist()


def test_files_as_tracefs_names_them(copy):
    for cpu in (0, 1):
        place = copy / f"per_cpu/cpu{cpu}"
        place.mkdir(parents=True)
        (copy / f"cpu{cpu}.raw").rename(place / "trace_pipe_raw")
        (copy / f"stats/cpu{cpu}").rename(place / "stats")
    (copy / "header_page").rename(copy / "events/header_page")
    (copy / "per_cpu/cpu1/stats").write_text("entries: 0\noverrun: 7\ndropped events: 2\n")
    moved, before = tracefs.read(copy), tracefs.read(PAGES)
    assert moved.lost == {1: 9}
    for name in before.events:
        assert (moved.events[name] == before.events[name]).all()


def test_a_sub_buffer_cut_off_is_left_out_and_said(copy):
    raw = copy / "cpu1.raw"
    raw.write_bytes(raw.read_bytes()[:-100])
    trace = tracefs.read(copy)
    assert 0 < trace.events.rows < tracefs.read(PAGES).events.rows
    assert any("cpu1.raw" in note for note in trace.notes)


@pytest.mark.parametrize(("order", "size"), [("little", 4), ("big", 4), ("big", 8)])
def test_byte_order_shows_in_the_pages(tmp_path, order, size):
    pages = RingPages(byte_order=order, long_size=size)
    empty = RingPages(byte_order=order, long_size=size)
    empty.subbuf(0, b"")
    pages.write([Event(time, insert(pages, 3, 4, time)) for time in range(5, 300)])
    (tmp_path / "cpu0.raw").write_bytes(empty.data)
    (tmp_path / "cpu11.raw").write_bytes(pages.data)
    (tmp_path / "header_page").write_bytes(header_page(pages))
    place = tmp_path / "events/filemap/mm_filemap_add_to_page_cache"
    place.mkdir(parents=True)
    (place / "format").write_bytes(insert_format(size))
    events = tracefs.read(tmp_path).events
    assert events["index"].tolist() == list(range(5, 300))
    assert set(events["cpu"].tolist()) == {11}


def test_only_empty_pages_are_not_events(copy):
    for cpu in (0, 1):
        (copy / f"cpu{cpu}.raw").write_bytes(bytes(8192))
    assert tracefs.read(copy).events.rows == 0


@pytest.mark.parametrize(
    ("missing", "message"),
    [("*.raw", "no pages"), ("header_page", "header_page"), ("events/*/*/format", "no formats")],
)
def test_a_directory_that_lacks_something_is_refused(copy, missing, message):
    for path in copy.glob(missing):
        path.unlink()
    with pytest.raises(TraceError, match=message) as caught:
        tracefs.read(copy)
    assert caught.value.remedy


def test_damaged_files_are_refused(copy):
    raw = copy / "cpu1.raw"
    page = bytearray(raw.read_bytes())
    page[8:12] = np.uint32(5000).tobytes()
    raw.write_bytes(page)
    with pytest.raises(TraceError, match="CPU 1, sub-buffer at byte"):
        tracefs.read(copy)
    (copy / "header_page").write_text("field: u64 timestamp;\toffset:0;\tsize:8;\n")
    with pytest.raises(TraceError, match="header_page"):
        tracefs.read(copy)
