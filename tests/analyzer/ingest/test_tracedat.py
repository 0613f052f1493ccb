"""trace.dat v6 and v7 against libtracecmd's rows, other machines' files, and damage."""

import random
from pathlib import Path

import numpy as np
import pytest
from property_tests import examples
from ring_pages import MISSED_EVENTS, MISSED_STORED, Event, RingPages
from tracedat_files import (
    BUFFER_TEXT,
    CPUCOUNT,
    CPUSTAT,
    DATE,
    OFFSET,
    TRACECLOCK,
    TSC2NSEC,
    UNAME,
    TraceDat,
    insert,
    insert_format,
    small,
)

from foreread.analyzer.ingest import _readers, tracedat, tracedat_container, tracedat_layout
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.tables import Kind

FIXTURES = Path(__file__).parent / "data" / "ftrace"
FILES = ("v6", "v7-none", "v7-zstd", "v6-instance", "v7-instance")
MACHINES = [(order, size) for order in ("little", "big") for size in (4, 8)]
TSV_COLUMNS = ("time_ns", "cpu", "kind", "pid", "dev", "ino", "index", "value")


def fixture(name):
    return (FIXTURES / f"{name}.trace.dat").read_bytes()


def decode(data):
    return tracedat.decode(memoryview(data))


def rows(table):
    return list(zip(*(table[name].tolist() for name in TSV_COLUMNS), strict=True))


@pytest.mark.parametrize("name", FILES)
def test_rows_equal_those_of_libtracecmd(name):
    lines = (FIXTURES / f"{name}.tsv").read_text().splitlines()
    expected = [tuple(map(int, line.split("\t"))) for line in lines]
    trace = tracedat.read(FIXTURES / f"{name}.trace.dat")
    assert rows(trace.events) == expected
    assert trace.format == f"trace.dat {name[:2]}"
    assert (trace.page_size, trace.kernel) == (4096, "6.18.44-fc-v595")
    assert trace.lost == {}
    assert trace.notes == ()
    assert "filemap:mm_filemap_fault" in trace.event_names


def test_both_buffers_are_merged_by_time():
    file = small()
    extra = RingPages()
    extra.write([Event(1700, insert(file.pages, 50, 9, 3))])
    file.instances["other"] = {1: extra.data}
    for file.version in (6, 7):
        events = decode(file.build()).events
        assert events["time_ns"].tolist() == [1000, 1500, 1700, 2000]
        assert events["pid"].tolist() == [40, 41, 50, 40]


@pytest.mark.parametrize(("order", "size"), MACHINES)
@pytest.mark.parametrize("version", [6, 7])
@pytest.mark.parametrize("compression", ["none", "zlib"])
def test_files_of_other_machines(order, size, version, compression):
    file = small(version, order, size)
    file.compression = compression
    trace = decode(file.build())
    events = trace.events
    assert events["time_ns"].tolist() == [1000, 1500, 2000]
    assert events["cpu"].tolist() == [0, 1, 0]
    assert events["pid"].tolist() == [40, 41, 40]
    assert events["dev"].tolist() == [8 << 20] * 3
    assert events["ino"].tolist() == [9] * 3
    assert events["index"].tolist() == [10, 15, 20]
    assert events["value"].tolist() == [2] * 3
    assert (events["kind"] == Kind.INSERT).all()


def test_a_real_file_repacked_with_zlib_reads_the_same():
    container = tracedat_layout.parse(memoryview(fixture("v7-zstd")))
    texts = {}
    for name, text in container.texts.items():
        texts.setdefault(name.partition(":")[0], []).append(text)
    file = TraceDat(7, compression="zlib", formats=texts)
    for cpu in container.buffers[0].cpus:
        block = container.data[cpu.offset :]
        target = np.empty(_readers.inflate_chunks("zstd", block, False, None), "u1")
        _readers.inflate_chunks("zstd", block, False, target)
        file.cpus[cpu.cpu] = target.tobytes()
    assert rows(decode(file.build()).events) == rows(decode(fixture("v7-zstd")).events)


