"""Lost events: each form counts what it says of them, and nothing is 0 that is not known."""

import lzma
import shutil
import struct
from pathlib import Path

import pytest
from capture_builder import capture_of, recording_of
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from foreread.analyzer.ingest.detect import open_trace
from foreread.analyzer.ingest.losses import losses_text, lost_by_cpu, lost_events, missing_cpus
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import EVENTS, Table
from foreread.tracer.formats.capture import NO_METADATA

DATA = Path(__file__).parent / "data"
LINE = "  app-7 [001] .... 1.000000: mm_filemap_add_to_page_cache: dev 8:1 ino 2a pfn=1 ofs=0\n"
PERF = "app 7 [001] 1.000000: filemap:mm_filemap_add_to_page_cache: dev 8:1 ino 2a pfn=1 ofs=0\n"
START, END = 1, 2
NOT_COUNTED = "this text does not count them"
CUT = "the text has fewer lines than its head counts entries"


def of_text(tmp_path, text):
    path = tmp_path / "trace.txt"
    path.write_text(text)
    trace = open_trace(path)
    return trace.lost, trace.uncounted


@pytest.mark.parametrize(
    ("before", "line", "after", "lost", "uncounted"),
    [
        ("", LINE, "", {}, NOT_COUNTED),
        ("# entries-in-buffer/entries-written: 1/1   #P:4\n", LINE, "", {}, ""),
        ("# entries-in-buffer/entries-written: 1/8   #P:4\n", LINE, "", {-1: 7}, ""),
        ("# entries-in-buffer/entries-written: 9/9   #P:4\n", LINE, "", {}, CUT),
        ("CPU:3 [LOST 12 EVENTS]\n", LINE, "CPU:1 [LOST 5 EVENTS]\n", {3: 12, 1: 5}, ""),
        ("cpus=2\n", LINE, "CPU:1 [6 EVENTS DROPPED]\n", {1: 6}, ""),
        ("cpus=2\n", LINE, "CPU:1 [EVENTS DROPPED]\n", {1: 1}, ""),
        ("cpus=2\n", LINE, "", {}, ""),
        (  # lines that name their CPU count alone
            "# entries-in-buffer/entries-written: 100/163   #P:2\nCPU:1 [LOST 234 EVENTS]\n",
            LINE,
            "CPU:1 [6 EVENTS DROPPED]\nCPU:0 [EVENTS DROPPED]\n",
            {0: 1, 1: 240},
            "",
        ),
        ("", PERF, "", {}, NOT_COUNTED),
        ("", PERF, "app 7 [002] 1.1: PERF_RECORD_LOST lost 42\n", {2: 42}, ""),
        ("", PERF, "app 7 [002] 1.1: PERF_RECORD_LOST_SAMPLES lost 9\n", {-1: 9}, ""),
        (
            "app 7 [002] 1.1: PERF_RECORD_LOST lost 4\n",
            PERF,
            "app 0 [000] 1.2: PERF_RECORD_LOST_SAMPLES lost 9\n",
            {2: 4, -1: 5},
            "",
        ),
        ("", PERF, "Processed 9 events and lost 3 chunks!\n", {-1: 3}, ""),
        ("", PERF, "Processed 900 samples and lost 25.00%!\n", {-1: 300}, ""),
        ("", LINE, "[  312.204] CPU:2 [LOST 40 EVENTS]\n", {2: 40}, ""),
    ],
)
def test_text_counts_what_its_program_says(tmp_path, before, line, after, lost, uncounted):
    assert of_text(tmp_path, before + line + after) == (lost, uncounted)


def of_perfetto(tmp_path, fill):
    builder = TraceProtoBuilder()
    bundle = builder.add_packet().ftrace_events
    bundle.cpu = 1
    bundle.event.add().mm_filemap_add_to_page_cache.index = 1
    fill(builder)
    path = tmp_path / "trace"
    path.write_bytes(builder.serialize())
    trace = open_trace(path)
    return trace.lost, trace.uncounted


def stats(builder, phase, cpu=1, **counts):
    packet = builder.add_packet()
    packet.ftrace_stats.phase = phase
    one = packet.ftrace_stats.cpu_stats.add()
    one.cpu = cpu
    for name, count in counts.items():
        setattr(one, name, count)


def test_perfetto_counts_what_was_lost_between_its_start_and_its_end(tmp_path):
    def fill(builder):
        stats(builder, START, overrun=70)
        stats(builder, END, overrun=100, dropped_events=3, commit_overrun=2)
        stats(builder, END, cpu=2, overrun=5)

    assert of_perfetto(tmp_path, fill) == ({1: 35, 2: 5}, "")


def test_perfetto_counts_marked_bundles_and_overwritten_chunks(tmp_path):
    def fill(builder):
        stats(builder, START, overrun=0)
        stats(builder, END, overrun=0)
        builder.add_packet().ftrace_events.lost_events = True
        packet = builder.add_packet()
        packet.trace_stats.buffer_stats.add().chunks_overwritten = 11

    assert of_perfetto(tmp_path, fill) == ({0: 1, -1: 11}, "")


