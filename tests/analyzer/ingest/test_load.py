"""From files to recordings: captures, archives, filters, contamination, hostile input."""

import bz2
import gzip
import io
import json
import lzma
import shutil
import tarfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from capture_builder import ROOT_PID, capture_of
from event_table import DISK, event, insert, metadata_insert, read, table
from msgspec import structs
from rings import further

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.load import events_of, inodes_in, load, load_any
from foreread.analyzer.ingest.recording import Trace, TraceError
from foreread.analyzer.ingest.tables import Kind
from foreread.boards.base.owner import owner_tag, tag_in
from foreread.tracer.formats import capture as capture_format
from foreread.tracer.formats.capture import NO_METADATA, CaptureError, FileEntry, Mount

PAGES = Path(__file__).parent / "data/ftrace/pages"


def recording_of(*events, pids="tree", entries=(), **changes):
    trace = Trace(format="test", events=table(*events), page_size=4096)
    return interpret(trace, capture_of(**changes), list(entries), pids)


def mine(maker, *args, **more):
    return maker(*args, pid=ROOT_PID, **more)


def test_only_the_process_tree_counts_by_default():
    events = (
        mine(insert, 5, 0),
        mine(read, 0, 1),
        event(Kind.FORK, pid=ROOT_PID, value=101),
        insert(5, 1, pid=101),
        read(8, 1, pid=101),
        insert(5, 2, pid=999),
        read(16, 1, pid=999),
    )
    recording = recording_of(*events)
    assert recording.accesses["page"].tolist() == [0, 1]
    assert recording.counts["other_process"] == 1
    assert recording.threads == {ROOT_PID, 101}
    assert recording_of(*events, pids="all").accesses["page"].tolist() == [0, 1, 2]
    assert recording_of(*events, pids=frozenset({999})).accesses["page"].tolist() == [2]


def test_only_the_run_counts():
    events = [mine(e, 5, i) if e is insert else mine(e, 8 * i, 1) for i in range(3)
              for e in (insert, read)]  # fmt: skip
    # events are one microsecond apart, from 1000 ns: the second pair is at 3000 and 4000
    recording = recording_of(*events, start_ns=3000, end_ns=5000)
    assert recording.accesses["page"].tolist() == [1]


def test_pages_that_are_not_accesses_are_classified():
    recording = recording_of(
        mine(insert, 6, 0), mine(metadata_insert, 3), mine(insert, 5, 0), mine(read, 0, 1)
    )
    assert recording.counts == {
        "written_or_hole": 1, "metadata": 1, "other_process": 0, "readahead": 0
    }  # fmt: skip


def test_names_sizes_and_disks_come_from_the_capture():
    entry = FileEntry(dev="7:0", ino=5, path="/a\udc80b", size_bytes=9000)
    recording = recording_of(mine(insert, 5, 0), mine(read, 0, 1), entries=[entry])
    assert recording.paths == ("/a\udc80b",)
    assert recording.files["size_bytes"].tolist() == [9000]
    assert recording.devices == {DISK: DISK, DISK + 1: DISK}


def test_blocks_of_several_pages_are_said_to_count_whole():
    block = [*(mine(insert, 5, i) for i in range(4)), mine(read, 0, 4)]
    assert any("several pages" in note for note in recording_of(*block).notes)
    single = [mine(insert, 5, 0), mine(read, 0, 1)]
    assert not any("several pages" in note for note in recording_of(*single).notes)


def test_the_start_of_partitions_comes_from_the_capture():
    start = Mount(
        dev="7:0", mountpoint="/", fstype="ext4", source="", options="", first_sector=2048
    )
    events = (mine(insert, 5, 0), mine(metadata_insert, 40), mine(read, 2048 + 320, 1))
    assert recording_of(*events, mounts=[start]).counts["written_or_hole"] == 1
    assert recording_of(*events).counts["written_or_hole"] == 0


def test_a_huge_file_of_zeros_is_not_an_archive(tmp_path):
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TraceError, match="is not a trace"):
        load(path)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_file_that_is_packed_twice_is_to_be_unpacked(tmp_path, pack):
    path = tmp_path / "trace.packed"
    path.write_bytes(pack(pack(b"# tracer: nop\n" * 100)))
    with pytest.raises(TraceError, match="data") as error:
        load(path)
    assert "unpack it first" in error.value.remedy


