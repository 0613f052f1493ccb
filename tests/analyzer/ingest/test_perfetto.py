"""Perfetto traces against the ftrace events that they were made from."""

import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import descriptor_pb2
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from foreread.analyzer.ingest import perfetto, tracedat
from foreread.analyzer.ingest.detect import open_trace
from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.recording import SeenWindows, TraceError
from foreread.analyzer.ingest.tables import Kind, MissingLibrary
from foreread.tracer.formats.limits import LimitError

DATA = Path(__file__).parent / "data"
LEFT_OUT = (Kind.FAULT, Kind.GET_PAGES, Kind.MAP_PAGES, Kind.RA_SYNC, Kind.RA_UNBOUNDED)
PAGES = (Kind.INSERT, Kind.DELETE)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("start", "ftrace/v7-zstd.trace.dat"),
        ("compressed", "ftrace/v7-zstd.trace.dat"),
        ("sched", "sched/v7.trace.dat"),
    ],
)
def test_the_events_are_those_that_were_recorded(name, source):
    found = open_trace(DATA / f"perfetto/{name}.pftrace")
    expected = tracedat.read(DATA / source).events
    expected = expected.take(~np.isin(expected["kind"], LEFT_OUT))
    assert found.format == "Perfetto"
    assert (found.kernel, found.page_size) == ("6.18.44", 4096)
    assert found.events.rows == expected.rows > 0
    for column in expected:
        rows = np.ones(expected.rows, bool)
        if column == "value":  # the schema lacks the order of folios
            rows = ~np.isin(expected["kind"], PAGES)
        order = np.argsort(expected["time_ns"], kind="stable")
        assert (found.events[column][rows[order]] == expected[column][order][rows[order]]).all()


def test_a_capture_of_it_has_accesses_and_requests():
    recording = load(DATA / "perfetto/start.pftrace")
    assert recording.accesses.rows == 10
    assert recording.requests.rows == 4
    assert any("order of folios" in note for note in recording.notes)


def written(tmp_path, fill):
    builder = TraceProtoBuilder()
    fill(builder)
    path = tmp_path / "trace"
    path.write_bytes(builder.serialize())
    return path


def test_lost_events_and_large_minors_are_kept(tmp_path):
    def fill(builder):
        bundle = builder.add_packet().ftrace_events
        bundle.cpu, bundle.lost_events = 3, True
        event = bundle.event.add()
        event.timestamp = 7
        event.mm_filemap_add_to_page_cache.s_dev = (254 << 8) | 0x12 | (0x34500 << 12)

    trace = perfetto.read(written(tmp_path, fill))
    assert trace.lost == {3: 1}
    assert trace.events["dev"].tolist() == [254 << 20 | 0x34512]


def test_compact_scheduler_events_are_named_in_a_note(tmp_path):
    def fill(builder):
        bundle = builder.add_packet().ftrace_events
        bundle.compact_sched.switch_timestamp.append(1)
        bundle.event.add().mm_filemap_add_to_page_cache.index = 1

    assert any("compact" in note for note in perfetto.read(written(tmp_path, fill)).notes)


def test_a_trace_without_ftrace_events_is_refused(tmp_path):
    path = written(tmp_path, lambda builder: builder.add_packet().SetInParent())
    with pytest.raises(TraceError, match="no ftrace event") as caught:
        perfetto.read(path)
    assert "ftrace_events" in caught.value.remedy


def test_compressed_packets_do_not_nest(tmp_path):
    def fill(builder):
        inner = TraceProtoBuilder()
        inner.add_packet().compressed_packets = zlib.compress(b"")
        builder.add_packet().compressed_packets = zlib.compress(inner.serialize())

    with pytest.raises(TraceError, match="within compressed packets"):
        perfetto.read(written(tmp_path, fill))


def test_what_expands_beyond_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(perfetto, "MOST_TRACE_BYTES", 1000)

    def fill(builder):
        builder.add_packet().compressed_packets = zlib.compress(bytes(5000))

    with pytest.raises(LimitError):
        perfetto.read(written(tmp_path, fill))


def test_any_prefix_is_read_or_refused(tmp_path):
    data = (DATA / "perfetto/sched.pftrace").read_bytes()
    path = tmp_path / "prefix"
    read = refused = 0
    for length in range(1, len(data), 97):
        path.write_bytes(data[:length])
        try:
            read += perfetto.read(path).events.rows > 0
        except TraceError:
            refused += 1
    assert refused > 20
    assert read <= 2  # only where a packet ends


@pytest.mark.parametrize(
    "head", [b"", b"\n", b"\n\n\n", b"\n\x05hello\n", b"\x0a\xff\xff\xff\xff\xff"]
)
def test_other_data_is_not_taken_for_a_trace(head):
    assert not perfetto.begins(head)


