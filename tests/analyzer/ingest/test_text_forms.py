"""All forms in which tools print one recording: they have the same events, or are refused."""

import lzma
import re
from pathlib import Path

import pytest

from foreread.analyzer.ingest import perfdata, text, tracedat
from foreread.analyzer.ingest.detect import open_trace
from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.ingest.text_heads import parse_head

DATA = Path(__file__).parent / "data"
KERNEL, PERF = DATA / "forms/kernel", DATA / "forms/perf"
REPORTS = DATA / "forms/trace-cmd"
BROUGHT = DATA / "brought"
CLOCKS = ("counter", "uptime", "boot", "x86-tsc")
FILES = ("v7-zstd", "v6-instance")
TICKS = "have no unit"


def rows(trace, *without):
    columns = [column for name, column in trace.events.items() if name not in without]
    return list(zip(*(column.tolist() for column in columns), strict=True))


def said(trace, words):
    return any(words in note for note in trace.notes)


def written(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("form", ["tgid", "no-flags", "latency", "verbose", "fields"])
def test_every_form_of_the_kernel_has_the_same_events(form):
    plain, other = text.read(KERNEL / "plain.txt"), text.read(KERNEL / f"{form}.txt")
    # Latency formats count from the begin of the buffer; without letters nothing tells interrupts.
    without = ["time_ns"] if form in ("latency", "verbose") else []
    without += ["index"] if form == "no-flags" else []
    if form == "fields":  # the number of a state, where letters stand for S, D and others alone
        states = other.events["index"][other.events["kind"] == Kind.SWITCH]
        assert states.tolist() == [2, 0, 32]
        other.events["index"][other.events["kind"] == Kind.SWITCH] = [2, 0, 4]
    assert rows(other, *without) == rows(plain, *without)
    assert other.unread == plain.unread == 0
    assert plain.events.rows > 60
    inserts = plain.events["value"][plain.events["kind"] == Kind.INSERT]
    assert inserts.tolist() == [0, 0, 0, 0, 2, 1]


def test_latency_format_has_the_times_between_events():
    plain, other = text.read(KERNEL / "plain.txt"), text.read(KERNEL / "latency.txt")
    shift = plain.events["time_ns"] - other.events["time_ns"]
    assert int(shift.max()) - int(shift.min()) <= 1000  # both are cut to microseconds


@pytest.mark.parametrize("form", ["", "-latency"])
@pytest.mark.parametrize("clock", CLOCKS)
def test_every_trace_clock_is_read(clock, form):
    trace = text.read(KERNEL / f"clock-{clock}{form}.txt")
    assert trace.unread == 0
    assert (trace.events["kind"] == Kind.INSERT).sum() >= 3
    assert rows(trace, "time_ns") == rows(text.read(KERNEL / f"clock-{clock}.txt"), "time_ns")
    assert said(trace, TICKS) == (clock != "boot")


def test_ticks_keep_the_order_of_the_text():
    trace = text.read(KERNEL / "clock-counter.txt")
    time = trace.events["time_ns"].tolist()
    assert time == sorted(set(time))


@pytest.mark.parametrize(
    ("form", "what"),
    [
        ("raw", "trace options raw and hex"),
        ("hex", "trace options raw and hex"),
        ("no-context", r"mm_filemap_add_to_page_cache.*as \"mm_filemap_get_pages: dev"),
    ],
)
def test_forms_without_names_or_heads_are_refused_by_their_reason(form, what):
    with pytest.raises(TraceError, match=what) as caught:
        open_trace(KERNEL / f"{form}.txt")
    assert "trace_options" in caught.value.remedy


@pytest.mark.parametrize(
    "form", ["latency", "raw", "raw-latency", "ts-diff", "ts-diff-full", "raw-ts", "one-event-raw"]
)
def test_every_form_of_trace_cmd_report_has_the_same_events(form, tmp_path):
    path = written(tmp_path / form, lzma.decompress((REPORTS / f"{form}.txt.xz").read_bytes()))
    printed, binary = text.read(path), tracedat.read(DATA / "ftrace/v7-zstd.trace.dat")
    assert rows(printed, "time_ns") == rows(binary, "time_ns")
    late = binary.events["time_ns"].astype("i8") - printed.events["time_ns"].astype("i8")
    assert abs(late).max() <= (0 if form in ("raw-ts", "raw-latency") else 1000)
    assert (printed.unread, said(printed, TICKS)) == (0, form == "raw-ts")


def test_the_plain_report_and_the_difference_report_are_the_same_recording(tmp_path):
    content = lzma.decompress((REPORTS / "ts-diff.txt.xz").read_bytes())
    recording = load(written(tmp_path / "ts-diff", content), "all")
    assert (recording.trace.events["kind"] == Kind.INSERT).sum() == 10
    assert recording.inserts is not None
    assert recording.inserts.pages.sum() == 32


def test_a_report_of_two_files_has_the_file_before_each_line(tmp_path):
    content = lzma.decompress((REPORTS / "two-files.txt.xz").read_bytes())
    trace = text.read(written(tmp_path / "two", content))
    files = [tracedat.read(DATA / f"ftrace/{name}.trace.dat") for name in FILES]
    kinds = [(file.events["kind"] == Kind.INSERT).sum() for file in (trace, *files)]
    assert kinds == [10, 10, 0]
    assert trace.events.rows == sum(file.events.rows for file in files)


@pytest.fixture
def mixed(tmp_path):
    data = lzma.decompress((DATA / "perf/mixed.data.xz").read_bytes())
    return perfdata.read(written(tmp_path / "perf.data", data))


@pytest.mark.parametrize(
    "form",
    [
        "chains",
        "headers",
        "misc",
        "period",
        "pid-tid",
        "symbols",
        "tasks",
        "no-comm",
        "no-cpu",
        "tod",
    ],
)
def test_every_form_of_perf_script_has_the_same_events(form, mixed):
    trace = open_trace(PERF / f"{form}.txt")
    without = ["cpu"] if form == "no-cpu" else []
    assert rows(trace, *without) == rows(mixed, *without)
    assert trace.format == "perf script text"
    assert not trace.notes


def test_relative_times_are_times(mixed):
    trace = open_trace(PERF / "reltime.txt")
    first = mixed.events["time_ns"][0]
    assert (trace.events["time_ns"] == mixed.events["time_ns"] - first).all()


def test_differences_of_times_are_added_up(mixed):
    trace = open_trace(PERF / "deltatime.txt")
    assert rows(trace, "time_ns") == rows(mixed, "time_ns")
    late = mixed.events["time_ns"] - mixed.events["time_ns"][0] - trace.events["time_ns"]
    assert late.max() < 1000 * trace.events.rows  # each difference is cut to microseconds
    assert said(trace, "--deltatime")


@pytest.mark.parametrize("form", ["no-thread", "no-time", "no-event"])
def test_perf_script_without_a_needed_column_is_refused_with_the_command(form):
    with pytest.raises(TraceError) as caught:
        open_trace(PERF / f"{form}.txt")
    assert "perf script --ns -F comm,tid,cpu,time,event,trace" in caught.value.remedy
    if form != "no-event":
        assert "block_rq_issue" in str(caught.value)


def test_switches_without_a_cpu_are_left_out_with_a_note(tmp_path):
    switch = "sched:sched_switch: a:1 [120] S ==> b:2 [120]"
    fault = "filemap:mm_filemap_fault: dev=8:1 ino=1 ofs=4096"
    lines = f"a  1  5.000001: {switch}\na  1  5.000002: {fault}\n"
    trace = text.read(written(tmp_path / "text", lines))
    assert trace.events["kind"].tolist() == [Kind.FAULT]
    assert said(trace, "1 sched_switch event is left out")


PREFIXES = [
    "[  281.043471] ",  # ftrace_dump_on_oops
    "[   12.345678][  T812] ",  # CONFIG_PRINTK_CALLER
    "<0>[   12.345678] ",  # a serial console with levels
    "Nov 26 16:11:12 kiosk kernel: [   12.345678] ",  # syslog
    "11-26 16:11:12.123  1234  1234 I ftrace  : ",  # logcat -v threadtime
    "I/ftrace  ( 1234): ",  # logcat -v brief
    "2026-11-26T16:11:12.345678+00:00 board-7 kernel: ",  # journalctl -o short-iso-precise
    "> > ",  # a quoted mail
]


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("form", ["plain", "tgid", "latency", "clock-counter"])
def test_what_a_log_puts_before_each_line_does_no_harm(form, prefix, tmp_path):
    lines = (KERNEL / f"{form}.txt").read_text().splitlines()
    path = written(tmp_path / "log", "".join(f"{prefix}{line}\n" for line in lines))
    assert rows(open_trace(path)) == rows(text.read(KERNEL / f"{form}.txt"))


@pytest.mark.parametrize("end", ["\r\n", "\\n\\\n", " \n"])
@pytest.mark.parametrize("form", ["plain", "fields"])
def test_line_ends_of_other_systems_do_no_harm(form, end, tmp_path):
    lines = (KERNEL / f"{form}.txt").read_text().splitlines()
    path = written(tmp_path / "text", "".join(f"{line}{end}" for line in lines))
    trace = open_trace(path)
    assert rows(trace) == rows(text.read(KERNEL / f"{form}.txt"))
    assert trace.unread == 0


def test_text_in_a_json_document_is_read(tmp_path):
    lines = (KERNEL / "plain.txt").read_text().replace("\n", "\\n")
    document = '{"traceEvents":[{"ph":"M"}],"systemTraceEvents":"' + lines + '"}'
    trace = open_trace(written(tmp_path / "chrome.json", document))
    assert rows(trace) == rows(text.read(KERNEL / "plain.txt"))


def test_a_page_of_systrace_is_read_after_its_viewer(tmp_path):
    content = (BROUGHT / "systrace-rows.txt").read_text()
    viewer = "  sched_switch: function(x) { block_rq_issue(x) }, // the viewer library\n" * 15_000
    page = f"<!DOCTYPE html>\n<script>\n{viewer}</script>\n<script>\n{content}</script>\n"
    trace = open_trace(written(tmp_path / "systrace.html", page))
    assert rows(trace) == rows(text.read(BROUGHT / "systrace-rows.txt"))
    assert (trace.events["kind"] == Kind.INSERT).sum() == 11
    assert len(set(trace.events["ino"].tolist())) == 5
    assert trace.unread == 0


def test_a_long_log_before_the_trace_is_passed_over(tmp_path):
    content = (KERNEL / "plain.txt").read_text().partition("\n")[2]
    log = "[    0.000000] Booting Linux on physical CPU 0x0\n" * 20_000
    trace = open_trace(written(tmp_path / "boot.log", log + content))
    assert rows(trace) == rows(text.read(KERNEL / "plain.txt"))


def test_systrace_from_before_2014_is_read():
    trace = open_trace(BROUGHT / "legacy-systrace.html")
    assert rows(trace) == rows(text.read(BROUGHT / "systrace-rows.txt"))
    assert (trace.unread, trace.events.rows) == (0, 11)


@pytest.mark.parametrize("name", ["counter", "latency-format"])
def test_the_clock_counter_and_the_latency_format_have_every_page(name):
    events = text.read(BROUGHT / f"{name}.txt").events
    inserts = events.take(events["kind"] == Kind.INSERT)
    assert inserts["index"].tolist() == [0, 1, 2, 3, 4, 5]
    assert (events["kind"] == Kind.BIO_QUEUE).sum() == 6


def test_ranges_of_the_draft_are_read():
    trace = text.read(BROUGHT / "draft-format.txt")
    events = trace.events
    assert (events["kind"] == Kind.INSERT).sum() == 49
    for kind, ranges in (
        # filemap_get_pages: last_index is the page after the last one
        (Kind.GET_PAGES, [(0, 0), (0, 0), (0, 0)]),
        (Kind.MAP_PAGES, [(0, 4), (43, 48), (5, 20), (8, 23)]),
    ):
        own = events.take(events["kind"] == kind)
        assert list(zip(own["index"].tolist(), own["value"].tolist(), strict=True)) == ranges
    assert (trace.unread, trace.page_size, trace.page_size_assumed) == (0, 4096, False)


HEAD = "  app-7  [001] .....  1.000000: "


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        # fields of later kernels
        (
            "mm_filemap_add_to_page_cache: dev 8:1 ino 2a pfn=0x1 ofs=8192 order=1 nr_pages=2",
            (Kind.INSERT, 8 << 20 | 1, 0x2A, 2, 1),
        ),
        (
            "mm_filemap_get_pages: dev=8:1 ino=2a ofs=0-8191 flags=0x1",
            (Kind.GET_PAGES, 8 << 20 | 1, 0x2A, 0, 1),
        ),
        # the first draft
        (
            "mm_filemap_map_pages: dev 8:1 ino 2a ofs=4096 max_ofs=8192",
            (Kind.MAP_PAGES, 8 << 20 | 1, 0x2A, 1, 2),
        ),
        # trace-cmd whose library cannot parse the kernel's print format
        (
            "mm_filemap_fault: [FAILED TO PARSE] i_ino=0x2a s_dev=8388609 index=0x3",
            (Kind.FAULT, 8 << 20 | 1, 0x2A, 3, 0),
        ),
        # other tools print all numbers in decimal
        (
            "mm_filemap_fault: i_ino=42 s_dev=8388609 index=3",
            (Kind.FAULT, 8 << 20 | 1, 42, 3, 0),
        ),
        # a vendor's kernel adds fields
        (
            "sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=D ==> next_comm=b "
            "next_pid=18 next_prio=0 next_info=rtq cg=top-app",
            (Kind.SWITCH, 0, 0, 2, 18),
        ),
        # from a web page
        (
            "sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==&gt; next_comm=b "
            "next_pid=18 next_prio=0",
            (Kind.SWITCH, 0, 0, 1, 18),
        ),
        (
            "sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=1024 next_comm=b "
            "next_pid=18 next_prio=0",
            (Kind.SWITCH, 0, 0, 1024, 18),
        ),
        (
            "block_rq_complete: dev=266338304 sector=8 nr_sector=16 error=0 ioprio=4 rwbs=RA cmd=",
            (Kind.RQ_COMPLETE, 266338304, 0, 8, 16),
        ),
        (
            "page_cache_sync_ra: i_ino=0x2a s_dev=8388609 index=0x10 req_count=4 order=0",
            (Kind.RA_SYNC, 8 << 20 | 1, 0x2A, 16, 4),
        ),
    ],
)
def test_fields_are_read_by_name(payload, expected, tmp_path):
    events = text.read(written(tmp_path / "text", HEAD + payload + "\n")).events
    names = ("kind", "dev", "ino", "index", "value")
    assert [tuple(events[name].tolist()[0] for name in names)] == [expected]


