"""core/ring_walk.c against the writer of pages and the slow reference."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ring_pages import (
    MISSED_EVENTS,
    MISSED_STORED,
    PADDING,
    TIME_EXTEND,
    TIME_STAMP,
    Event,
    RingPages,
)

from foreread.analyzer.ingest import _readers
from foreread.analyzer.ingest.columns import PLACE
from foreread.analyzer.ingest.formats import SPEC
from foreread.analyzer.reference import ring_walk

PAGES = Path(__file__).parent / "data" / "ftrace" / "pages"
WANTED = (1, 600)
CPU = 5


def specs(ids=WANTED):
    array = np.zeros(len(ids), SPEC)
    array["id"] = ids
    return array


def walk(pages, data=None, ids=WANTED):
    """Return (time, offset, size) of the wanted records, lost events and gaps, from the C core."""
    data = pages.data if data is None else data
    arguments = (data, pages.layout, (0, len(data), CPU), specs(ids), pages.swap)
    records, lost, gaps = _readers.ring_walk(*arguments, None)
    places = np.empty(records, PLACE)
    assert _readers.ring_walk(*arguments, places) == (records, lost, gaps)
    assert (places["cpu"] == CPU).all()
    return [tuple(p) for p in places[["time_ns", "offset", "size"]].tolist()], lost, gaps


def reference(pages, data=None):
    return ring_walk.walk(pages.data if data is None else data, *pages.layout, pages.byte_order)


def wanted(found, data, pages):
    return [
        (r.time_ns, r.offset, r.size)
        for r in found.records
        if int.from_bytes(data[r.offset : r.offset + 2], pages.byte_order) in WANTED
    ]


LAYOUTS = st.builds(
    RingPages,
    byte_order=st.sampled_from(["little", "big"]),
    long_size=st.sampled_from([4, 8]),
    subbuf_size=st.sampled_from([256, 4096, 65536]),
)


@st.composite
def event_lists(draw):
    time, events = draw(st.integers(0, 1 << 58)), []
    steps = st.one_of(st.integers(0, 100), st.integers(0, 1 << 40))
    for step in draw(st.lists(steps, max_size=30)):
        time = (events[-1].time_ns + 1 if events and events[-1].discarded else time) + step
        # an id in either byte order, then anything
        head = draw(st.sampled_from([b"\x01\0", b"\0\x01", b"\x58\x02", b"\x02\x58", b"\x07\x07"]))
        data = head + draw(st.binary(max_size=180))
        events.append(Event(time, data, *draw(st.tuples(*[st.booleans()] * 3))))
        time = events[-1].time_ns
    return events


@given(LAYOUTS, event_lists())
def test_stored_entries_are_found(pages, events):
    written = pages.write(events)
    found = reference(pages)
    data = pages.data
    assert [(r.time_ns, data[r.offset : r.offset + r.size]) for r in found.records] == written
    assert walk(pages)[0] == wanted(found, data, pages)


@given(LAYOUTS, event_lists(), st.data())
def test_damaged_pages_end_alike_in_c_and_in_the_reference(pages, events, choose):
    pages.write(events)
    data = bytearray(pages.data)
    for _ in range(choose.draw(st.integers(1, 6))):
        if data:
            data[choose.draw(st.integers(0, len(data) - 1))] = choose.draw(st.integers(0, 255))
    compare(pages, bytes(data))


@given(LAYOUTS, st.binary(max_size=600))
def test_any_bytes_end_alike_in_c_and_in_the_reference(pages, noise):
    pages.subbuf_size = 64
    compare(pages, noise[: len(noise) // 64 * 64])


def compare(pages, data):
    try:
        found = reference(pages, data)
    except ring_walk.Damaged:
        with pytest.raises(_readers.ReaderError):
            walk(pages, data)
    else:
        assert walk(pages, data) == (wanted(found, data, pages), found.lost, found.gaps)


@pytest.mark.parametrize("cpu", [0, 1])
def test_real_pages_equal_the_reference(cpu):
    data = (PAGES / f"cpu{cpu}.raw").read_bytes()
    pages = RingPages()
    found = reference(pages, data)
    ids = tuple({int.from_bytes(data[r.offset : r.offset + 2], "little") for r in found.records})
    assert walk(pages, data, ids)[0] == [(r.time_ns, r.offset, r.size) for r in found.records]
    assert len(found.records) > 10


def test_absolute_time_takes_its_top_bits_from_the_time_before():
    pages, top = RingPages(), 0x50 << 56
    pages.subbuf(top + 100, pages.stamp(TIME_STAMP, 300) + pages.event(Event(0, b"\1\0\0\0"), 0))
    late = pages.stamp(TIME_STAMP, 50) + pages.event(Event(0, b"\1\0\0\0"), 0)
    pages.subbuf(top + 100, late)
    times = [time for time, _, _ in walk(pages)[0]]
    assert times == [top + 300, top + 50 + (1 << 59)]


def test_time_extend_goes_on_from_the_time_before():
    pages = RingPages()
    pages.subbuf(7, pages.stamp(TIME_EXTEND, 1 << 40) + pages.event(Event(0, b"\1\0\0\0"), 3))
    assert [time for time, _, _ in walk(pages)[0]] == [7 + (1 << 40) + 3]
    assert [record.time_ns for record in reference(pages).records] == [7 + (1 << 40) + 3]


def test_lost_events_are_counted_where_their_number_is_stored():
    pages = RingPages(long_size=4, byte_order="big")
    pages.subbuf(1, b"", MISSED_EVENTS | MISSED_STORED, missed=70_000)
    pages.subbuf(2, b"", MISSED_EVENTS)
    pages.subbuf(3, b"", MISSED_STORED, missed=9)  # stored without the flag: means nothing
    assert walk(pages) == ([], 70_000, 1)


def test_a_number_of_lost_events_without_room_is_a_gap():
    pages = RingPages(subbuf_size=64)
    body = pages.word(PADDING, 1) + pages.pack("I", 40) + bytes(36)
    pages.subbuf(1, body, MISSED_EVENTS | MISSED_STORED)
    assert len(body) == 44
    assert walk(pages) == ([], 0, 1)


def test_null_padding_ends_a_sub_buffer():
    pages = RingPages()
    pages.subbuf(1, pages.word(PADDING, 0) + pages.event(Event(0, b"\1\0\0\0"), 0))
    assert walk(pages)[0] == []


@pytest.mark.parametrize(
    ("body", "commit", "message"),
    [
        (b"\x01\0\0", 3, "ends inside"),
        (b"\x1c\0\0\0", 4, "ends inside"),  # 28 words, none there
        (b"\0\0\0\0\xff\xff\xff\xff", 8, "ends inside"),
        (bytes(8), 8, "ends inside"),  # a length that does not count itself
        (b"\0\0\0\0\x04\0\0\0", 8, "shorter than its event"),  # no id
        (b"\x1e\0\0\0", 4, "ends inside"),
        (b"\x3d\0\0\0\xff\xff\xff\x7f", 8, "ends inside"),
        (b"", 4081, "more data than"),
        (b"", (1 << 27) - 1, "more data than"),
    ],
)
def test_damage_is_an_error_with_its_place(body, commit, message):
    pages = RingPages()
    pages.subbuf(0, b"")
    page = pages.pack("QQ", 0, commit) + body
    pages.pages.append(page.ljust(4096, b"\0"))
    with pytest.raises(_readers.ReaderError, match=f"sub-buffer at byte 4096: .*{message}"):
        walk(pages)


@pytest.mark.parametrize("layout", [(0, 16, 8), (4096, 4096, 8), (4096, 15, 8), (4096, 16, 5)])
def test_impossible_layouts_are_refused(layout):
    with pytest.raises(_readers.ReaderError, match="layout"):
        _readers.ring_walk(bytes(4096), layout, (0, 4096, 0), specs(), False, None)


@pytest.mark.parametrize("stream", [(1, 4096, 0), (0, 8192, 0), (1 << 63, 1 << 63, 0), (0, 100, 0)])
def test_streams_outside_the_data_are_refused(stream):
    with pytest.raises(_readers.ReaderError):
        _readers.ring_walk(bytes(4096), (4096, 16, 8), stream, specs(), False, None)


def test_malformed_arrays_are_refused():
    def attempt(specs_, places):
        _readers.ring_walk(bytes(4096), (4096, 16, 8), (0, 4096, 0), specs_, False, places)

    good = np.empty(4, PLACE)
    for places in (np.empty(4, "u8"), np.empty((2, 2), PLACE), [], b"bytes"):
        with pytest.raises((TypeError, BufferError)):
            attempt(specs(), places)
    with pytest.raises((TypeError, ValueError, BufferError)):
        attempt(specs(), np.empty(8, PLACE)[::2])
    read_only = good.copy()
    read_only.flags.writeable = False
    with pytest.raises((BufferError, ValueError)):
        attempt(specs(), read_only)
    with pytest.raises(TypeError):
        attempt(np.empty(4, "u4"), good)


def test_too_few_places_are_an_error():
    pages = RingPages()
    pages.write([Event(n, b"\1\0\0\0") for n in range(3)])
    with pytest.raises(_readers.ReaderError, match="too few"):
        _readers.ring_walk(
            pages.data, pages.layout, (0, 4096, 0), specs(), False, np.empty(2, PLACE)
        )
