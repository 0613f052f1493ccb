"""Perfetto traces, parsed back with Perfetto's own schema."""

import sys
from collections import Counter, defaultdict

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from foreread.analyzer.export.events import Track
from foreread.analyzer.export.lanes import rows_of
from foreread.analyzer.export.perfetto import perfetto_of
from foreread.analyzer.ingest.tables import MissingLibrary


@pytest.fixture(scope="module")
def packets(exported):
    return Trace.FromString(perfetto_of(exported)).packet


def test_every_track_is_described_before_its_events(packets, exported):
    known = {0}
    for packet in packets:
        if packet.HasField("track_descriptor"):
            assert packet.track_descriptor.parent_uuid in known
            known.add(packet.track_descriptor.uuid)
        else:
            assert packet.track_event.track_uuid in known
    runs = [
        packet.track_descriptor.process.process_name
        for packet in packets
        if packet.track_descriptor.HasField("process")
    ]
    assert runs == list(exported.runs)


def test_slices_of_a_track_end_before_the_next_begins(packets):
    stacks, last = defaultdict(int), {}
    for packet in packets:
        event = packet.track_event
        if event.type in (TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END):
            assert packet.timestamp >= last.get(event.track_uuid, 0)
            last[event.track_uuid] = packet.timestamp
            stacks[event.track_uuid] += 1 if event.type == TrackEvent.TYPE_SLICE_BEGIN else -1
            assert stacks[event.track_uuid] in (0, 1)
    assert stacks
    assert not any(stacks.values())


def test_every_event_is_there(packets, exported):
    kinds = Counter(packet.track_event.type for packet in packets)
    unused = sum(len(rows_of(exported, run, Track.UNUSED)) for run in range(3))
    assert kinds[TrackEvent.TYPE_COUNTER] == unused > 0
    found = kinds[TrackEvent.TYPE_SLICE_BEGIN] + kinds[TrackEvent.TYPE_INSTANT]
    assert found == exported.events.rows


def test_hostile_names_are_text(hostile):
    names = {packet.track_event.name for packet in Trace.FromString(perfetto_of(hostile)).packet}
    assert "/tmp/undecodable\\xff" in names
    assert all(name.isprintable() for name in names)


def test_without_the_package_the_remedy_names_the_extra(hostile, monkeypatch):
    monkeypatch.setitem(sys.modules, "perfetto.trace_builder.proto_builder", None)
    with pytest.raises(MissingLibrary) as caught:
        perfetto_of(hostile)
    assert caught.value.remedy == "pip install 'foreread[perfetto]'"
