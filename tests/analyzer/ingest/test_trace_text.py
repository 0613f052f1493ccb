"""tracefs text: print formats of kernels 3.10 to 6.19, other tools' columns, and damage.

Formats: include/trace/events/{filemap,readahead,block,sched}.h of the releases named below.
"""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foreread.analyzer.ingest import text, tracedat
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.tables import EVENTS, Kind, Rwbs

FIXTURES = Path(__file__).parent / "data" / "ftrace"
HEAD = "            bash-1234  [001] d..2.  1234.567890: "
SDA, LOOP = 8 << 20 | 1, 7 << 20
READ, AHEAD, META, WRITE, SYNC = Rwbs.READ, Rwbs.AHEAD, Rwbs.META, Rwbs.WRITE, Rwbs.SYNC


def read(directory, content):
    path = directory / "trace"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return text.read(path)


def only_row(trace):
    assert trace.events.rows == 1
    return tuple(trace.events[column.name].tolist()[0] for column in EVENTS.columns)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        # 3.10 to 4.x: pfn in decimal, no order
        (
            "mm_filemap_add_to_page_cache: dev 8:1 ino 2a page=ffffea0000f7c5c0 pfn=40584 ofs=8192",
            (Kind.INSERT, SDA, 0x2A, 2, 0, 0),
        ),
        # 5.x: pointers hashed; page may be null in trace-cmd's print
        (
            "mm_filemap_add_to_page_cache: dev 8:1 ino 2a page=0x(nil) pfn=0x3ded71 ofs=8192",
            (Kind.INSERT, SDA, 0x2A, 2, 0, 0),
        ),
        # 5.19 to 6.19: no page, order
        (
            "mm_filemap_add_to_page_cache: dev 8:1 ino 2a pfn=0x16f1df ofs=45056 order=3",
            (Kind.INSERT, SDA, 0x2A, 11, 3, 0),
        ),
        (
            "mm_filemap_delete_from_page_cache: dev 7:0 ino ff pfn=0x1 ofs=0 order=0",
            (Kind.DELETE, LOOP, 0xFF, 0, 0, 0),
        ),
        # 6.12 on
        ("mm_filemap_fault: dev=8:1 ino=4fb28 ofs=28672", (Kind.FAULT, SDA, 0x4FB28, 7, 0, 0)),
        (
            "mm_filemap_map_pages: dev=8:1 ino=4fa7d ofs=868352-933887",
            (Kind.MAP_PAGES, SDA, 0x4FA7D, 212, 227, 0),
        ),
        ("mm_filemap_get_pages: dev=8:1 ino=1 ofs=0-4095", (Kind.GET_PAGES, SDA, 1, 0, 0, 0)),
        # 6.18 on
        (
            "page_cache_ra_unbounded: dev=8:1 ino=b index=16 nr_to_read=4 lookahead_size=2",
            (Kind.RA_UNBOUNDED, SDA, 0xB, 16, 4, 0),
        ),
        (
            "page_cache_sync_ra: dev=8:1 ino=b index=0 req_count=5 order=0 size=4 async_size=1 "
            "ra_pages=32 mmap_miss=0 prev_pos=-1",
            (Kind.RA_SYNC, SDA, 0xB, 0, 5, 0),
        ),
        # block events up to 6.11, and with the I/O priority from 6.12 on
        (
            "block_bio_queue: 8,1 RA 2048 + 256 [cat]",
            (Kind.BIO_QUEUE, SDA, 0, 2048, 256, READ | AHEAD),
        ),
        (
            "block_rq_issue: 8,1 WS 0 () 4096 + 8 [kworker/0:1]",
            (Kind.RQ_ISSUE, SDA, 0, 4096, 8, WRITE | SYNC),
        ),
        (
            "block_rq_issue: 8,1 RM 4096 (12 00 ff) 20654952 + 8 be,0,4 [perf]",
            (Kind.RQ_ISSUE, SDA, 0, 20654952, 8, READ | META),
        ),
        ("block_rq_complete: 8,1 R () 7 + 8 [0]", (Kind.RQ_COMPLETE, SDA, 0, 7, 8, READ)),
        (
            "block_rq_complete: 8,1 N (1 + 2 ) 7 + 8 none,0,0 [-5]",
            (Kind.RQ_COMPLETE, SDA, 0, 7, 8, Rwbs.OTHER),
        ),
        (
            "sched_process_fork: comm=a pid=1 child_comm=child_pid=9 child_pid=77",
            (Kind.FORK, 0, 0, 0, 77, 0),
        ),
        (
            "sched_process_exec: filename=/x old_pid=3 pid=5 old_pid=6",
            (Kind.EXEC, 0, 0, 0, 6, 0),
        ),
        ("sched_process_exit: comm=a pid=1 prio=120", (Kind.EXIT, 0, 0, 0, 0, 0)),
        (
            "sched_process_exit: comm=a pid=1 prio=120 group_dead=true",
            (Kind.EXIT, 0, 0, 0, 0, 0),
        ),
        # the state's letters: 3.10 on, with the + of one that was preempted
        (
            "sched_switch: prev_comm=a ==> b prev_pid=1 prev_prio=120 prev_state=S ==> "
            "next_comm=c next_pid=9 next_pid=77 next_prio=-1",
            (Kind.SWITCH, 0, 0, 1, 77, 0),
        ),
        (
            "sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=D|W ==> "
            "next_comm=swapper/1 next_pid=0 next_prio=120",
            (Kind.SWITCH, 0, 0, 2, 0, 0),
        ),
        (
            "sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=R+ ==> "
            "next_comm=b next_pid=2 next_prio=120",
            (Kind.SWITCH, 0, 0, 0, 2, 0),
        ),
        ("sched_switch: a:1 [120] D ==> b:5 [0] c:22 [120]", (Kind.SWITCH, 0, 0, 2, 22, 0)),
        ("sched_switch: a:1 [120] Z ==> swapper/0:0 [120]", (Kind.SWITCH, 0, 0, 4, 0, 0)),
        # "d..2.": no interrupt
        (
            "sched_waking: comm=pid=3 pid=42 prio=120 target_cpu=001",
            (Kind.WAKING, 0, 0, 0, 42, 0),
        ),
        (
            "sched_wakeup: comm=a pid=42 prio=-2 success=1 target_cpu=001",
            (Kind.WAKING, 0, 0, 0, 42, 0),
        ),
        ("sched_wakeup: a:42 [120] success=1 CPU:001", (Kind.WAKING, 0, 0, 0, 42, 0)),
    ],
)
def test_print_formats(tmp_path, payload, expected):
    kind, dev, ino, index, value, flags = expected
    row = only_row(read(tmp_path, HEAD + payload + "\n"))
    assert row == (1234567890000, 1, kind, 1234, dev, ino, index, value, flags)


