"""core/ring_decode.c, block by block, against walk, sort and decode in one piece."""

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ring_pages import Event, RingPages
from tracedat_files import TraceDat, insert

from foreread.analyzer.ingest import _readers, tracedat
from foreread.analyzer.ingest.columns import PLACE, decode
from foreread.analyzer.ingest.formats import SPEC
from foreread.analyzer.ingest.tables import EVENTS, Table

ID, CHUNK_PAGES = 77, 2
Source = tuple[int, int, int, tuple[int, int, int], str]


def specs():
    array = np.zeros(1, SPEC)
    array["id"], array["kind"], array["length"] = ID, 1, 12
    array["pid"] = (4, 4, 1)
    array["numeric"]["offset"][0, 2], array["numeric"]["size"][0, 2] = 8, 4
    return array


def chunks(pages):
    parts = [
        b"".join(pages.pages[at : at + CHUNK_PAGES])
        for at in range(0, len(pages.pages), CHUNK_PAGES)
    ]
    out = pages.pack("I", len(parts))
    for part in parts:
        packed = zlib.compress(part)
        out += pages.pack("II", len(packed), len(part)) + packed
    return out


def sources(cpus, packed):
    data, found = b"", []
    for cpu, pages in enumerate(cpus):
        blob = chunks(pages) if packed else pages.data
        found.append((len(data), len(blob), cpu, pages.layout, "zlib" if packed else "none"))
        data += blob
    return data, tuple(found)


def at_once(cpus, packed, rows):
    data, found = sources(cpus, packed)
    table = Table.empty(EVENTS, rows)
    swap = cpus[0].swap
    decoded = _readers.ring_decode(data, found, specs(), swap, tuple(table.values()))
    return table.take(np.arange(decoded[0])) if decoded else None


def in_one_piece(cpus):
    data, found = sources(cpus, packed=False)
    places, starts = [np.empty(0, PLACE)], [0]
    for offset, size, cpu, layout, _ in found:
        arguments = (data, layout, (offset, size, cpu), specs(), cpus[0].swap)
        run = np.empty(_readers.ring_walk(*arguments, None)[0], PLACE)
        _readers.ring_walk(*arguments, run)
        places.append(run)
        starts.append(starts[-1] + len(run))
    return decode(data, np.concatenate(places), np.array(starts, "u8"), specs(), cpus[0].swap)


def equal(a, b):
    return all(np.array_equal(a[name], b[name]) for name in a)


def events(pages, times, pid):
    return [Event(t, pages.pack("HBBiI", ID, 0, 0, pid, i)) for i, t in enumerate(times)]


MACHINES = st.builds(
    dict,
    byte_order=st.sampled_from(["little", "big"]),
    long_size=st.sampled_from([4, 8]),
    subbuf_size=st.just(128),
)
TIMES = st.lists(st.integers(0, 40), max_size=40).map(sorted)  # many ties


@given(MACHINES, st.lists(TIMES, min_size=1, max_size=4), st.booleans())
def test_blocks_and_one_piece_are_equal(machine, times, packed):
    cpus = [RingPages(**machine) for _ in times]
    for pid, (pages, of_cpu) in enumerate(zip(cpus, times, strict=True)):
        pages.write(events(pages, of_cpu, pid))
    rows = sum(map(len, times))
    found = at_once(cpus, packed, rows)
    assert found is not None
    assert found.rows == rows
    assert equal(found, in_one_piece(cpus))


@pytest.mark.parametrize("packed", [False, True])
def test_many_blocks_of_many_cpus(packed):
    cpus = [RingPages(subbuf_size=4096) for _ in range(9)]
    for number, pages in enumerate(cpus):
        pages.write(events(pages, list(range(number, 90_000, 7 + number)), number))
    assert max(len(pages.data) for pages in cpus) > 3 * 65536  # several blocks a CPU
    found = at_once(cpus, packed, 90_000)
    assert found is not None
    assert (np.diff(found["time_ns"].astype("i8")) >= 0).all()
    assert equal(found, in_one_piece(cpus))


