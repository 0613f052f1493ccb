"""Lists of a board's files for the traces of other tools: read, bounded, and not believed."""

import json
import os
from pathlib import Path

import pytest
from event_table import BDEV, event, insert, read, table
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.ingest import inode_list
from foreread.analyzer.ingest.inode_list import read_inodes
from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.recording import Trace, TraceError
from foreread.analyzer.ingest.tables import Kind
from foreread.boards.base.document import encode
from foreread.tracer.error import TracerError
from foreread.tracer.formats.capture import CaptureError, Extent, FileEntry
from foreread.tracer.formats.limits import LimitError

DEV = 254 << 20 | 300  # a minor that st_dev splits
ST_DEV = os.makedev(254, 300)
PHONE = Path(__file__).parent / "data/foreign/phone.txt"


def trace_of(*inodes, page=0):
    events = [one for ino in inodes for one in (insert(ino, page, dev=DEV), read(8, 1, dev=DEV))]
    return Trace("test", table(*events), page_size=4096)


def found(tmp_path, data, trace=None):
    path = tmp_path / "inodes"
    path.write_bytes(data)
    return read_inodes(path, trace or trace_of(5, 6))


def paths(listed):
    return {ino: entry.path for (_, ino), entry in listed.entries.items()}


def line(ino, size=9000, path="/usr/bin/app", dev=ST_DEV):
    return f"{dev} {ino} {size} ".encode() + os.fsencode(path)


def test_paths_and_sizes_are_those_of_the_inodes_in_the_trace(tmp_path):
    listed = found(tmp_path, b"\n".join([line(5), line(6, 1, "/etc/a b"), line(7)]) + b"\n")
    assert paths(listed) == {5: "/usr/bin/app", 6: "/etc/a b"}
    assert listed.entries[DEV, 5].size_bytes == 9000
    assert listed.entries[DEV, 5].dev == "254:300"
    assert listed.notes == []


def test_a_hard_link_keeps_its_first_path(tmp_path):
    assert paths(found(tmp_path, line(5) + b"\n" + line(5, path="/usr/bin/b"))) == {
        5: "/usr/bin/app"
    }


def test_an_inode_with_several_sizes_is_left_out(tmp_path):
    listed = found(tmp_path, line(5) + b"\n" + line(5, 1) + b"\n" + line(6))
    assert paths(listed) == {6: "/usr/bin/app"}
    assert any("1 file is listed with several sizes" in note for note in listed.notes)


def test_a_newline_in_a_path_costs_that_path_only(tmp_path):
    listed = found(tmp_path, line(5, path="/tmp/a\nb") + b"\n" + line(6) + b"\n")
    assert paths(listed) == {6: "/usr/bin/app"}
    assert any("1 line is not 'DEVICE INODE SIZE PATH'" in note for note in listed.notes)


def test_with_nul_paths_may_hold_newlines_and_whole_lines(tmp_path):
    hostile = "/tmp/a\n" + line(6, 1, "/etc/shadow").decode()
    assert paths(found(tmp_path, line(5, path=hostile) + b"\0")) == {5: hostile}


def test_bytes_that_are_no_text_are_kept(tmp_path):
    listed = found(tmp_path, line(5, path=b"/caf\xe9\x1b[2J"))
    assert os.fsencode(paths(listed)[5]) == b"/caf\xe9\x1b[2J"


def test_devices_that_the_list_lacks_are_named(tmp_path):
    listed = found(tmp_path, line(5, dev=os.makedev(8, 1)))
    assert listed.notes == ["inodes has no file of 254:300"]


def test_inodes_of_disks_are_not_missed_in_the_list(tmp_path):
    """They are of the bdev file system, which no list has."""
    of_disk = event(Kind.INSERT, dev=BDEV, ino=DEV, index=4)
    trace = Trace("test", table(insert(5, 0, dev=DEV), of_disk), page_size=4096)
    assert found(tmp_path, line(5), trace).notes == []


def test_a_file_that_is_shorter_than_the_trace_read_has_changed(tmp_path):
    """Up to a block of 1 MiB may be pages of squashfs after the end of the file."""
    lines = line(5, 4096) + b"\n" + line(6, (1 << 20) + 1)
    listed = found(tmp_path, lines, trace_of(5, 6, page=300))
    assert paths(listed) == {6: "/usr/bin/app"}
    assert any("1 file is shorter in the list" in note for note in listed.notes)
    assert {*paths(found(tmp_path, lines, trace_of(5, 6, page=200)))} == {5, 6}


def test_the_files_of_a_capture_are_a_list(tmp_path):
    entries = [FileEntry(dev="254:300", ino=5, path="/a", size_bytes=4096, extents=[])]
    entries.append(FileEntry(dev="254:300", ino=9, path="/b", size_bytes=1))
    entries.append(
        FileEntry(dev="254:300", ino=6, path=None, size_bytes=1, extents=[Extent(0, 0, 1, True)])
    )
    listed = found(tmp_path, encode(entries).encode())
    assert listed.entries == {(DEV, 5): entries[0], (DEV, 6): entries[2]}


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"hello\n", TraceError),
        (b"", TraceError),
        (b"5 6 7 relative\n", TraceError),
        (b"99999999999999999999 5 7 /a\n", TraceError),
        (b"8 5 7 /" + b"a" * 5000 + b"\n", TraceError),
        (b"[1]", CaptureError),
        (json.dumps([{"dev": "x", "ino": 1, "path": None, "size_bytes": 1}]).encode(), TracerError),
    ],
)
def test_no_list_is_refused(tmp_path, data, error):
    with pytest.raises((error, TraceError)):
        found(tmp_path, data)


def test_a_list_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(inode_list, "MOST_INODES_BYTES", 100)
    with pytest.raises(LimitError):
        found(tmp_path, line(5) + b"\n" + b" " * 100)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_list_or_refused(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("inodes")
    try:
        listed = found(folder, data)
    except (TraceError, TracerError):
        return
    assert {*listed.entries} <= {(DEV, 5), (DEV, 6)}


def test_a_trace_gets_files_from_it(tmp_path):
    path = tmp_path / "list"
    dev = os.makedev(253, 6)
    rows = [(dev, 0x7000 + 13 * row, 8000, f"/data/app/{row}") for row in range(10)]
    path.write_text("".join(f"{' '.join(map(str, row))}\n" for row in rows))
    recording = load(PHONE, "all", inodes=path)
    assert {*recording.paths} == {row[3] for row in rows}
    assert (recording.files["size_bytes"] == 8000).all()


def test_a_capture_has_its_own_files(tmp_path):
    capture = next((Path(__file__).parents[2] / "foreread/data/arm64-madplay").glob("*.tar.xz"))
    (tmp_path / "list").write_bytes(line(5))
    with pytest.raises(TraceError, match="is a capture, which has its files"):
        load(capture, inodes=tmp_path / "list")