@pytest.mark.parametrize(
    ("letters", "flags"), [("d.h2. ", 8), ("dNs3. ", 16), ("d.H2. ", 24), ("d..2. ", 0), ("", 0)]
)
def test_a_wake_up_may_come_from_an_interrupt(tmp_path, letters, flags):
    line = f"<idle>-0 [001] {letters}12.000001: sched_waking: comm=a pid=7 prio=120 target_cpu=001"
    row = only_row(read(tmp_path, line + "\n"))
    assert row == (12_000_001_000, 1, Kind.WAKING, 0, 0, 0, flags, 7, 0)


@pytest.mark.parametrize(
    "head",
    [
        "bash-1234  [001] 1234.567890: ",  # 2.6
        "            bash-1234  [001] ....  1234.567890: ",  # 3.10
        "           <...>-1234  ( 1200) [001] .....  1234.567890: ",  # option record-tgid
        "  bash-1234    (-------) [001] d..2.  1234.567890: ",
        "    a b-3 [0]-1234  [001]  1234.567890: ",  # trace-cmd report; an odd name
        "  bash-1234  [001]  1234.567890000: ",  # trace-cmd report -t
        "  bash-1234  [001] .....  1234.567890: filemap:",
    ],
)
def test_columns_of_other_tools_and_times(tmp_path, head):
    row = only_row(read(tmp_path, head + "mm_filemap_fault: dev=8:1 ino=1 ofs=0\n"))
    assert row[:4] == (1234567890000, 1, Kind.FAULT, 1234)


