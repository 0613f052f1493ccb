"""Context switches and wake-ups, recorded on the running kernel by each recorder."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from rings import further
from waiting import left_s

from foreread.analyzer.ingest import load
from foreread.analyzer.ingest.tables import Kind
from foreread.boards.target import LocalTarget
from foreread.tracer.backends import base, tracefs_mount
from foreread.tracer.backends.select import choose
from foreread.tracer.local.record import record
from foreread.tracer.remote.record import record_on
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

ROUNDS = 50
PING_PONG = f"""
import os
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})  # on one CPU: one of them has to sleep
there, back = os.pipe(), os.pipe()
if os.fork() == 0:
    for _ in range({ROUNDS}):
        os.read(there[0], 1)
        os.write(back[1], b"x")
    os._exit(0)
for _ in range({ROUNDS}):
    os.write(there[1], b"x")
    os.read(back[0], 1)
os.wait()
"""
IN_INTERRUPT = 8 | 16  # common_flags

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: recording was not checked"),
]


def options():
    run = RunOptions([sys.executable, "-c", PING_PONG], allow_warm=True)
    return RecordOptions(run, wait_s=left_s())


def on_target(output):
    return record_on(LocalTarget(), options(), output, shell=("busybox", "sh"))


@pytest.mark.parametrize("name", further(("tracefs", "trace-cmd", "perf", "busybox"), ["tracefs"]))
def test_each_wake_up_and_each_switch_is_there(name, tmp_path):
    """Parent and child wake each other; whoever sleeps, leaves a CPU and comes back to one.

    Some machines show few of the switches from idle, so that fewer come than leave.
    """
    output = tmp_path / "capture"
    capture = on_target(output) if name == "busybox" else record(options(), choose(name)[0], output)
    assert sum(capture.lost.values()) == 0
    recording = load.load_any(output)
    events = recording.trace.events
    child = max(recording.threads - {capture.pid})
    wakes = events.take(events["kind"] == Kind.WAKING)
    by_thread = (wakes["index"] & np.uint64(IN_INTERRUPT)) == 0
    pairs = ((capture.pid, child), (child, capture.pid))
    woken = [by_thread & (wakes["pid"] == waker) & (wakes["value"] == one) for waker, one in pairs]
    assert sum(int(theirs.sum()) for theirs in woken) > ROUNDS / 2
    switches = events.take(events["kind"] == Kind.SWITCH)
    slept = 0
    for thread in (capture.pid, child):
        left = switches["pid"] == thread
        slept += int((left & ((switches["index"] & np.uint64(3)) > 0)).sum())
        came = switches["value"] == thread
        assert 0 < came.sum() <= left.sum() + 1
    assert slept > ROUNDS / 2


@pytest.mark.thorough
def test_a_replacement_event_is_recorded(tmp_path, monkeypatch):
    events = tuple(
        "sched:no_such" if name == "sched:sched_waking" else name for name in base.WANTED_EVENTS
    )
    standins = {"sched:no_such": "sched:sched_wakeup"}
    monkeypatch.setattr(tracefs_mount, "STANDINS", standins)
    monkeypatch.setattr("foreread.tracer.remote.record.STANDINS", standins)
    run = RunOptions(["true"], allow_warm=True)
    asked = RecordOptions(run, events=events, wait_s=left_s())
    here = record(asked, choose("tracefs")[0], tmp_path / "here")
    there = record_on(LocalTarget(), asked, tmp_path / "there", shell=("busybox", "sh"))
    for capture, output in ((here, tmp_path / "here"), (there, tmp_path / "there")):
        assert "sched:no_such" in capture.events_missing
        assert "sched:sched_wakeup" in capture.events
        kinds = load.load_any(output).trace.events["kind"]
        assert (kinds == Kind.WAKING).any()
