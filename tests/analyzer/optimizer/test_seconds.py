"""Seconds by window: from a capture's events to the predicted best and the verdict."""

from __future__ import annotations

import pytest
from event_table import R, event, insert, read, table

from analyzer.device_model import DeviceModelError
from analyzer.ingest.load import interpret
from analyzer.ingest.recording import Trace
from analyzer.ingest.tables import Kind
from analyzer.optimizer.linux import predict_linux
from emulator.device import FixedCost
from tracer.capture import Capture, Cold, Device, FileEntry, Host

PAGE = 4096
PAGES = 64
SERVICE_NS, COMPUTED_NS = 1_200_000, 300_000
DEVICE = FixedCost(1_000_000, 50_000)
ENTRY = FileEntry(dev="7:0", ino=1, path="/a", size_bytes=PAGES * PAGE)


def captured(end_ns: int, current: int, devices: int = 1) -> Capture:
    disks = [
        Device(
            dev=f"{7 + row}:0",
            name=f"disk{row}",
            filesystems=[],
            size_bytes=1 << 30,
            read_ahead_kb_before=current,
            read_ahead_kb=0,
            queue={},
        )
        for row in range(devices)
    ]
    host = Host(
        kernel="6.12.1",
        version="#1",
        machine="x86_64",
        page_size=PAGE,
        byte_order="little",
        long_size=8,
        cpu_count=2,
        memory_kib=1 << 20,
    )
    return Capture(
        foreread="0",
        created="2026-11-21T00:00:00Z",
        backend="tracefs",
        host=host,
        command=["true"],
        cwd="/",
        pid=1,
        exit_status=0,
        ended_by="exit",
        wall_seconds=1.0,
        start_ns=0,
        end_ns=end_ns,
        clock="mono",
        read_ahead_kb=0,
        events=[],
        events_missing=[],
        lost={},
        cold=Cold(proven=True, how="", resident_pages=0, resident=[]),
        devices=disks,
        mounts=[],
    )


def recorded(current: int = 128, pages=range(PAGES), large: int = 0, threads: int = 1):
    """Page 0 is faulted in, others are read, 300 µs apart; then ``large`` reads of metadata."""
    events, now = [], 0
    for page in pages:
        now += COMPUTED_NS
        pid = 1 + page % threads
        if page == 0:
            events.append(event(Kind.FAULT, pid=pid, ino=1, index=page, time_ns=now - 5_000))
        events += [
            insert(1, page, pid=pid, time_ns=now - 3_000),
            read(page * 8, 1, pid=pid, time_ns=now - 10),
            event(Kind.RQ_ISSUE, index=page * 8, value=8, flags=R, time_ns=now),
        ]
        now += SERVICE_NS
        events.append(event(Kind.RQ_COMPLETE, index=page * 8, value=8, flags=R, time_ns=now))
        kind = Kind.GET_PAGES if page else Kind.MAP_PAGES
        events.append(event(kind, pid=pid, ino=1, index=page, value=page, time_ns=now + 500))
    for row in range(large):
        sector = 100_000 + 128 * row
        both = {"index": sector, "value": 128, "flags": R | 8}
        events.append(event(Kind.RQ_ISSUE, **both, time_ns=now))
        now += 4_200_000
        events.append(event(Kind.RQ_COMPLETE, **both, time_ns=now))
    trace = Trace("test", table(*events), kernel="6.12.1")
    return interpret(trace, captured(now + 50, current), [ENTRY], "all")


def test_without_readahead_the_run_takes_what_it_took():
    """64 × 1.5 ms, less what recording 320 events, 10 ns apart at the closest, took."""
    found = predict_linux(recorded(), windows=[0, 32], device=DEVICE)
    assert found.total.seconds is not None
    assert found.total.seconds[0] == pytest.approx(64 * 1.5e-3, abs=1e-5)


def test_what_was_never_judged_does_not_decide():
    found = predict_linux(recorded(current=0, threads=2), windows=[0, 32], device=DEVICE)
    assert found.total.predicted_best == 32
    assert any("not confirmed" in note and "2 threads" in note for note in found.notes)
    assert "published criterion" in found.verdict.why


def test_windows_beside_the_ladder_are_replayed_too():
    found = predict_linux(recorded(), windows=list(range(513, 600)), device=DEVICE)
    assert found.total.seconds[0] is not None


def test_a_sequential_read_is_fastest_with_readahead():
    """Every page is read once, in fewer requests; the disk cannot do it faster than its bytes."""
    found = predict_linux(recorded(current=0), windows=[0, 4, 32], device=DEVICE)
    alone, four, many = found.total.seconds
    assert alone > four > many > PAGES * (4 * 50e-6)
    assert found.total.predicted_best == 32
    assert (found.verdict.action, found.verdict.read_ahead_kb) == ("set", 128)
    assert found.devices[0].seconds == found.total.seconds


def test_the_present_setting_is_kept_if_it_is_as_good():
    found = predict_linux(recorded(current=128), windows=[0, 4, 32], device=DEVICE)
    assert (found.verdict.action, found.verdict.read_ahead_kb) == ("keep", 128)


def test_of_many_windows_some_are_replayed():
    found = predict_linux(recorded(current=20), device=DEVICE)
    seconds = found.total.seconds
    assert [w for w in range(20) if seconds[w] is not None] == [0, 1, 2, 3, 4, 5, 6, 8, 12, 16]
    assert len(seconds) == len(found.total.windows) == 1024


def test_the_device_is_learnt_from_the_capture():
    found = predict_linux(recorded(large=4), windows=[0])
    assert any("1,000 µs a request and 50.0 µs a KiB, learnt" in note for note in found.notes)
    assert found.total.seconds[0] == pytest.approx(64 * 1.5e-3 + 4 * 4.2e-3, abs=1e-5)


def test_a_device_that_cannot_be_learnt_leaves_the_published_verdict():
    found = predict_linux(recorded(), windows=[0, 32])
    assert (found.total.seconds, found.total.predicted_best) == (None, None)
    assert any(note.startswith("no seconds: nearly all reads are of 4 KiB") for note in found.notes)
    assert "published criterion" in found.verdict.why


def test_a_trace_without_capture_has_no_seconds():
    trace = Trace("test", table(insert(1, 0), read(0, 1)), kernel="6.12.1")
    recording = interpret(trace, None, [ENTRY], "all")
    assert predict_linux(recording, windows=[0]).total.seconds is None
    with pytest.raises(DeviceModelError, match="need a capture"):
        predict_linux(recording, windows=[0], device=DEVICE)


def test_two_disks_have_no_seconds():
    other = 8 << 20
    events = [insert(1, 0), read(0, 1), insert(1, 0, dev=other), read(0, 1, dev=other)]
    trace = Trace("test", table(*events), kernel="6.12.1")
    recording = interpret(trace, captured(10_000, 128, devices=2), [ENTRY], "all")
    found = predict_linux(recording, windows=[0])
    assert found.total.seconds is None
    assert any("one disk only" in note for note in found.notes)