@pytest.mark.parametrize("packed", [False, True])
def test_a_clock_that_goes_back_is_reported(packed):
    within, between = RingPages(), RingPages()
    within.subbuf(100, within.event(events(within, [0], 1)[0], 5))
    within.subbuf(90, within.event(events(within, [0], 1)[0], 5))
    for time in (100, 101, 102, 50):  # chunks of two
        between.subbuf(time, between.event(events(between, [0], 1)[0], 0))
    for pages in (within, between):
        assert at_once([pages], packed, 10) is None


@pytest.mark.parametrize("compression", ["none", "zlib"])
def test_a_file_whose_clock_goes_back_is_sorted(compression):
    pages, other = RingPages(), RingPages()
    for time in (500, 300, 400):
        pages.write([Event(time, insert(pages, 1, 2, time))])
    other.write([Event(350, insert(other, 1, 2, 350))])
    file = TraceDat(7, RingPages(), {0: pages.data, 1: other.data}, compression=compression)
    trace = tracedat.decode(memoryview(file.build()))
    assert trace.events["index"].tolist() == [300, 350, 400, 500]
    assert trace.events["cpu"].tolist() == [0, 1, 0, 0]


def test_losses_are_reported_by_source():
    lossy, calm = RingPages(), RingPages()
    lossy.subbuf(1, b"", 3 << 30, missed=7)
    lossy.subbuf(2, b"", 1 << 31)
    calm.subbuf(1, b"")
    data, found = sources([calm, lossy], packed=False)
    columns = tuple(Table.empty(EVENTS, 1).values())
    assert _readers.ring_decode(data, found, specs(), False, columns) == (0, [(0, 0), (7, 1)])


def test_no_sources_give_no_rows():
    columns = tuple(Table.empty(EVENTS, 0).values())
    assert _readers.ring_decode(b"", (), specs(), False, columns) == (0, [])


def attempt(data, found, rows=100):
    columns = tuple(Table.empty(EVENTS, rows).values())
    _readers.ring_decode(data, found, specs(), False, columns)


def test_errors_name_cpu_and_sub_buffer():
    pages = RingPages()
    for _ in range(40):
        pages.subbuf(1, b"")
    pages.pages.append(pages.pack("QQ", 1, 5000).ljust(4096, b"\0"))
    for packed in (False, True):
        data, found = sources([RingPages(), pages], packed)
        with pytest.raises(_readers.ReaderError, match=f"CPU 1, sub-buffer at byte {40 * 4096}:"):
            attempt(data, found)


def test_malformed_arguments_are_refused():
    pages = RingPages()
    pages.write(events(pages, [1, 2, 3], 1))
    data, (good,) = sources([pages], packed=False)
    attempt(data, (good,), rows=3)
    with pytest.raises(_readers.ReaderError, match="too few rows"):
        attempt(data, (good,), rows=2)
    offset, size, cpu, layout, _ = good
    for bad in [(offset, size + 1, cpu, layout, "none"), (1 << 63, size, cpu, layout, "none")]:
        with pytest.raises(_readers.ReaderError, match="outside"):
            attempt(data, (bad,))
    for method in ("zlib", "zstd", "lz4"):
        with pytest.raises(_readers.ReaderError):
            attempt(data, ((offset, size, cpu, layout, method),))
    with pytest.raises(_readers.ReaderError, match="layout"):
        attempt(data, ((offset, size, cpu, (0, 16, 8), "none"),))
    for shape in ((good[:4],), (None,), [good]):
        with pytest.raises(TypeError):
            attempt(data, shape)
    with pytest.raises((TypeError, ValueError)):
        columns = list(Table.empty(EVENTS, 3).values())
        columns[0] = columns[0][:2]
        _readers.ring_decode(data, (good,), specs(), False, tuple(columns))


def test_a_chunk_that_expands_to_another_size_is_refused():
    pages = RingPages()
    pages.write(events(pages, [1, 2, 3], 1))
    packed = zlib.compress(pages.data)
    for size in (len(pages.data) - 4096, len(pages.data) + 4096):
        data = struct.pack("<III", 1, len(packed), size) + packed
        with pytest.raises(_readers.ReaderError, match="compressed data"):
            attempt(data, ((0, len(data), 0, pages.layout, "zlib"),))
