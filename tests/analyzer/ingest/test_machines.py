"""Captures of 32-bit and of big-endian kernels, against the text of the same ring buffer."""

import re
from pathlib import Path

import numpy as np
import pytest

from foreread.analyzer.ingest import text, tracefs
from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.ring import Layout
from foreread.analyzer.ingest.tables import EVENTS, Kind
from foreread.analyzer.reference import ring_walk

FIXTURES = Path(__file__).parent / "data" / "machines"
MACHINES = {"s390x": ("big", 8), "armhf": ("little", 4), "mipsel": ("little", 4)}
FILE_BYTES = 65536  # of the file "data"

each = pytest.mark.parametrize("name", MACHINES)


@each
def test_pages_and_the_kernels_own_text_are_the_same(name):
    trace, printed = tracefs.read(FIXTURES / name), text.read(FIXTURES / name / "trace.txt")
    assert trace.events.rows == printed.events.rows > 200
    assert (trace.page_size, trace.lost, trace.notes) == (4096, {}, ())
    for column in (c.name for c in EVENTS.columns):
        found, expected = trace.events[column], printed.events[column]
        if column == "time_ns":  # text has rounded microseconds (ns2usecs)
            found = (found + np.uint64(500)) // np.uint64(1000)
            expected = expected // np.uint64(1000)
        assert found.tolist() == expected.tolist(), column
    assert {Kind.INSERT, Kind.RQ_ISSUE, Kind.PROBED_FAULT, Kind.PROBED_READ} <= set(
        trace.events["kind"].tolist()
    )


@each
def test_fields_beside_the_tables_are_those_of_the_text(name):
    """Strings after __data_loc, and numbers of 32 and 64 bits."""
    read_fields = tracefs.read(FIXTURES / name).read_fields
    printed = (FIXTURES / name / "trace.txt").read_text()
    numbers = ("file", "ino", "dev", "index", "addr", "len", "vm_flags")
    maps = read_fields("foreread:file_map", numbers)
    line = r"file_map: \(.*?\) " + " ".join(rf"{number}=(\d+)" for number in numbers)
    assert _rows(maps, numbers) == [tuple(map(int, row)) for row in re.findall(line, printed)]
    opens = read_fields("foreread:openat", ("dfd", "path"))
    line = r"openat: \(.*?\) dfd=(-?\d+) flags=\d+ path=\"(.*?)\""
    expected = [(int(dfd), path.encode()) for dfd, path in re.findall(line, printed)]
    assert _rows(opens, ("dfd", "path")) == expected
    assert (-100, b"/app/data") in expected
    execs = read_fields("sched:sched_process_exec", ("filename",))
    assert execs["filename"].tolist() == [b"/app/busybox"]


def _rows(fields, names):
    return list(zip(*(fields[name].tolist() for name in names), strict=True))


@each
def test_the_slow_reference_finds_the_same_records(name):
    order, long_size = MACHINES[name]
    data = (FIXTURES / name / "cpu0.raw").read_bytes()
    layout = Layout.parse((FIXTURES / name / "header_page").read_bytes())
    assert layout.commit_size == long_size
    found = ring_walk.walk(data, *layout.shape, order)
    times = [record.time_ns for record in found.records]
    events = tracefs.read(FIXTURES / name).events
    assert set(events["time_ns"].tolist()) <= set(times)
    # mappings and opens are read field by field, and are in no table
    assert len(times) > events.rows


@each
def test_pages_touched_are_the_pages_loaded(name):
    recording = load(FIXTURES / name)
    files, accesses = recording.files, recording.accesses
    loaded = set(
        zip(files["ino"][accesses["file"]].tolist(), accesses["page"].tolist(), strict=True)
    )
    data = int(np.argmin(files["accessed"]))
    assert files["accessed"][data] == -(-40000 // 4096)
    events, touched = recording.trace.events, set()
    for kind, ino, index, value in _rows(events, ("kind", "ino", "index", "value")):
        last = {Kind.FAULT: index, Kind.GET_PAGES: value}.get(kind, -1)
        if ino == files["ino"][data]:
            last = min(last, FILE_BYTES // 4096 - 1)
        touched |= {(ino, page) for page in range(index, last + 1)}
    assert touched == loaded
    assert any(
        re.fullmatch(r"page faults come from probes.* (\d+) of \1 .*", n) for n in recording.notes
    )