@pytest.mark.parametrize("size", [16384, 65536])
def test_large_pages_and_sub_buffers(size):
    pages = RingPages(subbuf_size=size)
    pages.write([Event(n, insert(pages, 1, 2, n)) for n in range(1000)])
    texts = {"filemap": [insert_format(8, page_shift=16)]}
    for version in (6, 7):
        file = TraceDat(version, RingPages(subbuf_size=size), {0: pages.data}, formats=texts)
        trace = decode(file.build())
        assert trace.events["index"].tolist() == list(range(1000))
        assert trace.page_size == 65536


def test_fields_on_demand():
    trace = decode(fixture("v7-zstd"))
    found = trace.read_fields("sched:sched_process_exec", ("filename", "pid"))
    execs = trace.events.take(trace.events["kind"] == Kind.EXEC)
    assert found["time_ns"].tolist() == execs["time_ns"].tolist()
    assert found["pid"].tolist() == execs["pid"].tolist()
    assert b"/usr/bin/busybox" in found["filename"].tolist()
    with pytest.raises(TraceError, match="no event"):
        trace.read_fields("sched:nothing", ())
    with pytest.raises(TraceError, match="no field"):
        trace.read_fields("sched:sched_process_exec", ("nothing",))


def test_options_of_both_versions():
    stats = b"CPU: 1\nentries: 0\noverrun: 12\ncommit overrun: 1\ndropped events: 30\n\0"
    for version in (6, 7):
        file = small(version)
        file.options = [
            (UNAME, b"Linux board 4.19.0 armv7l\0"),
            (CPUSTAT, stats),
            (DATE, b"0x10\0"),
            (OFFSET, b"-7\0"),
            (99, b"of the future"),
        ]
        trace = decode(file.build())
        assert trace.kernel == "4.19.0"
        assert trace.lost == {1: 43}
        assert trace.events["time_ns"].tolist() == [t + 16_000 - 7 for t in (1000, 1500, 2000)]


def test_losses_in_pages_and_statistics_are_the_same_events():
    file = small()
    lossy = RingPages()
    lossy.subbuf(5, b"", MISSED_EVENTS | MISSED_STORED, missed=20)
    lossy.subbuf(6, b"", MISSED_EVENTS)
    file.cpus[2] = lossy.data
    file.options = [(CPUSTAT, b"CPU: 2\noverrun: 5\n\0"), (CPUSTAT, b"CPU: 0\noverrun: 3\n\0")]
    trace = decode(file.build())
    assert trace.lost == {0: 3, 2: 21}
    assert any("1 gaps" in note for note in trace.notes)


def test_ticks_become_nanoseconds():
    file = small()
    file.options = [(TSC2NSEC, file.pack("IIQ", 3 << 30, 31, 0))]
    file.clock = "x86-tsc"
    trace = decode(file.build())
    assert trace.events["time_ns"].tolist() == [1500, 2250, 3000]
    found = trace.read_fields("filemap:mm_filemap_add_to_page_cache", ("index",))
    assert found["time_ns"].tolist() == [1500, 2250, 3000]


@pytest.mark.parametrize("ticks", [0, 1, (1 << 32) - 1, 1 << 32, (1 << 63) + 12345])
def test_scaling_equals_that_with_long_numbers(ticks):
    time = np.array([ticks], "u8")
    tracedat._scale(time, tracedat_container.TscToNs(2_863_311_531, 32))
    assert time[0] == (ticks * 2_863_311_531 >> 32) % (1 << 64)


@pytest.mark.parametrize(
    ("clock", "note"), [("local", "approximate"), ("counter", "ticks"), ("global", "global")]
)
def test_other_clocks_are_said(clock, note):
    file = small(7)
    file.clock = clock
    assert note in " ".join(decode(file.build()).notes)
    file = small(6)
    file.options = [(TRACECLOCK, f"mono [{clock}] tai\0".encode())]
    assert note in " ".join(decode(file.build()).notes)


def test_a_file_without_wanted_events_is_read():
    file = small()
    file.formats = {"sched": [insert_format(8).replace(b"mm_filemap_add_to_page_cache", b"x")]}
    trace = decode(file.build())
    assert trace.events.rows == 0
    assert trace.event_names == {"sched:x"}