@pytest.mark.parametrize(
    "payload",
    [
        "mm_filemap_get_pages: dev=8:1 ino=1 ofs=0",  # no last page
        "mm_filemap_fault: dev=8:1 ino=1 ofs=" + "9" * 30,
        "mm_filemap_fault: i_ino=1 s_dev=99999999999 index=1",
        "mm_filemap_fault: dev=260:136 ino=12345",
        "page_cache_ra_unbounded: dev=8:1 ino=1 index=0",
        "sched_waking: comm=a",
    ],
)
def test_lines_without_a_needed_value_are_counted_and_shown(payload, tmp_path):
    lines = f"{HEAD}sched_process_exit: comm=a pid=1 prio=1\n{HEAD}{payload}\n"
    trace = text.read(written(tmp_path / "text", lines))
    assert trace.unread == 1
    event = payload.partition(":")[0]
    assert said(trace, f"(1 {event})")
    assert said(trace, payload[:40])


def test_a_text_of_which_most_inserts_are_unread_is_refused(tmp_path):
    good = f"{HEAD}mm_filemap_add_to_page_cache: dev 8:1 ino 2a pfn=0x1 ofs=0 order=0\n"
    odd = "1.0 s, app: mm_filemap_add_to_page_cache: dev 8:1 ino 2a pfn=0x1 ofs=4096 order=0\n"
    path = tmp_path / "text"
    assert text.read(written(path, good + odd)).unread == 1
    with pytest.raises(TraceError, match=r"2 lines of needed events .*1\.0 s, app") as caught:
        text.read(written(path, good + 2 * odd))
    assert "trace-cmd report -t" in caught.value.remedy