def test_perfetto_without_statistics_does_not_know(tmp_path):
    lost, uncounted = of_perfetto(tmp_path, lambda builder: None)
    assert (lost, uncounted) == ({}, "the trace has no ftrace_stats of its end")


def copied(tmp_path, *cpus):
    for cpu in cpus:
        shutil.copy(DATA / f"blktrace/start.blktrace.{cpu}", tmp_path)
    return tmp_path / f"start.blktrace.{cpus[0]}"


def test_a_whole_blktrace_has_lost_nothing(tmp_path):
    trace = open_trace(copied(tmp_path, 0, 1))
    assert (trace.lost, trace.uncounted) == ({}, "")


def test_a_blktrace_without_the_file_of_a_cpu_does_not_know(tmp_path):
    trace = open_trace(copied(tmp_path, 1))
    assert trace.uncounted == "the records of CPU 0 are missing"
    trace = open_trace(DATA / "blktrace/start.bin")
    assert not trace.uncounted


def records(*rows, cpu=0):
    """Return records of requests: sequence, time, sector and action."""
    kinds = {"Q": 1 << 16 | 1, "D": 1 << 16 | 7, "C": 1 << 16 | 8}
    return b"".join(
        struct.pack(
            "<IIQQIIIIIHH",
            *(0x65617407, sequence, time, sector, 4096, kinds[action], 9, 8 << 20, cpu, 0, 0),
        )
        for sequence, time, sector, action in rows
    )


def test_numbers_of_records_that_blktrace_lacks_are_lost(tmp_path):
    rows = [(1, 1, 8, "Q"), (2, 2, 8, "D"), (6, 3, 8, "C")]
    (tmp_path / "x.blktrace.0").write_bytes(records(*rows))
    (tmp_path / "x.blktrace.1").write_bytes(records((1, 4, 64, "Q"), cpu=1))
    assert open_trace(tmp_path / "x.blktrace.0").lost == {0: 3}


def test_requests_whose_completions_are_on_a_missing_cpu_are_counted(tmp_path):
    """CPU 0 issues 20 requests; only 8 of them are completed on CPUs 0 and 1."""
    issued = [(1 + row, 10 * row, 8 * row, "D") for row in range(20)]
    done = [(1 + row, 10 * row + 5, 8 * row, "C") for row in range(8)]
    (tmp_path / "x.blktrace.0").write_bytes(records(*issued))
    (tmp_path / "x.blktrace.1").write_bytes(records(*done, cpu=1))
    assert open_trace(tmp_path / "x.blktrace.0").lost == {-1: 12}


def test_pages_of_a_cpu_without_statistics_or_none_at_all_are_named(tmp_path):
    folder = tmp_path / "pages"
    shutil.copytree(DATA / "ftrace/pages", folder)
    assert open_trace(folder).uncounted == ""
    (folder / "stats/cpu0").unlink()
    assert "CPU 0 has no statistics" in open_trace(folder).uncounted


def test_trace_dat_without_statistics_does_not_know(tmp_path):
    data = (DATA / "ftrace/v6.trace.dat").read_bytes()
    path = tmp_path / "trace.dat"
    path.write_bytes(data.replace(b"CPU: ", b"GPU: "))
    assert not open_trace(DATA / "ftrace/v6.trace.dat").uncounted
    assert open_trace(path).uncounted == "the file has no statistics of the buffers"


def test_perf_data_that_is_cut_has_lost_what_it_lacks(tmp_path):
    data = lzma.decompress((DATA / "perf/pipe.data.xz").read_bytes())
    path = tmp_path / "perf.data"
    path.write_bytes(data[: len(data) - 20])
    assert open_trace(path).lost == {-1: 1}


def recorded(lost=None, uncounted="", capture=NO_METADATA):
    trace = Trace("test", Table.empty(EVENTS), lost=lost or {}, uncounted=uncounted)
    return recording_of([], [], trace=trace, capture=capture)


def test_the_recorder_and_the_trace_may_count_the_same():
    both = recorded({0: 3}, capture=capture_of(lost={"0": 2, "1": 5}))
    assert (lost_events(both), lost_by_cpu(both)) == (7, {"0": 2, "1": 5})
    assert lost_events(recorded({0: 9}, capture=capture_of(lost={"0": 2}))) == 9


def test_a_capture_knows_its_losses():
    assert losses_text(recorded(uncounted="no", capture=capture_of())) == "0 events"
    assert losses_text(recorded(uncounted="no")) == "unknown: no"
    assert losses_text(recorded({1: 1}, "no")).startswith("at least 1 event: ")


def test_missing_cpus_are_those_below_the_last_one():
    assert missing_cpus({0, 1, 4}) == [2, 3]
    assert missing_cpus({0}) == missing_cpus(()) == []
