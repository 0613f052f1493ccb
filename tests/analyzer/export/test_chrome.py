"""Trace events as JSON."""

import json
from collections import defaultdict
from itertools import pairwise

import pytest

from foreread.analyzer.export.chrome import chrome_of
from foreread.analyzer.export.events import Track
from foreread.analyzer.export.lanes import rows_of


@pytest.mark.thorough
def test_slices_of_a_lane_nest(exported):
    lanes = defaultdict(list)
    for event in json.loads(chrome_of(exported))["traceEvents"]:
        if event["ph"] == "X":
            begin = round(event["ts"] * 1000)
            end = begin + round(event["dur"] * 1000)
            lanes[event["pid"], event["tid"]].append((begin, end))
    assert len(lanes) > 6
    for slices in lanes.values():
        slices.sort()
        for (_, end), (begin, _) in pairwise(slices):
            assert begin >= end


def test_every_event_is_there(exported):
    events = json.loads(chrome_of(exported))["traceEvents"]
    for run in range(3):
        own = [event for event in events if event["pid"] == run + 1]
        rows = {track: rows_of(exported, run, track) for track in Track}
        slices = sum(event["ph"] == "X" for event in own)
        instants = sum(event["ph"] == "i" for event in own)
        assert slices + instants == sum(map(len, rows.values()))
        total = [event["args"]["pages"] for event in own if event["ph"] == "C"]
        assert (total or [0])[-1] == exported.events["pages"][rows[Track.UNUSED]].sum()
    names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == set(exported.runs)


def test_hostile_names_are_text(hostile):
    text = chrome_of(hostile)
    assert b"<" not in text
    assert all(0x20 <= byte < 0x7F or byte == 0x0A for byte in text)
    names = {event["name"] for event in json.loads(text)["traceEvents"]}
    assert "</script><img src=x onerror=alert(1)>" in names
    assert '/tmp/a"b,c\\nd\\x1b]0;x\\x07' in names