def test_requests_that_cannot_be_read_refuse_the_text(tmp_path):
    lines = f"{HEAD}mm_filemap_fault: dev=8:1 ino=1 ofs=4096\n"
    lines += f"{HEAD}block_rq_issue: dev=8,0 sector=1 nr_sector=8 rwbs=R\n"
    with pytest.raises(TraceError, match="1 block_rq_issue"):
        text.read(written(tmp_path / "text", lines))


def test_unread_lines_of_scheduling_alone_do_not_refuse_the_pages(tmp_path):
    good = f"{HEAD}mm_filemap_add_to_page_cache: dev 8:1 ino 2a pfn=0x1 ofs=0 order=0\n"
    trace = text.read(written(tmp_path / "text", good + 5 * f"{HEAD}sched_switch: ==>\n"))
    assert (trace.events.rows, trace.unread) == (1, 5)


def test_names_within_other_events_and_comments_are_not_counted(tmp_path):
    lines = [
        "# enabled events: sched_switch: all",
        HEAD + "print: 0x1: sched_switch: mm_filemap_fault: dev",
        HEAD + "sched_process_exec: filename=/x/block_rq_issue: pid=7 old_pid=7",
        "  frame: trace_event_raw_event_sched_switch: 12",
        HEAD + "mm_filemap_fault: dev=8:1 ino=1 ofs=4096",
    ]
    trace = text.read(written(tmp_path / "text", "\n".join(lines)))
    assert trace.events["kind"].tolist() == [Kind.EXEC, Kind.FAULT]
    assert trace.unread == 0


