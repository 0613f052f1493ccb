"""trace.dat, read back by trace-cmd and by foreread's own reader."""

import re
import shutil
import subprocess
from collections import Counter

import numpy as np
import pytest
from capture_builder import recording_of

from analyzer.export.events import Track
from analyzer.export.lanes import rows_of
from analyzer.export.recorded import start_ns
from analyzer.export.tracedat import tracedat_of
from analyzer.ingest.detect import open_trace
from analyzer.ingest.tables import Kind

KINDS = (Kind.INSERT, Kind.RQ_ISSUE, Kind.RQ_COMPLETE, Kind.SWITCH, Kind.WAKING)


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
    names = {
        Kind.INSERT: "mm_filemap_add_to_page_cache",
        Kind.RQ_ISSUE: "block_rq_issue",
        Kind.RQ_COMPLETE: "block_rq_complete",
        Kind.SWITCH: "sched_switch",
        Kind.WAKING: "sched_waking",
    }
    own = {
        Track.ACCESSES: "page_access",
        Track.REQUESTS: "request",
        Track.UNUSED: "read_unused",
        Track.WAITING: "wait",
    }
    expected = Counter({names[kind]: int((kinds == kind).sum()) for kind in KINDS})
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


def test_a_long_pause_between_events_is_kept(hostile, tmp_path):
    hostile.events["start_ns"][:] = [0, 1 << 26, 1 << 40, (1 << 40) + 1]
    path = tmp_path / "pause.dat"
    path.write_bytes(tracedat_of(hostile, recording_of([], []), 5))
    found = re.findall(r" (\d+)\.(\d{9}):", reported("-t", str(path)))
    times = [int(seconds + nanoseconds) for seconds, nanoseconds in found]
    assert times == [5, 5 + (1 << 26), 5 + (1 << 40), 6 + (1 << 40)]