def test_report_equals_the_file_it_was_made_of():
    printed = text.read(FIXTURES / "v7-zstd.report.txt")
    binary = tracedat.read(FIXTURES / "v7-zstd.trace.dat")
    for name in binary.events:
        assert printed.events[name].tolist() == binary.events[name].tolist(), name
    assert printed.format == "tracefs text"
    assert (printed.page_size, printed.page_size_assumed, printed.unread) == (4096, False, 0)
    assert printed.event_names < binary.event_names


def test_lines_are_sorted_by_time_and_others_skipped(tmp_path):
    lines = [
        "# tracer: nop",
        "b-2 [001] ..... 20.000000: sched_process_exit: comm=b pid=2 prio=1",
        "b-2 [001] ..... 15.000000: sched_switch: prev_comm=b ==> next_comm=a",
        "a-1 [000] ..... 10.000000: sched_process_exit: comm=a pid=1 prio=1",
        "some noise: mm_filemap_fault: dev=8:1 ino=1 ofs=0",
    ]
    trace = read(tmp_path, "\n".join(lines))
    assert trace.events["pid"].tolist() == [1, 2]
    assert trace.event_names == {"sched:sched_process_exit"}


def test_lines_cut_off_are_said(tmp_path):
    good = HEAD + "mm_filemap_add_to_page_cache: dev 8:1 ino 2a pfn=0x1 ofs=4096 order=0\n"
    trace = read(tmp_path, good + HEAD + "mm_filemap_add_to_page_cache: dev 8:1 ino 2a pf")
    assert trace.events.rows == 1
    assert any(note.startswith("1 line of needed events is in") for note in trace.notes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("# tracer: nop\n#\n", "no events"),
        (HEAD + "sched_stat_wait: comm=a\n", r"other events \(sched_stat_wait\)"),
        (HEAD + "mm_filemap_fault: dev=8:99999999 ino=1 ofs=0\n", "1 line of"),
        (HEAD + "mm_filemap_fault: dev=8:1 ino=1 ofs=" + "9" * 30 + "\n", "1 line of"),
    ],
)
def test_texts_of_no_use_are_refused(tmp_path, content, message):
    with pytest.raises(TraceError, match=message) as caught:
        read(tmp_path, content)
    assert caught.value.remedy


NOISE = st.text(st.sampled_from("0123456789-[]():., \tabcdevino=\n"), max_size=60)
EVENT_NAMES = st.sampled_from(["mm_filemap_fault", "block_rq_issue", "sched_process_fork"])


@given(NOISE, EVENT_NAMES, NOISE)
@example("-" * 60, "mm_filemap_fault", "")
def test_any_text_gives_rows_or_an_error(tmp_path_factory, before, event, payload):
    directory = tmp_path_factory.mktemp("noise")
    try:
        trace = read(directory, before + HEAD + event + ": " + payload)
    except TraceError as error:
        assert error.remedy
    else:
        assert trace.events.rows >= 1


def test_long_lines_take_no_long_time(tmp_path):
    # quadratic backtracking would need hours for this
    line = "-1 [0] " * 200_000
    with pytest.raises(TraceError):
        read(tmp_path, line + "\n" + HEAD + "block_rq_issue: " + "8,1 R (" * 200_000)
