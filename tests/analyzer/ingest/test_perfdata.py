import struct

import numpy as np
import perf_samples
import pytest

from foreread.analyzer.ingest import perf_header, perfdata
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.tables import Kind, Rwbs

KINDS = {
    "mm_filemap_add_to_page_cache": Kind.INSERT,
    "mm_filemap_delete_from_page_cache": Kind.DELETE,
    "mm_filemap_fault": Kind.FAULT,
    "mm_filemap_get_pages": Kind.GET_PAGES,
    "mm_filemap_map_pages": Kind.MAP_PAGES,
    "page_cache_ra_unbounded": Kind.RA_UNBOUNDED,
    "page_cache_sync_ra": Kind.RA_SYNC,
    "block_bio_queue": Kind.BIO_QUEUE,
    "block_rq_issue": Kind.RQ_ISSUE,
    "block_rq_complete": Kind.RQ_COMPLETE,
    "sched_process_fork": Kind.FORK,
    "sched_process_exec": Kind.EXEC,
    "sched_process_exit": Kind.EXIT,
}
LETTERS = {"R": Rwbs.READ, "W": Rwbs.WRITE, "A": Rwbs.AHEAD, "M": Rwbs.META, "S": Rwbs.SYNC,
           "F": Rwbs.FLUSH, "D": Rwbs.DISCARD}  # fmt: skip


def write(tmp_path, data):
    path = tmp_path / "perf.data"
    path.write_bytes(data)
    return path


def flags(letters):
    return sum({LETTERS.get(letter, Rwbs.OTHER) for letter in letters if letter != "-"})


def expected_rows(name):
    rows = []
    for time_ns, cpu, event, *numbers, rwbs in perf_samples.expected(name):
        columns = (0 if number == "-" else int(number) for number in numbers)
        rows.append((int(time_ns), int(cpu), int(KINDS[event]), *columns, flags(rwbs)))
    return rows


def rows_of(trace):
    return list(zip(*(column.tolist() for column in trace.events.values()), strict=True))


@pytest.mark.parametrize("name", ["file", "pipe", "zstd", "zstd-pipe", "mixed"])
def test_golden_file_gives_what_perf_script_says(name, tmp_path):
    trace = perfdata.read(write(tmp_path, perf_samples.golden(name)))
    assert rows_of(trace) == expected_rows(name)
    assert trace.kernel == "6.18.44-fc-v595"
    assert (trace.page_size, trace.lost, trace.notes) == (4096, {}, ())


def test_big_endian_file_gives_the_same(tmp_path):
    little = perfdata.read(write(tmp_path, perf_samples.golden("file")))
    big = perfdata.read(write(tmp_path, perf_samples.big_endian(perf_samples.golden("file"))))
    assert rows_of(big) == rows_of(little)
    assert (big.kernel, big.paths) == (little.kernel, little.paths)


def test_events_are_merged_over_cpus_in_time_order(tmp_path):
    events = perfdata.read(write(tmp_path, perf_samples.golden("zstd-pipe"))).events
    assert set(events["cpu"].tolist()) == {0, 1}
    assert (np.diff(events["time_ns"].astype("i8")) >= 0).all()


def test_lost_events_are_counted_by_cpu_and_once(tmp_path):
    trace = perfdata.read(write(tmp_path, perf_samples.golden("lost")))
    assert trace.events.rows == 1159  # README: what perf report --stats counts
    assert sum(trace.lost.values()) == 603
    assert set(trace.lost) <= {-1, 0, 1}


def test_paths_of_executed_files_are_known_by_inode(tmp_path):
    trace = perfdata.read(write(tmp_path, perf_samples.golden("file")))
    inodes = {path: key for key, path in trace.paths.items()}
    key = inodes["/dev/shm/foreread-golden-perf/m/busybox"]
    inserts = trace.events.take(trace.events["kind"] == Kind.INSERT)
    assert ((inserts["dev"] == key[0]) & (inserts["ino"] == key[1])).any()


def test_mappings_and_tasks_tell_addresses_and_names(tmp_path):
    path = write(tmp_path, perf_samples.golden("file"))
    busybox = [m for m in perfdata.mappings(path) if m.path.endswith("/busybox")]
    assert busybox and all(m.length > 0 and m.ino and m.prot is not None for m in busybox)
    tasks = perfdata.tasks(path)
    assert "busybox" in {task.name for task in tasks}
    assert any(task.parent_pid is not None and task.name is None for task in tasks)


def test_fields_on_demand_include_strings(tmp_path):
    trace = perfdata.read(write(tmp_path, perf_samples.golden("file")))
    fields = trace.read_fields("sched:sched_process_exec", ("filename", "old_pid"))
    assert b"/dev/shm/foreread-golden-perf/m/busybox" in fields["filename"].tolist()
    execs = trace.events.take(trace.events["kind"] == Kind.EXEC)
    assert fields["old_pid"].tolist() == execs["value"].tolist()
    assert fields["time_ns"].tolist() == execs["time_ns"].tolist()
    issued = trace.read_fields("block:block_rq_issue", ("rwbs", "comm", "sector"))
    letters = [line[-1].encode() for line in perf_samples.expected("file")
               if line[2] == "block_rq_issue"]  # fmt: skip
    assert issued["rwbs"].tolist() == letters
    assert issued["sector"].dtype == np.dtype("u8")


