"""Text that blkparse prints, against blktrace's binary files that it was printed from."""

from pathlib import Path

import pytest

from foreread.analyzer.ingest import blkparse, blktrace
from foreread.analyzer.ingest.detect import open_trace
from foreread.analyzer.ingest.load import load_any
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.tables import Kind, Rwbs

DATA = Path(__file__).parent / "data"
LINE = "  8,0    1       12     0.000006260  9052  {}   R 8 + 8 [ls]\n"


def written(directory, content):
    path = directory / "text"
    path.write_text(content)
    return path


def test_three_reads_are_issued_with_their_sizes():
    recording = load_any(DATA / "brought/blkparse.txt")
    requests = recording.requests
    assert recording.trace.format == "blkparse text"
    assert (requests["sectors"] * 512 // 1024).tolist() == [4, 16, 64]
    assert (requests["flags"] & Rwbs.READ > 0).all()
    assert (requests["complete_ns"] > requests["issue_ns"]).all()
    assert (requests["pid"].tolist(), requests["dev"].tolist()) == ([9052] * 3, [7 << 20] * 3)
    assert any("no window can be predicted" in note for note in recording.notes)


def test_the_text_of_a_binary_trace_has_its_requests():
    text = open_trace(DATA / "blktrace/blkparse.txt").events
    binary = blktrace.read(DATA / "blktrace/start.bin").events
    binary = binary.take(binary["value"] > 0)  # commands of the disk's driver have no sectors
    assert text.rows == binary.rows == 27
    for name in ("cpu", "kind", "pid", "dev", "index", "value", "flags"):
        assert text[name].tolist() == binary[name].tolist(), name
    # blkparse's times begin with its first event
    later = binary["time_ns"] - text["time_ns"]
    assert (later == later[0]).all()


def test_other_actions_are_passed_over(tmp_path):
    lines = [LINE.format(action) for action in ("Q", "G", "I", "D", "C")]
    lines.append("  8,0    1       13     0.000006262  9052  P   N [ls]\n")
    lines.append("  8,0    1       14     0.000006263  9052  A   R 16 + 8 <- (8,3) 8\n")
    lines.append("  8,0    1        0     0.000006264     0  m   N cfq52 dispatch\n")
    lines.append("  8,0    1       15     0.000006265  9052  U   N [ls] 1\r\n")
    lines.append("CPU0 (8,0):\n Reads Queued:           1,       16KiB\n")
    events = blkparse.read(written(tmp_path, "".join(lines))).events
    assert events["kind"].tolist() == [Kind.BIO_QUEUE, Kind.RQ_ISSUE, Kind.RQ_COMPLETE]


def test_skipped_events_are_losses(tmp_path):
    summary = "Throughput (R/W): 0KiB/s / 0KiB/s\nEvents (8,0): 1,234 entries\n"
    summary += "Skips: 2 forward (1,017 -  45.2%)\n"
    assert blkparse.read(written(tmp_path, LINE.format("D") + summary)).lost == {-1: 1017}
    none = summary.replace("2 forward (1,017 -  45.2%)", "0 forward (0 -   0.0%)")
    assert blkparse.read(written(tmp_path, LINE.format("D") + none)).lost == {}


def test_a_text_without_requests_is_refused(tmp_path):
    with pytest.raises(TraceError, match="without queued, issued or completed") as caught:
        open_trace(written(tmp_path, LINE.format("G")))
    assert "blktrace.N" in caught.value.remedy


@pytest.mark.parametrize(
    ("good", "odd"),
    [
        ("8,0 ", "8,99999999 "),
        ("8,0 ", "5000,0 "),
        (
            "8 + 8 [",
            "8 + [",
        ),
        (" + 8 [ls]", ""),
    ],
)
def test_requests_that_cannot_be_read_are_counted(good, odd, tmp_path):
    lines = LINE.format("D") + LINE.format("D").replace(good, odd)
    trace = blkparse.read(written(tmp_path, lines))
    assert (trace.events.rows, trace.unread) == (1, 1)
    assert "1 request could not be read" in trace.notes[-1]


def test_commands_without_sectors_are_no_requests(tmp_path):
    command = LINE.format("D").replace("8 + 8 [ls]", "36 (12 00 00 00 24 00 ..) [hdparm]")
    flush = LINE.format("C").replace("R 8 + 8 [ls]", "N [0]")
    trace = blkparse.read(written(tmp_path, LINE.format("D") + command + flush))
    assert (trace.events.rows, trace.unread) == (1, 0)


def test_a_text_after_a_long_log_is_read(tmp_path):
    log = "[    0.000000] Booting Linux on physical CPU 0x0\n" * 2000
    path = written(tmp_path, log + (DATA / "brought/blkparse.txt").read_text())
    assert open_trace(path).events.rows == 10


def test_a_text_quoted_in_a_mail_is_read(tmp_path):
    lines = (DATA / "brought/blkparse.txt").read_text().splitlines(keepends=True)
    quoted = open_trace(written(tmp_path, "".join(f"> > {line}" for line in lines)))
    assert quoted.events.rows == open_trace(DATA / "brought/blkparse.txt").events.rows == 10
