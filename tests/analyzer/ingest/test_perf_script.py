"""Text that perf script prints, against the perf.data that it was printed from."""

import lzma
from pathlib import Path

import numpy as np
import pytest

from foreread.analyzer.ingest import perfdata, text
from foreread.analyzer.ingest.detect import open_trace
from foreread.analyzer.ingest.tables import Kind

DATA = Path(__file__).parent / "data/perf"
HEADS = [
    "       perf-exec  8788 [000]  2700.007222:              ",
    "       perf-exec  8788/8788  [000]  2700.007222:          1              ",
    " a 12-13 [1 b-c  8788 [000]  2700.007222456:   ",
    "8788 [000]  2700.007222: ",
]


@pytest.mark.parametrize("name", ["file", "mixed"])
def test_the_events_are_those_of_perf_data(name, tmp_path):
    path = tmp_path / "perf.data"
    path.write_bytes(lzma.decompress((DATA / f"{name}.data.xz").read_bytes()))
    expected = perfdata.read(path).events
    found = open_trace(DATA / f"{name}.script.txt")
    assert found.format == "perf script text"
    assert found.events.rows == expected.rows > 0
    for column in expected:
        assert (found.events[column] == expected[column]).all(), column


@pytest.mark.parametrize("head", HEADS)
def test_the_columns_of_other_options_are_read(head, tmp_path):
    path = tmp_path / "text"
    path.write_text(f"{head}filemap:mm_filemap_fault: dev=254:0 ino=9b2089 ofs=4096\n")
    trace = text.read(path)
    assert trace.format == "perf script text"
    names = ("pid", "cpu", "kind", "index")
    assert [trace.events[name].tolist() for name in names] == [[8788], [0], [Kind.FAULT], [1]]


def test_whole_microseconds_are_named_in_a_note(tmp_path):
    path = tmp_path / "text"
    path.write_text(f"{HEADS[0]}filemap:mm_filemap_fault: dev=254:0 ino=9b2089 ofs=4096\n")
    assert any("perf script --ns" in note for note in text.read(path).notes)
    assert not any("--ns" in note for note in text.read(DATA / "file.script.txt").notes)
    assert np.all(text.read(path).events["time_ns"] == 2700007222000)