def test_unknown_event_and_field_name_themselves(tmp_path):
    trace = perfdata.read(write(tmp_path, perf_samples.golden("pipe")))
    with pytest.raises(TraceError, match=r"6\.18\.44.* has no event sched:sched_switch"):
        trace.read_fields("sched:sched_switch", ())
    with pytest.raises(TraceError, match="no field 'nonsense'"):
        trace.read_fields("sched:sched_process_exec", ("nonsense",))


def test_array_is_not_a_number(tmp_path):
    number, array = b"field:unsigned int bytes;", b"field:u16 bytes[2]      ;"
    data = perf_samples.golden("file").replace(number, array)
    trace = perfdata.read(write(tmp_path, data))
    with pytest.raises(TraceError, match="neither a number nor a string"):
        trace.read_fields("block:block_rq_issue", ("bytes",))


def without_sample_bit(bit):
    data = bytearray(perf_samples.golden("file"))
    attr_size, attrs_at, attrs_size = struct.unpack_from("<QQQ", data, 16)
    for at in range(attrs_at, attrs_at + attrs_size, attr_size):
        (sample_type,) = struct.unpack_from("<Q", data, at + 24)
        struct.pack_into("<Q", data, at + 24, sample_type & ~bit)
    return bytes(data)


@pytest.mark.parametrize(
    ("bit", "option"), [(4, "perf record -T"), (128, "perf record --sample-cpu")]
)
def test_samples_without_time_or_cpu_name_the_option(bit, option, tmp_path):
    with pytest.raises(TraceError) as caught:
        perfdata.read(write(tmp_path, without_sample_bit(bit)))
    assert option in caught.value.remedy


def test_file_without_tracepoints_is_refused(tmp_path):
    with pytest.raises(TraceError, match="no tracepoint samples"):
        perfdata.read(write(tmp_path, without_sample_bit(1024)))


def test_interrupted_recording_is_distinguished_from_damage(tmp_path):
    data = bytearray(perf_samples.golden("file"))
    struct.pack_into("<Q", data, 48, 0)  # size of the data section
    with pytest.raises(TraceError, match="was not completed") as caught:
        perfdata.read(write(tmp_path, bytes(data)))
    assert "-o -" in caught.value.remedy


def test_cut_file_says_so(tmp_path):
    data = perf_samples.golden("file")
    with pytest.raises(TraceError, match=r"no event formats .*is cut"):
        perfdata.read(write(tmp_path, data[: len(data) // 4]))


def test_cut_pipe_gives_what_came_before(tmp_path):
    whole = perf_samples.golden("pipe")
    trace = perfdata.read(write(tmp_path, whole[:-1500]))
    rows = expected_rows("pipe")
    assert 0 < trace.events.rows < len(rows)
    assert set(rows_of(trace)) < set(rows)
    assert any("ends inside a record" in note for note in trace.notes)


def test_zeroed_tail_gives_what_came_before(tmp_path):
    whole = perf_samples.golden("pipe")
    trace = perfdata.read(write(tmp_path, whole[:-1500] + bytes(1500)))
    assert 0 < trace.events.rows < len(expected_rows("pipe"))
    assert any("is damaged" in note for note in trace.notes)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"PERFILE2", "header is cut"),
        (b"PERFFILE" + bytes(96), "version 1"),
        (b"#!/bin/sh\n" * 20, "not a perf.data file"),
        (bytes(4096), "not a perf.data file"),
    ],
)
def test_foreign_and_empty_files_are_refused(data, message, tmp_path):
    with pytest.raises(TraceError, match=message) as caught:
        perfdata.read(write(tmp_path, data))
    assert caught.value.remedy


def test_directory_and_missing_file_are_refused(tmp_path):
    with pytest.raises(TraceError, match="is a directory"):
        perfdata.read(tmp_path)
    with pytest.raises(TraceError, match="No such file"):
        perfdata.read(tmp_path / "absent")


@pytest.mark.parametrize("offset", [24, 32, 40, 48])
def test_gigantic_counts_in_the_header_are_refused(offset, tmp_path):
    data = bytearray(perf_samples.golden("file"))
    struct.pack_into("<Q", data, offset, 1 << 62)
    with pytest.raises(TraceError):
        perfdata.read(write(tmp_path, bytes(data)))


def test_feature_bits_of_a_32_bit_big_endian_machine():
    words = [0] * 8
    words[0] = 1 << perf_header.Feature.HOSTNAME | 1 << 1
    words[1] = 1 << 2
    bitmap = struct.pack(">8I", *words)
    assert perf_header._feature_bits(bitmap, "big") == [1, 3, 34]
