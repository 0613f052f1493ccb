"""trace.dat, read back by trace-cmd and by foreread's own reader."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from capture_builder import recording_of
from rings import further
from unpacked import unpack

from foreread.analyzer.export.events import Track
from foreread.analyzer.export.lanes import rows_of
from foreread.analyzer.export.make import export
from foreread.analyzer.export.recorded import start_ns
from foreread.analyzer.export.tracedat import tracedat_of
from foreread.analyzer.ingest.detect import open_trace
from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.losses import lost_events
from foreread.analyzer.ingest.tables import Kind

NAMES = {
    Kind.INSERT: "mm_filemap_add_to_page_cache",
    Kind.FAULT: "mm_filemap_fault",
    Kind.GET_PAGES: "mm_filemap_get_pages",
    Kind.MAP_PAGES: "mm_filemap_map_pages",
    Kind.BIO_QUEUE: "block_bio_queue",
    Kind.RQ_ISSUE: "block_rq_issue",
    Kind.RQ_COMPLETE: "block_rq_complete",
    Kind.SWITCH: "sched_switch",
    Kind.WAKING: "sched_waking",
}
KINDS = tuple(NAMES)
FOREIGN = Path(__file__).parents[1] / "ingest/data/foreign"
CAPTURES = Path(__file__).parents[2] / "foreread/data"


@pytest.fixture(scope="module")
def file(exported, start, tmp_path_factory):
    path = tmp_path_factory.mktemp("tracedat") / "start.dat"
    path.write_bytes(tracedat_of(exported, start, start_ns(start)))
    return path


def reported(*words):
    if not shutil.which("trace-cmd"):
        pytest.skip("no trace-cmd: it did not read the exported file")
    done = subprocess.run(
        ["trace-cmd", "report", *words], capture_output=True, text=True, check=True
    )
    assert not done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def report(file):
    return reported(str(file)).splitlines()


def test_trace_cmd_prints_every_event(report, exported, start):
    found = Counter(match[1] for line in report if (match := re.search(r"\d: +(\w+):", line)))
    kinds = start.trace.events["kind"]
    own = {
        Track.ACCESSES: "page_access",
        Track.REQUESTS: "request",
        Track.UNUSED: "read_unused",
        Track.WAITING: "wait",
    }
    expected = Counter({NAMES[kind]: int((kinds == kind).sum()) for kind in KINDS})
    expected["file_system"] = len(np.unique(start.files["dev"]))
    for track, name in own.items():
        expected[name] = sum(len(rows_of(exported, run, track)) for run in range(3))
    assert +found == +expected


def test_trace_cmd_prints_names_and_runs(report):
    unused = [line for line in report if " read_unused: " in line]
    assert re.search(r"run=2 around page=\d+ pages=\d+ /\S+", unused[0])
    assert not any("FIELD" in line or "FAILED" in line for line in report)


def test_foreread_reads_the_recorded_events_back(file, start):
    found = open_trace(file)
    events = start.trace.events
    expected = events.take(np.isin(events["kind"], KINDS))
    order = np.lexsort((expected["cpu"], expected["time_ns"]))
    again = np.lexsort((found.events["cpu"], found.events["time_ns"]))
    for name in ("time_ns", "cpu", "kind", "pid", "dev", "ino"):
        assert (found.events[name][again] == expected[name][order]).all(), name
    assert (found.kernel, found.page_size) == (start.kernel, start.page_size)


@pytest.mark.parametrize(
    "path",
    further(
        [
            *(FOREIGN / name for name in ("by-task.pftrace", "nfs.txt", "stacked.txt")),
            *(FOREIGN / name for name in ("phone.txt", "kworker.pftrace", "ra-events.txt")),
            FOREIGN / "overwritten.txt",
            *(
                CAPTURES / f"{name}/{name}.capture.tar.xz"
                for name in ("f2fs-madplay", "arm64-16k-madplay", "btrfs-madplay")
            ),
            CAPTURES / "squashfs-madplay/squashfs-madplay.capture.tar.xz",
        ],
        8,
    ),
    ids=lambda path: path.name,
)
def test_what_is_exported_has_the_pages_of_what_was_read(path, tmp_path):
    """Read again it has all pages, requests, the window, and the lost events.

    The export has no sizes of files: those of a capture are in its files.json.
    """
    before = load(path, "all")
    export(before, tmp_path / "trace.dat", "trace-dat")
    sizes = None
    if before.capture.mounts:
        unpack(path, tmp_path / "capture")
        (sizes,) = (tmp_path / "capture").rglob("files.json")
    after = load(tmp_path / "trace.dat", "all", inodes=sizes)
    names = ("dev", "ino", "index")
    was, found = (
        sorted(zip(*(one.inserts.data[name].tolist() for name in names), strict=True))
        for one in (before, after)
    )
    assert found == was
    assert (after.accesses.rows, after.counts) == (before.accesses.rows, before.counts)
    assert after.requests.rows == before.requests.rows
    assert after.recorded_read_ahead_kb == before.recorded_read_ahead_kb
    assert after.contaminated == before.contaminated
    assert lost_events(after) == lost_events(before)


def test_a_long_pause_between_events_is_kept(hostile, tmp_path):
    hostile.events["start_ns"][:] = [0, 1 << 26, 1 << 40, (1 << 40) + 1]
    path = tmp_path / "pause.dat"
    path.write_bytes(tracedat_of(hostile, recording_of([], []), 5))
    found = re.findall(r" (\d+)\.(\d{9}):", reported("-t", str(path)))
    times = [int(seconds + nanoseconds) for seconds, nanoseconds in found]
    assert times == [5, 5 + (1 << 26), 5 + (1 << 40), 6 + (1 << 40)]
