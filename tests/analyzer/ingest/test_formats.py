import os
import resource
import signal
import struct
from pathlib import Path

import numpy as np
import perf_samples
import pytest

from foreread.analyzer.ingest import _readers, perf_header, tracing_data
from foreread.analyzer.ingest.formats import Formats, event_id
from foreread.analyzer.ingest.load import load_any
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.spec import EventSpec
from foreread.analyzer.ingest.tables import Kind

FTRACE = Path(__file__).parent / "data" / "ftrace"
INSERT = "filemap:mm_filemap_add_to_page_cache"
COMMON = b"""\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
"""


def text(own, name=b"mm_filemap_add_to_page_cache", number=77):
    head = b"name: %s\nID: %d\nformat:\n" % (name, number)
    return head + COMMON + b"\n" + own + b'\nprint fmt: "%lx", REC->i_ino\n'


# TRACE_EVENT in include/trace/events/filemap.h of 3.10 as a 32-bit kernel lays it out: the page's
# address instead of its pfn, no order, unsigned long of 4 bytes.
OLD_32_BIT = text(
    b"""\
\tfield:struct page * page;\toffset:8;\tsize:4;\tsigned:0;
\tfield:unsigned long i_ino;\toffset:12;\tsize:4;\tsigned:0;
\tfield:unsigned long index;\toffset:16;\tsize:4;\tsigned:0;
\tfield:dev_t s_dev;\toffset:20;\tsize:4;\tsigned:0;
"""
)


def formats(texts, long_size=8):
    return Formats(texts, byte_order="little", long_size=long_size, kernel="5.4.0-test")


def real_texts():
    container = perf_header.read(memoryview(perf_samples.golden("file")))
    return tracing_data.read(container.features[perf_header.Feature.TRACING_DATA]).texts


def test_specs_of_a_real_kernel():
    specs = formats(real_texts()).specs()
    others = {Kind.PROBED_FAULT, Kind.PROBED_READ, Kind.SWITCH, Kind.WAKING}
    assert set(specs["kind"].tolist()) == set(Kind) - others
    insert = specs[specs["kind"] == Kind.INSERT][0]
    # events/filemap/mm_filemap_add_to_page_cache/format of 6.18
    assert insert["numeric"]["offset"].tolist() == [32, 16, 24, 36]
    assert insert["numeric"]["size"].tolist() == [4, 8, 8, 1]
    assert insert["length"] == 37
    assert insert["pid"].tolist() == (4, 4, 1)


def test_specs_of_an_old_32_bit_kernel_leave_order_out():
    insert = formats({INSERT: OLD_32_BIT}, long_size=4).specs()[0]
    assert insert["numeric"]["offset"].tolist() == [20, 12, 16, 0]
    assert insert["numeric"]["size"].tolist() == [4, 4, 4, 0]


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (b"unsigned long i_ino", b"unsigned long inode", "'i_ino' is missing"),
        (
            b"dev_t s_dev;\toffset:20;\tsize:4",
            b"char s_dev[12];\toffset:20;\tsize:12",
            "'s_dev' of 12 bytes is not a number",
        ),
    ],
)
def test_a_field_that_cannot_be_read_is_named_with_its_event_and_kernel(old, new, what):
    with pytest.raises(TraceError, match=rf"add_to_page_cache.*5\.4\.0-test.*{what}"):
        formats({INSERT: OLD_32_BIT.replace(old, new)}).specs()


def test_trace_without_any_wanted_event_is_refused():
    with pytest.raises(TraceError, match="none of the events") as caught:
        formats({"sched:sched_stat_runtime": OLD_32_BIT}).specs()
    assert INSERT in caught.value.remedy


def test_two_events_of_one_id_are_refused():
    twice = {INSERT: OLD_32_BIT, INSERT.replace("add_to", "delete_from"): OLD_32_BIT}
    with pytest.raises(TraceError, match="the same id"):
        formats(twice).specs()


def test_absent_event_names_itself():
    with pytest.raises(TraceError, match="has no event block:block_bio_queue"):
        formats({INSERT: OLD_32_BIT}).event("block:block_bio_queue")


