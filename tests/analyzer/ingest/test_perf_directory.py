"""perf.data directories, and perf.data of Android's simpleperf."""

import lzma
import struct
from pathlib import Path

import pytest
from unpacked import unpack

from foreread.analyzer.ingest import perf_records, perfdata
from foreread.analyzer.ingest.detect import open_trace
from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.tables import Kind

BROUGHT = Path(__file__).parent / "data/brought"
TRACING_DATA, SPLIT, SPLIT_END, SIMPLEPERF_TRACING_DATA = 66, 32772, 32773, 32777
DATA_SECTION, FEATURES = 40, 72  # where a header has the place and size of records, and the bits


def unpacked(directory, name):
    unpack(BROUGHT / f"{name}.tgz", directory)
    return next(path for path in directory.iterdir() if path.is_dir())


def kinds(trace):
    kind = trace.events["kind"].tolist()
    return {Kind(number): kind.count(number) for number in sorted(set(kind))}


@pytest.mark.parametrize(
    ("name", "inserts", "bios"), [("perf-directory", 27, 5), ("perf-directory-zstd", 74, 93)]
)
def test_a_directory_has_the_events_that_perf_script_prints(name, inserts, bios, tmp_path):
    trace = open_trace(unpacked(tmp_path, name))
    assert kinds(trace) == {Kind.INSERT: inserts, Kind.BIO_QUEUE: bios}
    time = trace.events["time_ns"].tolist()
    assert time == sorted(time)
    assert (trace.format, trace.page_size, trace.lost) == ("perf.data", 4096, {})
    assert set(trace.events["cpu"].tolist()) == {0, 1}


def test_a_directory_is_loaded_like_a_file(tmp_path):
    recording = load(unpacked(tmp_path, "perf-directory"), "all")
    assert recording.accesses.rows == 160


@pytest.mark.parametrize(("file", "what"), [("data", "header"), ("data.0", "part")])
def test_a_file_of_a_directory_alone_names_its_directory(file, what, tmp_path):
    directory = unpacked(tmp_path, "perf-directory")
    with pytest.raises(TraceError, match=rf"{what} of a perf\.data directory") as caught:
        open_trace(directory / file)
    assert str(directory) in caught.value.remedy


def test_a_part_that_is_cut_off_gives_what_came_before(tmp_path):
    directory = unpacked(tmp_path, "perf-directory")
    part = directory / "data.1"
    part.write_bytes(part.read_bytes()[:-20])
    trace = open_trace(directory)
    assert 0 < trace.events.rows < 32
    assert any("ends inside a record" in note for note in trace.notes)


def test_a_directory_whose_header_is_empty_says_that_perf_was_killed(tmp_path):
    directory = unpacked(tmp_path, "perf-directory")
    (directory / "data").write_bytes(b"")
    with pytest.raises(TraceError, match="perf record was killed") as caught:
        open_trace(directory)
    assert "Ctrl-C" in caught.value.remedy


def test_a_directory_with_one_file_of_records_is_read(tmp_path):
    """``perf record --kcore`` writes a whole perf.data beside kcore_dir."""
    directory = tmp_path / "perf.data"
    (directory / "kcore_dir").mkdir(parents=True)
    data = lzma.decompress((BROUGHT / "simpleperf-linux.data.xz").read_bytes())
    (directory / "data").write_bytes(data)
    assert kinds(open_trace(directory)) == {Kind.INSERT: 17, Kind.BIO_QUEUE: 17}


def simpleperf():
    return lzma.decompress((BROUGHT / "simpleperf.data.xz").read_bytes())


def with_formats(records):
    """Return simpleperf's file with other records in place of its record of formats."""
    data = simpleperf()
    start, size = struct.unpack_from("<QQ", data, DATA_SECTION)
    kind, _, length = struct.unpack_from("<IHH", data, start)
    assert kind == TRACING_DATA
    return with_records(records + data[start + length : start + size])


def with_records(records):
    """Return simpleperf's file with other records."""
    data = simpleperf()
    start, size = struct.unpack_from("<QQ", data, DATA_SECTION)
    change = len(records) - size
    tail = bytearray(data[start + size :])
    bits = int.from_bytes(data[FEATURES : FEATURES + 32], "little").bit_count()
    for number in range(bits):
        (at,) = struct.unpack_from("<Q", tail, 16 * number)
        struct.pack_into("<Q", tail, 16 * number, at + change)
    head = bytearray(data[:start])
    struct.pack_into("<Q", head, DATA_SECTION + 8, len(records))
    return bytes(head) + records + bytes(tail)


def formats():
    """Return the content of simpleperf's record of formats: their size, and they."""
    data = simpleperf()
    (start,) = struct.unpack_from("<Q", data, DATA_SECTION)
    return data[start + 8 : start + struct.unpack_from("<H", data, start + 6)[0]]


def record(kind, content):
    """Return a record of simpleperf's own types, whose size has its upper half first."""
    size = 8 + len(content)
    return struct.pack("<IHH", kind, size >> 16, size & 0xFFFF) + content


def read(directory, data):
    path = directory / "perf.data"
    path.write_bytes(data)
    return open_trace(path)


@pytest.mark.parametrize("written", ["simpleperf", "simpleperf-zstd"])
def test_simpleperf_has_the_events_of_perf(written, tmp_path):
    linux, data = (
        lzma.decompress((BROUGHT / f"{name}.data.xz").read_bytes())
        for name in ("simpleperf-linux", written)
    )
    expected, trace = read(tmp_path, linux), read(tmp_path, data)
    for name, column in expected.events.items():
        assert trace.events[name].tolist() == column.tolist(), name
    assert kinds(trace) == {Kind.INSERT: 17, Kind.BIO_QUEUE: 17}
    assert trace.page_size == 4096


def test_a_recording_without_needed_events_names_those_that_it_recorded(tmp_path):
    with pytest.raises(TraceError, match="block:block_bio_queue, filemap:mm_filemap_add") as caught:
        read(tmp_path, with_records(record(SIMPLEPERF_TRACING_DATA, formats())))
    assert "while the application starts" in caught.value.remedy


def test_formats_split_over_records_are_joined(tmp_path):
    whole = record(SIMPLEPERF_TRACING_DATA, formats())
    parts = [whole[at : at + 1000] for at in range(0, len(whole), 1000)]
    split = b"".join(record(SPLIT, part) for part in parts) + record(SPLIT_END, b"")
    assert kinds(read(tmp_path, with_formats(split))) == {Kind.INSERT: 17, Kind.BIO_QUEUE: 17}


def test_a_record_of_more_than_64_kib_is_passed_over_whole(tmp_path):
    large = record(SIMPLEPERF_TRACING_DATA, formats() + bytes(100_000))
    assert kinds(read(tmp_path, with_formats(large))) == {Kind.INSERT: 17, Kind.BIO_QUEUE: 17}


def test_formats_without_an_end_are_refused(tmp_path):
    parts = record(SPLIT, record(SIMPLEPERF_TRACING_DATA, formats())[:1000])
    for end in (b"", record(SPLIT_END, b"")):
        with pytest.raises(TraceError, match="no event formats"):
            read(tmp_path, with_formats(parts + end))


def test_records_after_damage_are_not_searched():
    damaged = memoryview(struct.pack("<IHH", SPLIT, 0, 4) + bytes(64))
    assert perf_records.formats_in(damaged, "little") is None
    assert perf_records.formats_in(memoryview(b"\x42"), "little") is None


def test_another_directory_is_no_perf_data(tmp_path):
    (tmp_path / "data").write_text("not perf")
    assert not perfdata.is_directory(tmp_path)