def test_a_disk_whose_window_could_not_be_set_contaminates():
    disk = capture_of().devices[0]
    stayed = structs.replace(disk, read_ahead_kb=128)
    events = (mine(insert, 5, 0), mine(read, 0, 1))
    assert not recording_of(*events).contaminated
    recording = recording_of(*events, devices=[stayed])
    assert (recording.contaminated, recording.recorded_read_ahead_kb) == (True, 128)
    unread = structs.replace(stayed, filesystems=["8:0"])
    assert not recording_of(*events, devices=[disk, unread]).contaminated


@pytest.mark.parametrize(("pages", "contaminated"), [(1, False), (8, True)])
def test_a_disk_mounted_during_the_run_contaminates_if_it_was_read_ahead(pages, contaminated):
    new = (7 << 20) | 9
    inserts = [mine(insert, 5, i, dev=new) for i in range(pages)]
    recording = recording_of(*inserts, mine(read, 0, pages, dev=new))
    assert recording.contaminated == contaminated
    assert any("disk 7:9" in note for note in recording.notes) == contaminated


@pytest.mark.parametrize(("beside", "contaminated"), [(8, True), (200, False)])
def test_a_disk_that_little_came_from_does_not_contaminate(beside, contaminated):
    """Eight pages of a disk that reads ahead: half of all, or 4 %."""
    old = (5 << 20) | 1
    pages = [e for page in range(beside) for e in (mine(insert, 7, page), mine(read, 8 * page, 1))]
    new = [mine(insert, 5, page, dev=old) for page in range(8)]
    recording = recording_of(*pages, *new, mine(read, 0, 8, dev=old))
    assert recording.contaminated == contaminated
    assert any(f"read {'much' if contaminated else 'little'} from it" in n for n in recording.notes)
    disk = capture_of().devices[0]
    ahead = structs.replace(disk, dev="5:1", filesystems=["5:1"], read_ahead_kb=128)
    known = recording_of(*pages, *new, mine(read, 0, 8, dev=old), devices=[disk, ahead])
    assert known.contaminated == contaminated


def test_a_disk_that_only_others_read_does_not_contaminate():
    """Somebody mounts an unrelated disk during the run and reads it."""
    theirs = [insert(5, page, pid=999, dev=(7 << 20) | 9) for page in range(8)]
    read_by_them = read(0, 8, pid=999, dev=(7 << 20) | 9)
    recording = recording_of(mine(insert, 7, 0), mine(read, 0, 1), *theirs, read_by_them)
    assert not recording.contaminated
    assert recording.accesses.rows == 1
    assert not any("mounted" in note for note in recording.notes)


@pytest.mark.parametrize(("fstype", "accessed"), [("squashfs", [0, 1, 2]), ("ext4", [0, 1, 2, 3])])
def test_pages_of_a_block_after_the_end_of_a_file_are_not_accesses(fstype, accessed):
    mount = structs.replace(capture_of().mounts[0], fstype=fstype)
    entry = FileEntry(dev="7:0", ino=5, path="/short", size_bytes=8193)
    events = (*(mine(insert, 5, i) for i in range(4)), mine(read, 0, 4))
    recording = recording_of(*events, entries=[entry], mounts=[mount])
    assert recording.accesses["page"].tolist() == accessed
    assert recording.files["accessed"].tolist() == [len(accessed)]
    assert recording.counts["readahead"] == 4 - len(accessed)


@pytest.mark.parametrize(
    ("kernel", "size_bytes", "accessed"),
    [
        ("5.10.223", 8192, [0, 1, 3]),
        ("5.15.100", 8192, [0, 1, 3]),
        ("5.10.223", 8193, [0, 1, 2, 3]),
        ("5.10.223", -1, [0, 1, 2, 3]),
        ("5.16.0", 8192, [0, 1, 2, 3]),
        ("unknown", 8192, [0, 1, 2, 3]),
    ],
)
def test_the_empty_page_after_the_end_of_a_file_is_not_an_access(kernel, size_bytes, accessed):
    """Page 3 was read from a file that has become shorter since."""
    entry = FileEntry(dev="7:0", ino=5, path="/short", size_bytes=size_bytes)
    host = structs.replace(capture_of().host, kernel=kernel)
    events = (*(mine(insert, 5, i) for i in range(4)), mine(read, 0, 4))
    recording = recording_of(*events, entries=[entry], host=host)
    assert recording.accesses["page"].tolist() == accessed