def test_every_truncation_is_an_error():
    for name, whole in real_texts().items():
        for end in range(whole.index(b"\nprint fmt: ") + len(b"\nprint fmt:")):
            with pytest.raises(TraceError, match=name) as caught:
                formats({name: whole[:end]}).event(name)
            assert caught.value.remedy


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"ID: 77", b"ID: 70000"),
        (b"offset:8;", b"offset:99999999999;"),
        (b"size:4;", b"size:-4;"),
        (b"i_ino;", b"i_ino[;"),
        (b"i_ino;", b"i_ino\x00;"),
        (b"i_ino;", b"i_" + b"n" * 64 + b";"),
        (b"unsigned long i_ino;", b";"),
        (b"struct page * page;", b"*;"),
        (b"name: mm", b"nome: mm"),
        (b"\nprint fmt: ", b"\nprint: "),
        (b"i_ino;\toffset:12;\tsize:4;\tsigned:0;\n", b"int b["),
        (b"index;\toffset:16;", b"index;"),
    ],
)
def test_damaged_texts_are_refused(old, new):
    damaged = OLD_32_BIT.replace(old, new)
    assert damaged != OLD_32_BIT
    with pytest.raises(TraceError, match=f"format of {INSERT}.*: ") as caught:
        formats({INSERT: damaged}).specs()
    assert caught.value.remedy


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def spin():
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (1, hard))  # in place of 60 s
    while True:
        pass


def fill():
    np.ones(1 << 30, np.uint8)


HARM = {"crash": (crash, "crashed"), "loop": (spin, "CPU time"), "memory": (fill, "memory")}


@pytest.mark.parametrize(
    ("harm", "name"),
    [("crash", "trace.dat"), ("crash", "pages"), ("crash", "perf.data"), ("loop", "trace.dat"),
     ("memory", "trace.dat")],
)  # fmt: skip
def test_harm_in_libtraceevent_is_an_error_of_the_file(harm, name, tmp_path, monkeypatch):
    file = tmp_path / "perf.data"
    file.write_bytes(perf_samples.golden("file"))
    paths = {"trace.dat": FTRACE / "v6.trace.dat", "pages": FTRACE / "pages", "perf.data": file}
    act, match = HARM[harm]
    monkeypatch.setattr(_readers, "parse_formats", lambda *_: act())
    with pytest.raises(TraceError, match=match) as caught:
        load_any(paths[name])
    assert str(paths[name]) in str(caught.value)
    assert caught.value.remedy


def test_a_crash_of_libtraceevent_in_a_process_without_limits_is_an_error(monkeypatch):
    monkeypatch.setattr(_readers, "parse_formats", lambda *_: crash())
    with pytest.raises(TraceError, match="crashed on the formats of events"):
        formats({INSERT: OLD_32_BIT}).specs()


def test_string_fields_say_how_they_are_stored():
    event = formats(
        {
            "t:e": text(
                b"\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
                b"\tfield:__rel_loc char[] path;\toffset:12;\tsize:4;\tsigned:0;\n"
                b"\tfield:char comm[TASK_COMM_LEN];\toffset:16;\tsize:16;\tsigned:0;\n"
                b"\tfield:unsigned long args[6];\toffset:32;\tsize:48;\tsigned:0;\n"
                b"\tfield:char span[(((32)-1) | (4-1)) > 128 ? 128 : (8&~1)];"
                b"\toffset:80;\tsize:8;\tsigned:0;\n"
            )
        }
    ).event("t:e")
    stored = {name: (f.is_string, f.storage) for name, f in event.fields.items() if f.is_array}
    assert stored == {
        "filename": (True, 1), "path": (True, 2), "comm": (True, 0), "args": (False, 0),
        "span": (True, 0),
    }  # fmt: skip


def test_specs_of_chosen_events():
    spec = EventSpec(Kind.DELETE, {"index": "index"})
    (row,) = formats({INSERT: OLD_32_BIT}).specs({INSERT: spec})
    assert (row["id"], row["kind"], row["length"]) == (77, Kind.DELETE, 20)


def test_event_id_is_read_without_parsing():
    assert event_id(OLD_32_BIT) == 77
    assert event_id(b"name: x\n") is None


def test_tracing_data_refuses_impossible_counts():
    container = perf_header.read(memoryview(perf_samples.golden("pipe")))
    data = bytearray(container.features[perf_header.Feature.TRACING_DATA])
    at = data.index(b"header_event\0") + len(b"header_event\0")
    (size,) = struct.unpack_from("<Q", data, at)
    struct.pack_into("<I", data, at + 8 + size, 1 << 31)
    with pytest.raises(ValueError, match="impossible count"):
        tracing_data.read(bytes(data))


@pytest.mark.parametrize("name", ["off", "offset"])
def test_mmap_s_offset_has_another_name_on_riscv(name):
    own = b"\tfield:unsigned long %s;\toffset:56;\tsize:8;\tsigned:0;\n" % name.encode()
    given = formats({"syscalls:sys_enter_mmap": text(own, b"sys_enter_mmap", 29)})
    field = given.event("syscalls:sys_enter_mmap").field("off")
    assert (field.offset, field.size) == (56, 8)
    with pytest.raises(TraceError, match="has no field 'length'"):
        given.event("syscalls:sys_enter_mmap").field("length")
