"""blktrace's binary files against what blkparse prints of them."""

import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from foreread.analyzer.ingest import blktrace
from foreread.analyzer.ingest.detect import open_trace
from foreread.analyzer.ingest.load import load, load_any
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.tables import Kind, Rwbs

DATA = Path(__file__).parent / "data/blktrace"
ACTIONS = {"Q": Kind.BIO_QUEUE, "D": Kind.RQ_ISSUE, "C": Kind.RQ_COMPLETE}
LETTERS = {Rwbs.READ: "R", Rwbs.WRITE: "W", Rwbs.AHEAD: "A", Rwbs.META: "M", Rwbs.SYNC: "S"}


def printed():
    """Return (ns, cpu, pid, kind, sector, sectors, flags) of each line that blkparse printed."""
    for line in (DATA / "start.txt").read_text().splitlines():
        words = line.split()
        if len(words) == 7 and words[3] in ACTIONS:  # plugs and messages have fewer
            time, cpu, pid, action, flags, sector, sectors = words
            seconds, nanoseconds = time.split(".")
            ns = int(seconds) * 10**9 + int(nanoseconds)
            numbers = (int(sector), int(sectors), "".join(sorted(flags)))
            yield ns, int(cpu), int(pid), ACTIONS[action], *numbers


def read_by_us(path):
    events = blktrace.read(path).events
    names = ("time_ns", "cpu", "pid", "kind", "index", "value", "flags")
    for *numbers, flags in zip(*(events[name].tolist() for name in names), strict=True):
        letters = "".join(sorted(letter for flag, letter in LETTERS.items() if flags & flag))
        yield *numbers, letters


@pytest.mark.parametrize("name", ["start.blktrace.0", "start.blktrace.1", "start.bin"])
def test_every_request_is_as_blkparse_prints_it(name):
    found = list(read_by_us(DATA / name))
    assert len(found) > 20
    times = [row[0] for row in found]
    assert times == sorted(times)
    first = min(row[0] for row in found)
    zero = min(row[0] for row in printed())
    relative = Counter((row[0] - first, *row[1:]) for row in found)
    assert relative == Counter((row[0] - zero, *row[1:]) for row in printed())


def test_a_read_ahead_file_is_a_few_large_requests():
    recording = load_any(DATA / "start.bin")
    requests = recording.requests
    reads = (requests["flags"] & Rwbs.READ) > 0
    ahead = reads & ((requests["flags"] & Rwbs.AHEAD) > 0)
    assert requests["sectors"][ahead].sum() >= 512  # 256 KiB
    assert (requests["complete_ns"][reads] > requests["issue_ns"][reads]).all()
    assert any("no window can be predicted" in note for note in recording.notes)


def test_nothing_can_be_predicted_from_it():
    with pytest.raises(TraceError, match="no event filemap:mm_filemap_add_to_page_cache"):
        load(DATA / "start.bin")


def test_big_endian_files_are_read(tmp_path):
    path = tmp_path / "big"
    action = (1 << 0 | 1 << 12) << 16 | 7
    path.write_bytes(
        struct.pack(">IIQQIIIIIHH", 0x65617407, 1, 5, 24, 4096, action, 9, 8 << 20 | 1, 1, 0, 2)
        + b"xx"
    )
    events = open_trace(path).events
    assert (events["time_ns"][0], events["pid"][0], events["dev"][0]) == (5, 9, 8 << 20 | 1)
    assert (events["index"][0], events["value"][0]) == (24, 8)
    assert events["flags"][0] == Rwbs.READ | Rwbs.META


def test_a_record_that_is_cut_off_is_left_out_with_a_note(tmp_path):
    data = (DATA / "start.bin").read_bytes()
    path = tmp_path / "cut"
    path.write_bytes(data[:-1])
    assert any("ends inside a record" in note for note in blktrace.read(path).notes)


def test_bytes_between_records_are_damage(tmp_path):
    data = (DATA / "start.bin").read_bytes()
    path = tmp_path / "damaged"
    path.write_bytes(data + b"\0" * 48)
    with pytest.raises(TraceError, match="no record at byte") as caught:
        open_trace(path)
    assert "blktrace -d DISK" in caught.value.remedy


def test_any_prefix_is_read_or_refused(tmp_path):
    data = (DATA / "start.blktrace.0").read_bytes()
    path = tmp_path / "prefix"
    read = refused = 0
    for length in range(4, len(data), 7):
        path.write_bytes(data[:length])
        try:
            read += blktrace.read(path).events.rows >= 0
        except TraceError:
            refused += 1
    assert read > 100
    assert refused <= 7  # shorter than a record
    assert np.uint32(read)