def test_the_output_of_perf_trace_is_refused_with_a_command_that_records(tmp_path):
    line = "     0.946 dd/27910 block:block_rq_issue(dev: 8388608, sector: 32, nr_sector: 8)\n"
    with pytest.raises(TraceError, match="1 block_rq_issue") as caught:
        open_trace(written(tmp_path / "text", line))
    assert "perf record -a" in caught.value.remedy


BLK = "             cat-812     [001] .....    10.000000:   8,0    Q   R 2048 + 8 [cat]\n"


def test_the_tracer_blk_is_named(tmp_path):
    path = written(tmp_path / "text", "# tracer: blk\n" + BLK)
    with pytest.raises(TraceError, match="tracer blk") as caught:
        open_trace(path)
    assert "-e block" in caught.value.remedy
    insert = f"{HEAD}mm_filemap_add_to_page_cache: dev 8:1 ino 2a pfn=0x1 ofs=0 order=0\n"
    trace = open_trace(written(path, "# tracer: blk\n" + BLK + insert))
    assert trace.events.rows == 1
    assert said(trace, "tracer blk")


def test_a_program_with_names_of_events_is_no_text(tmp_path):
    with pytest.raises(TraceError, match="a program"):
        open_trace(written(tmp_path / "program", b"\x7fELF\0\0 sched_switch: \0"))


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        (" 0)               |  /* block_rq_issue: 8,0 R 4096 () 8 + 8 [cat] */", "nop"),
        (
            "[16:11:12.123456789] (+0.000000002) kiosk block_rq_issue: { cpu_id = 1 }, "
            '{ dev = 8388608, sector = 8, nr_sector = 8, rwbs = 1, comm = "cat" }',
            "trace-cmd record",
        ),
    ],
)
def test_events_in_other_tools_lines_are_refused_with_what_to_record(line, instead, tmp_path):
    with pytest.raises(TraceError, match="1 block_rq_issue") as caught:
        open_trace(written(tmp_path / "text", f"{line}\n"))
    assert instead in caught.value.remedy