def contaminated(*access_events):
    return [
        *(mine(insert, 5, i) for i in range(32)),
        mine(read, 0, 32),
        *access_events,
    ]


def test_readahead_is_taken_out_where_access_events_tell():
    fault = event(Kind.FAULT, pid=ROOT_PID, ino=5, index=3)
    recording = recording_of(*contaminated(fault), read_ahead_kb=128)
    assert recording.contaminated
    assert recording.accesses["page"].tolist() == [3]
    assert recording.files["accessed"].tolist() == [1]
    assert recording.counts["readahead"] == 31
    assert any("fault-around" in note for note in recording.notes)


def test_readahead_without_evidence_is_kept_with_a_note():
    recording = recording_of(*contaminated(), read_ahead_kb=128)
    assert recording.accesses.rows == 32
    assert any("without access events" in note for note in recording.notes)


def test_a_foreign_file_shows_its_readahead_by_its_batches():
    trace = Trace(format="test", events=table(*contaminated()), page_size=4096)
    assert interpret(trace, NO_METADATA, [], "tree").contaminated
    alone = [e for i in range(40) for e in (insert(5, i), read(8 * i, 1))]
    trace = Trace(format="test", events=table(*alone), page_size=4096)
    recording = interpret(trace, NO_METADATA, [], "tree")
    assert not recording.contaminated
    assert recording.recorded_read_ahead_kb is None


@pytest.fixture
def capture(tmp_path):
    directory = tmp_path / "app.capture"
    shutil.copytree(PAGES, directory / "trace")
    capture_format.write(directory, capture_of(read_ahead_kb=128), [])
    return directory


def test_a_capture_and_its_archive_read_the_same(capture, tmp_path):
    whole = load(capture, "all")
    assert whole.accesses.rows > 0
    for mode, name in (("w", "a.tar"), ("w:gz", "a.tar.gz"), ("w:xz", "no-suffix")):
        with tarfile.open(tmp_path / name, mode) as tar:
            tar.add(capture, arcname="anything")
        packed = load(tmp_path / name, "all")
        for column in ("time_ns", "file", "page"):
            assert np.array_equal(packed.accesses[column], whole.accesses[column])