def test_unreadable_input_is_refused_with_a_remedy():
    refused = {
        "latency": small().build().replace(b"flyrecord\0", b"latency  \0"),
        "version b'5'": b"\x17\x08\x44tracing5\0" + small().build()[12:],
        "'lzma'": small(7).build().replace(b"none\0", b"lzma\0"),
        "impossible long size": small().build()[:13] + b"\5" + small().build()[14:],
    }
    only_text = small(7)
    only_text.options = [(BUFFER_TEXT, only_text.pack("Q", 0) + b"\0mono\0")]
    found = only_text.build()
    assert decode(found).events.rows == 3  # text beside a buffer of pages is no harm
    for message, data in refused.items():
        with pytest.raises(TraceError, match=message) as caught:
            decode(data)
        assert caught.value.remedy


def test_gigantic_counts_and_sizes_are_refused():
    def with_option(number, value):
        file = small()
        file.options = [(number, value)]
        return file.build()

    with pytest.raises(TraceError, match="impossible count"):
        decode(with_option(CPUCOUNT, b"\xff\xff\xff\xff"))
    with pytest.raises(TraceError, match="damaged or was cut off"):
        decode(with_option(CPUCOUNT, b"\xff\xff\0\0"))
    with pytest.raises(TraceError, match="shift"):
        decode(with_option(TSC2NSEC, b"\1\0\0\0\x40\0\0\0" + bytes(8)))
    bomb = small(7)
    bomb.compression = "zlib"
    packed = bomb.chunks(bytes(8192))
    forged = packed[:8] + bomb.pack("I", 0xFFFFFFFF) + packed[12:]
    with pytest.raises(TraceError, match=r"claim to expand|damaged"):
        decode(bomb.build().replace(bomb.chunks(bomb.cpus[0]), forged))


def test_options_that_follow_themselves_are_refused():
    file = small(7)
    data = file.build()
    start = tracedat_layout.parse(memoryview(data))
    assert start.version == 7
    at = data.rindex(file.option(0, file.pack("Q", 0)))
    options_at = int.from_bytes(data[len(file.head()) + 9 :][:8], "little")
    looped = data[:at] + file.option(0, file.pack("Q", options_at)) + data[at + 14 :]
    with pytest.raises(TraceError, match="follow themselves"):
        decode(looped)


def refused_or_shorter(data, whole):
    """A cut file is refused, or what is left of it is read."""
    try:
        assert decode(data).events.rows <= whole
    except TraceError as error:
        assert error.remedy


@pytest.mark.parametrize("version", [6, 7])
@pytest.mark.parametrize("compression", ["none", "zlib"])
def test_every_truncation_is_refused(version, compression):
    file = small(version)
    file.compression = compression
    data = file.build()
    for length in range(len(data)):
        with pytest.raises(TraceError):
            decode(data[:length])


@pytest.mark.parametrize("name", FILES)
def test_truncations_of_real_files(name):
    data = fixture(name)
    whole = decode(data).events.rows
    for length in range(0, len(data), 61):
        refused_or_shorter(data[:length], whole)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["v6", "v7-zstd"])
def test_flipped_bits_give_a_result_or_an_error(name):
    data, choose = fixture(name), random.Random(name)
    for _ in range(examples(60)):
        damaged = bytearray(data)
        damaged[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
        try:
            decode(bytes(damaged))
        except TraceError as error:
            assert error.remedy


def test_an_empty_file_is_refused(tmp_path):
    empty = tmp_path / "trace.dat"
    empty.touch()
    with pytest.raises(TraceError, match="empty"):
        tracedat.read(empty)


def test_blocks_expand_into_their_size_and_no_other():
    import zlib

    packed = zlib.compress(b"abc" * 100)
    target = np.empty(300, "u1")
    _readers.inflate("zlib", packed, target)
    assert target.tobytes() == b"abc" * 100
    for wrong in (299, 301):
        with pytest.raises(_readers.ReaderError):
            _readers.inflate("zlib", packed, np.empty(wrong, "u1"))
    for method in ("zstd", "lz4", "none"):
        with pytest.raises(_readers.ReaderError):
            _readers.inflate(method, packed, target)
    with pytest.raises(TypeError):
        _readers.inflate("zlib", packed, np.empty(300, "u2"))
    with pytest.raises((BufferError, TypeError, ValueError)):
        _readers.inflate("zlib", packed, bytes(300))