def test_the_trace_option_bin_is_named(tmp_path):
    path = written(tmp_path / "text", b"# tracer: nop\n#\n\x2a\0\0\0\x01\0\0\0")
    with pytest.raises(TraceError, match="option bin") as caught:
        open_trace(path)
    assert "nobin" in caught.value.remedy


def test_unknown_events_of_a_report_are_named_as_the_reason(tmp_path):
    lines = "cpus=2\n" + 3 * "    [UNKNOWN EVENT][UNKNOWN EVENT] (NULL):   [UNKNOWN EVENT]\n"
    with pytest.raises(TraceError, match="could not name") as caught:
        open_trace(written(tmp_path / "text", lines))
    assert "trace.dat" in caught.value.remedy


@pytest.mark.parametrize("time", ["99999999999999999999", "20000000000000000us "])
def test_times_beyond_64_bits_are_not_read(time):
    assert parse_head(f"a-1 [000] {time}: ".encode()) is None
    assert parse_head(f"a-1  0..... {time}: ".encode()) is None


def test_heads_of_any_length_take_linear_time():
    # quadratic backtracking would need minutes for this
    assert parse_head(b"-1 [0] " * 100_000) is None
    assert parse_head(b"1  0..... " * 100_000) is None
    assert re.search(rb"\d", b"-1 [0] ")