def test_without_the_package_the_remedy_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "perfetto.protos.perfetto.trace.perfetto_trace_pb2", None)
    with pytest.raises(MissingLibrary) as caught:
        perfetto.read(DATA / "perfetto/start.pftrace")
    assert caught.value.remedy == "pip install 'foreread[perfetto]'"


FAULT = {"i_ino": 0x2A, "s_dev": 8 << 8 | 1, "index": 7}
PAGES_READ = {**FAULT, "last_index": 9}


def varint(number):
    groups = []
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])


def add_generic(event, name, values):
    """As traced_probes did before v53."""
    event.generic.event_name = name
    for key, value in values.items():
        field = event.generic.field.add()
        field.name, field.uint_value = key, value


def add_described(bundle, event, name, values, number=65536):
    """As traced_probes does since v53: a message that the bundle describes."""
    described = bundle.generic_event_descriptors.add()
    described.field_id, described.group_name = number, "filemap"
    message = descriptor_pb2.DescriptorProto(name=name)
    for place, key in enumerate(values, 1):
        message.field.add(name=key, number=place)
    described.event_descriptor = message.SerializeToString()
    content = b"".join(varint(at << 3) + varint(v) for at, v in enumerate(values.values(), 1))
    event.MergeFromString(varint(number << 3 | 2) + varint(len(content)) + content)


@pytest.mark.parametrize("form", ["generic", "described"])
@pytest.mark.parametrize(
    ("name", "values", "kind", "last"),
    [
        ("mm_filemap_fault", FAULT, Kind.FAULT, 0),
        ("mm_filemap_get_pages", PAGES_READ, Kind.GET_PAGES, 9),
        ("mm_filemap_map_pages", PAGES_READ, Kind.MAP_PAGES, 9),
        ("page_cache_sync_ra", {**FAULT, "req_count": 4}, Kind.RA_SYNC, 4),
    ],
)
def test_events_that_the_schema_lacks_are_read_by_name(tmp_path, form, name, values, kind, last):
    def fill(builder):
        bundle = builder.add_packet().ftrace_events
        bundle.cpu = 1
        event = bundle.event.add()
        event.timestamp, event.pid = 5, 77
        if form == "generic":
            add_generic(event, name, values)
        else:
            add_described(bundle, event, name, values)

    trace = open_trace(written(tmp_path, fill))
    row = [trace.events[column].tolist() for column in trace.events]
    assert row == [[5], [1], [kind], [77], [8 << 20 | 1], [0x2A], [7], [last], [0]]
    assert trace.unread == 0


@pytest.mark.parametrize("form", ["generic", "described"])
@pytest.mark.parametrize("name", ["page_cache_sync_ra", "page_cache_ra_order"])
def test_the_window_is_read_from_events_that_the_schema_lacks(tmp_path, form, name):
    def fill(builder):
        bundle = builder.add_packet().ftrace_events
        bundle.event.add().sched_process_exit.pid = 1
        values = {**FAULT, "req_count": 4, "ra_pages": 32}
        if form == "generic":
            add_generic(bundle.event.add(), name, values)
        else:
            add_described(bundle, bundle.event.add(), name, values)

    assert open_trace(written(tmp_path, fill)).windows == SeenWindows(name, {8 << 20 | 1: 32})


@pytest.mark.parametrize("form", ["generic", "described"])
def test_needed_events_without_a_field_are_counted(tmp_path, form):
    values = {"s_dev": 1, "index": 2}

    def fill(builder):
        bundle = builder.add_packet().ftrace_events
        event = bundle.event.add()
        event.sched_process_exit.pid = 1
        if form == "generic":
            add_generic(bundle.event.add(), "mm_filemap_fault", values)
            add_generic(bundle.event.add(), "f2fs_unlink_enter", values)
        else:
            add_described(bundle, bundle.event.add(), "mm_filemap_fault", values)
            add_described(bundle, bundle.event.add(), "f2fs_unlink_enter", values, 65537)

    trace = open_trace(written(tmp_path, fill))
    assert (trace.events.rows, trace.unread) == (1, 1)
    assert any("1 needed event could not be read" in note for note in trace.notes)


def test_damaged_descriptions_are_passed_over(tmp_path):
    def fill(builder):
        bundle = builder.add_packet().ftrace_events
        bundle.event.add().sched_process_exit.pid = 1
        add_described(bundle, bundle.event.add(), "mm_filemap_fault", FAULT)
        bundle.generic_event_descriptors[0].event_descriptor = b"\xff\xff\xff"

    assert open_trace(written(tmp_path, fill)).events.rows == 1
