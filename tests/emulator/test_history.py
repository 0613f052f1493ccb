"""The timed replay with its history, on cases worked out by hand: 1,000 ns and 100 ns a KiB."""

from __future__ import annotations

from programs import Script
from timed_runs import run_of

from foreread.emulator.devices.device import FixedCost
from foreread.emulator.linux.operations import Cause
from foreread.emulator.stepwise.history import DISK, PROCESSOR, THREAD, history
from foreread.emulator.stepwise.timed import timed

DEVICE = FixedCost(1000, 100)


def three_reads():
    """Pages 0, 1 and 2 of a file, read one by one."""
    script = Script()
    handle = script.open(script.file(8))
    for page in range(3):
        script.read(handle, page)
    rows = [
        {"operation": 0},
        {"operation": 1, "cpu_ns": 10},
        {"operation": 2, "cpu_ns": 10},
        {"operation": 3, "cpu_ns": 500},
    ]
    return run_of(script, rows, 30)


def test_requests_and_the_pages_that_they_bring():
    """10: pages 0-1, there at 1810; 1820: pages 2-5, there at 4420; 2320: pages 6-7."""
    found = history(three_reads(), 4, DEVICE)
    assert found.sent[["sent_ns", "done_ns", "sectors"]].tolist() == [
        (10, 1810, 16),
        (1820, 4420, 32),
        (2320, 6220, 16),
    ]
    assert found.loaded[["page", "request"]].tolist() == [
        *((page, 0) for page in (0, 1)),
        *((page, 1) for page in (2, 3, 4, 5)),
        *((page, 2) for page in (6, 7)),
    ]
    causes = [Cause.SEQUENTIAL] * 2 + [Cause.MARKER] * 6
    assert found.loaded["cause"].tolist() == causes


def test_first_touches_are_when_the_page_is_there():
    found = history(three_reads(), 4, DEVICE)
    assert found.touched[["time_ns", "page"]].tolist() == [(1810, 0), (1820, 1), (4420, 2)]


def test_waits_for_the_disk():
    found = history(three_reads(), 4, DEVICE)
    assert found.waits.tolist() == [(10, 1810, 0, DISK), (2320, 4420, 0, DISK)]


def test_waits_for_threads_and_processors():
    """Thread 1 computes 50 on the only CPU; thread 0 wants it from 0 on, then thread 1 waits."""
    rows = [
        {"operation": -1, "thread": 1, "cpu_ns": 50},
        {"operation": -1, "thread": 0, "cpu_ns": 20},
        {"operation": -1, "thread": 1, "waits_for": 1},
    ]
    found = history(run_of(Script(), rows), 0, DEVICE)
    assert found.waits.tolist() == [(0, 50, 0, PROCESSOR), (50, 70, 1, THREAD)]


def test_the_history_is_that_of_the_timed_replay():
    run = three_reads()
    assert history(run, 2, DEVICE).timed.total_ns == timed(run, 2, DEVICE).total_ns
