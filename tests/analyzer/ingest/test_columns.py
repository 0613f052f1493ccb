"""Merging and decoding against a slow reference; the checks at the border to C."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.ingest import _readers
from foreread.analyzer.ingest.columns import PLACE, decode, in_time_order
from foreread.analyzer.ingest.formats import SPEC
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.tables import EVENTS, Kind, Rwbs, Table

# An insert as a record: id, flags, preempt count, pid, ino, index, dev, order; then a request.
INSERT_LAYOUT, REQUEST_LAYOUT = "HBBiQQIB", "HBBiIQI8s"
SPECS = np.array(
    [
        (600, Kind.INSERT, 29, (4, 4, 1), [(24, 4, 0), (8, 8, 0), (16, 8, 0), (28, 1, 0)],
         (0, 0, 0)),
        (700, Kind.RQ_ISSUE, 32, (4, 4, 1), [(8, 4, 0), (0, 0, 0), (12, 8, 0), (20, 4, 0)],
         (24, 8, 0)),
    ],
    SPEC,
)  # fmt: skip

u64, u32 = st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1)
pids = st.integers(-(2**31), 2**31 - 1)
inserts = st.tuples(st.just(0), pids, u64, u64, u32, st.integers(0, 255))
letters = st.sampled_from([b"R", b"RA", b"RAM", b"WS", b"WFS", b"D", b"N", b"FF", b"RASMETA!"])
requests = st.tuples(st.just(1), pids, u32, u64, u32, letters)
# Few different times: ties are where a merge goes wrong.
events = st.tuples(st.integers(0, 20), inserts | requests)
runs = st.lists(st.lists(events, max_size=12), max_size=5)


def record(event, swap):
    spec, pid, *numbers = event
    layout = INSERT_LAYOUT if spec == 0 else REQUEST_LAYOUT
    prefix = "<" if (np.little_endian != swap) else ">"
    return struct.pack(prefix + layout, (600, 700)[spec], 0, 0, pid, *numbers)


def rwbs(text):
    bits = {"R": Rwbs.READ, "W": Rwbs.WRITE, "A": Rwbs.AHEAD, "M": Rwbs.META, "S": Rwbs.SYNC,
            "F": Rwbs.FLUSH, "D": Rwbs.DISCARD, "E": Rwbs.DISCARD}  # fmt: skip
    flags = 0
    for letter in text.decode():
        flags |= bits.get(letter, Rwbs.OTHER)
    return flags


def reference_row(time_ns, run, event):
    if event[0] == 0:
        _, pid, ino, index, dev, order = event
        return (time_ns, run, Kind.INSERT, pid, dev, ino, index, order, 0)
    _, pid, dev, sector, sectors, text = event
    return (time_ns, run, Kind.RQ_ISSUE, pid, dev, 0, sector, sectors, rwbs(text))


def reference(streams):
    """Sort by time, ties by run, then as they came; one row after the other."""
    rows = [(t, run, i, event) for run, s in enumerate(streams) for i, (t, event) in enumerate(s)]
    return [reference_row(t, run, event) for t, run, _, event in sorted(rows, key=lambda r: r[:3])]


def packed(streams, swap):
    data, places, starts = b"", [], [0]
    for run, stream in enumerate(streams):
        for time_ns, event in stream:
            raw = record(event, swap)
            places.append((time_ns, len(data), len(raw), run, event[0]))
            data += raw
        starts.append(len(places))
    return data, np.array(places, PLACE), np.array(starts, "u8")


@given(runs, st.booleans())
def test_merged_columns_are_those_of_the_reference(streams, swap):
    data, places, starts = packed(streams, swap)
    table = decode(data, places, starts, SPECS, swap)
    rows = list(zip(*(column.tolist() for column in table.values()), strict=True))
    assert rows == reference(streams)


@given(runs)
def test_places_in_time_order_keep_ties(streams):
    _, places, starts = packed(streams, False)
    ordered = in_time_order(places, starts)
    rows = reference(streams)
    assert list(zip(ordered["time_ns"].tolist(), ordered["cpu"].tolist(), strict=True)) == [
        row[:2] for row in rows
    ]


def one():
    return packed([[(5, (0, 1, 2, 3, 4, 5))]], False)


@pytest.mark.parametrize(
    ("field", "value"), [("offset", 1), ("offset", 2**64 - 8), ("size", 28), ("spec", 2)]
)
def test_place_outside_the_data_is_refused(field, value):
    data, places, starts = one()
    places[field] = value
    with pytest.raises(TraceError, match="do not fit"):
        decode(data, places, starts, SPECS, False)


@pytest.mark.parametrize("starts", [[0], [0, 2], [1, 1], [0, 2, 1]])
def test_runs_outside_the_places_are_refused(starts):
    data, places, _ = one()
    with pytest.raises(TraceError, match="runs"):
        decode(data, places, np.array(starts, "u8"), SPECS, False)


def test_specs_with_fields_outside_the_record_are_refused():
    data, places, starts = one()
    for field, value in (("length", 8), ("pid", (4, 3, 1))):
        specs = SPECS.copy()
        specs[field][0] = value
        with pytest.raises(TraceError, match="fields"):
            decode(data, places, starts, specs, False)
    with pytest.raises(TraceError, match="fields"):
        decode(data, places, starts, np.concatenate([SPECS, SPECS]), False)


def call(**changes):
    data, places, starts = one()
    columns = {name: np.zeros(1, c.dtype) for name, c in Table.empty(EVENTS, 1).items()}
    columns |= {k: v for k, v in changes.items() if k in columns}
    arguments = {"data": data, "places": places, "starts": starts, "specs": SPECS} | changes
    _readers.decode(
        arguments["data"], arguments["places"], arguments["starts"], arguments["specs"], False,
        tuple(columns.values()),
    )  # fmt: skip
    return columns


def test_a_right_call_is_accepted():
    columns = call()
    assert columns["time_ns"].tolist() != [0]


@pytest.mark.parametrize(
    "changes",
    [
        {"time_ns": np.zeros(1, "i8")},
        {"time_ns": np.zeros(1, ">u8")},
        {"cpu": np.zeros(1, "u4")},
        {"pid": np.zeros(1, "u4")},
        {"kind": np.zeros((1, 1), "u1")},
        {"value": np.zeros(1, "f8")},
        {"places": np.zeros(1, "u8")},
        {"places": np.zeros(1, [("a", "u8"), ("b", "u8")])},
        {"starts": np.zeros(2, "i8")},
        {"specs": np.zeros(1, "u1")},
        {"data": "text"},
        {"time_ns": np.frombuffer(bytearray(16), "u1")[1:9].view("u8")},
        {"places": np.frombuffer(bytearray(32), "u1")[4:28].view(PLACE)},
    ],
)
def test_wrong_types_are_refused(changes):
    with pytest.raises(TypeError):
        call(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"flags": np.zeros(2, "u2")},
        {"places": np.zeros(4, PLACE)[::2]},
        {"starts": np.zeros(0, "u8")},
    ],
)
def test_wrong_lengths_and_strides_are_refused(changes):
    with pytest.raises((ValueError, BufferError)):
        call(**changes)


def test_read_only_columns_are_refused():
    column = np.zeros(1, "u8")
    column.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        call(index=column)


def test_too_few_rows_are_refused():
    with pytest.raises(_readers.ReaderError, match="too few rows"):
        empty = tuple(Table.empty(EVENTS, 0).values())
        data, places, starts = one()
        _readers.decode(data, places, starts, SPECS, False, empty)


def test_every_error_code_has_a_message():
    messages = _readers.error_messages()
    assert len(set(messages)) == len(messages)
    assert "unknown error" not in messages