def test_an_archive_writes_nothing_outside(capture, tmp_path):
    archive = tmp_path / "evil.tar"
    with tarfile.open(archive, "w") as tar:
        for name in ("../escaped", "/tmp/foreread-escaped", "c/../../escaped"):
            member = tarfile.TarInfo(name)
            member.size = 1
            tar.addfile(member, io.BytesIO(b"x"))
        link = tarfile.TarInfo("c/capture.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
        tar.add(capture, arcname="good")
    assert load(archive, "all").accesses.rows > 0
    assert not Path("/tmp/foreread-escaped").exists()
    assert not (tmp_path / "escaped").exists()


def test_the_folder_of_a_reader_names_its_owner(capture, monkeypatch):
    given = []

    def read_here(read, path, pids, scratch, page_size, inodes):
        given.append(Path(scratch).name)
        return read(path, pids, scratch, page_size, inodes)

    monkeypatch.setattr("foreread.analyzer.ingest.load.call", read_here)
    load_any(capture)
    assert tag_in(given[0]) == owner_tag()


def test_an_archive_without_a_capture_is_refused(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.add(__file__, arcname="x")
    with pytest.raises(TraceError, match="contains no"):
        load(tmp_path / "a.tar")


def test_a_partial_capture_is_recognised(capture):
    (capture / "capture.json").unlink()
    with pytest.raises(CaptureError, match="partial"):
        load(capture)


@pytest.mark.parametrize("pids", [None, "", "trees", 7, [7], {7}, frozenset({"7"})])
def test_an_invalid_choice_of_threads_is_an_error_with_a_remedy(capture, pids):
    with pytest.raises(TraceError, match="choose threads") as error:
        load(capture, pids)
    assert "tree" in error.value.remedy


@pytest.mark.parametrize("path", [None, 3, b"capture"])
def test_an_invalid_path_is_an_error_with_a_remedy(path):
    with pytest.raises(TraceError, match="not a path") as error:
        load(path)
    assert error.value.remedy


def test_a_path_may_be_a_string(capture):
    assert load(str(capture)).accesses.rows == load(capture).accesses.rows


@pytest.mark.parametrize(
    ("packing", "decompress"),
    further([("gz", gzip.decompress), ("xz", lzma.decompress), ("bz2", bz2.decompress)]),
)
def test_a_damaged_archive_is_an_error_with_a_remedy(packing, decompress, capture, tmp_path):
    archive = tmp_path / "a"
    with tarfile.open(archive, f"w:{packing}") as tar:
        tar.add(capture, arcname="c")
    whole = archive.read_bytes()
    places = range(0, len(whole), len(whole) // 12)
    flipped = [whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :] for at in places]
    harmless = 0
    for damaged in (whole[: len(whole) // 2], *flipped):
        archive.write_bytes(damaged)
        if unpacks_the_same(decompress, damaged, whole):
            harmless += 1
            continue
        with pytest.raises((TraceError, CaptureError)) as error:
            load(archive)
        assert error.value.remedy
    assert harmless <= 1


def unpacks_the_same(decompress, damaged, whole):
    """Whether only unused bits changed: those that fill the last byte of compressed data."""
    try:
        return decompress(damaged) == decompress(whole)
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error):
        return False


def test_an_archive_with_a_damaged_member_is_an_error_with_a_remedy(capture, tmp_path):
    archive = tmp_path / "a.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(capture, arcname="c")
    with tarfile.open(archive) as tar:
        last = tar.getmembers()[-1].offset
    whole = archive.read_bytes()
    archive.write_bytes(whole[:last] + b"\xff" + whole[last + 1 :])
    with pytest.raises(TraceError, match="no member begins at byte") as error:
        load(archive)
    assert error.value.remedy


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 1}', '{"schema": "x"}', "[" * 100000])
def test_damaged_metadata_is_an_error_with_a_remedy(capture, text):
    (capture / "capture.json").write_text(text)
    with pytest.raises(CaptureError) as error:
        load(capture)
    assert error.value.remedy


HUGE = 1 << 64


@pytest.mark.parametrize(
    ("keys", "values", "error", "message"),
    [
        (("schema",), [2], CaptureError, "schema 2"),
        (("pid",), [-1, 1 << 31, HUGE], CaptureError, None),
        (("start_ns",), [-1, HUGE], CaptureError, None),
        (("end_ns",), [-1, HUGE], CaptureError, None),
        (("host", "page_size"), [-1, 0, HUGE], CaptureError, None),
        (("mounts", 0, "first_sector"), [-1, HUGE], CaptureError, None),
        (("mounts", 0, "dev"), ["", "7", "a:b", "7:0:1"], CaptureError, "device number"),
        (("devices", 0, "dev"), ["99999999999:1"], CaptureError, None),
        (("devices", 0, "filesystems"), [["7:-1"]], CaptureError, None),
    ],
    ids=str,
)
def test_metadata_that_no_recording_has_is_refused(capture, keys, values, error, message):
    file = capture / "capture.json"
    *above, last = keys
    for value in values:
        document = inner = json.loads(file.read_text())
        for key in above:
            inner = inner[key]
        inner[last] = value
        file.write_text(json.dumps(document))
        with pytest.raises(error, match=message) as refused:
            load(capture)
        assert refused.value.remedy


def test_a_trace_without_inserts_is_shown_and_not_predicted(tmp_path):
    text = tmp_path / "trace"
    text.write_text("app-1 [000] ..... 1.000001: sched_process_exit: comm=app pid=1 prio=120\n")
    assert load_any(text).accesses.rows == 0
    with pytest.raises(TraceError, match="mm_filemap_add_to_page_cache"):
        load(text)


def test_inodes_are_those_of_the_page_cache_events():
    found = inodes_in(events_of(PAGES))
    recording = load(PAGES)
    assert (
        set(zip(recording.files["dev"].tolist(), recording.files["ino"].tolist(), strict=True))
        <= found
    )
