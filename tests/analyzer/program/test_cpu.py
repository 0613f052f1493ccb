"""The processor's cost of a page and of a request, from made-up events."""

from dataclasses import replace

import numpy as np
import pytest
from event_table import R, event, table

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import EVENTS, Kind, Table
from foreread.analyzer.program.cold import ColdSamples
from foreread.analyzer.program.cpu import CpuSamples, cpu_samples, event_cost
from foreread.tracer.formats.capture import NO_METADATA


def test_the_processor_s_work_is_determined_by_faults():
    """Fault to insert 30, insert to issue 50, completion to the next event 40; an event takes 5."""
    rows = []
    for at in range(0, 100_000, 1000):
        rows += [
            event(Kind.FAULT, ino=5, index=at, time_ns=at + 5),
            event(Kind.INSERT, ino=5, index=at, time_ns=at + 35),
            event(Kind.BIO_QUEUE, index=at * 8, value=8, flags=R, time_ns=at + 60),
            event(Kind.RQ_ISSUE, index=at * 8, value=8, flags=R, time_ns=at + 85),
            event(Kind.RQ_COMPLETE, index=at * 8, value=8, flags=R, time_ns=at + 885),
            event(Kind.MAP_PAGES, ino=5, index=at, time_ns=at + 925),
            event(Kind.MAP_PAGES, ino=5, index=at, time_ns=at + 930),
        ]
    recording = interpret(Trace("test", table(*rows)), NO_METADATA, [], "all")
    found = cpu_samples(recording).cost()
    assert (found.page_ns, found.request_ns) == (30 - 5, 50 + 40 - 3 * 5)
    for cached_page, page_ns in ((10.0, 25.0), (3000.0, 3000.0)):
        probed = replace(cpu_samples(recording), cached_page=cached_page)
        assert probed.cost().page_ns == page_ns
    checked = replace(cpu_samples(recording), checked=10.0).cost()
    assert (checked.page_ns, checked.request_ns) == (found.page_ns + 10, found.request_ns - 10)


def test_without_events_of_faults_all_pages_read_singly_tell_of_it():
    """Insert to bio 55, to issue 110; completion to the next insert 240; an event takes 5."""
    rows = []
    for at in range(0, 100_000, 1000):
        rows += [
            event(Kind.INSERT, ino=5, index=at, time_ns=at),
            event(Kind.BIO_QUEUE, index=at * 8, value=8, flags=R, time_ns=at + 55),
            event(Kind.WAKING, time_ns=at + 60),
            event(Kind.RQ_ISSUE, index=at * 8, value=8, flags=R, time_ns=at + 110),
            event(Kind.RQ_COMPLETE, index=at * 8, value=8, flags=R, time_ns=at + 760),
        ]
    recording = interpret(Trace("test", table(*rows)), NO_METADATA, [], "all")
    found = cpu_samples(recording).cost()
    assert (found.page_ns, found.request_ns) == (50, 110 - 3 * 5 + 240 - 5 - 50)


def test_without_pages_read_singly_the_processor_s_work_is_not_known():
    rows = [
        event(Kind.INSERT, ino=5, time_ns=5),
        event(Kind.RQ_ISSUE, value=8, flags=R, time_ns=10),
        event(Kind.RQ_COMPLETE, value=8, flags=R, time_ns=20),
    ]
    recording = interpret(Trace("test", table(*rows)), NO_METADATA, [], "all")
    found = cpu_samples(recording).cost()
    assert (found.page_ns, found.request_ns) == (0, 0)


def miss(pid, cpu, at):
    """A fault whose request a kernel thread issues: 30 to the insert, 20 until the thread sleeps,
    10 from its return to the mapping."""
    sector = pid * 10_000_000 + at * 8
    page = {"ino": 5, "index": sector // 8, "pid": pid, "cpu": cpu}
    disk = {"index": sector, "value": 8, "flags": R}
    return [
        event(Kind.FAULT, time_ns=at + 5, **page),
        event(Kind.INSERT, time_ns=at + 35, **page),
        event(Kind.BIO_QUEUE, time_ns=at + 40, pid=pid, cpu=cpu, **disk),
        event(Kind.SWITCH, time_ns=at + 55, pid=pid, cpu=cpu),
        event(Kind.RQ_ISSUE, time_ns=at + 300, pid=99, cpu=1 - cpu, **disk),
        event(Kind.RQ_COMPLETE, time_ns=at + 400, pid=0, cpu=1 - cpu, **disk),
        event(Kind.SWITCH, time_ns=at + 500, pid=0, cpu=cpu),
        event(Kind.MAP_PAGES, time_ns=at + 510, **page),
        event(Kind.MAP_PAGES, time_ns=at + 515, **page),
    ]


def test_threads_are_followed_one_by_one_and_only_while_they_have_a_cpu():
    """Events are 5 apart at their closest, and two threads on two CPUs are 7 apart."""
    rows = [row for at in range(0, 100_000, 1000) for row in miss(1, 0, at) + miss(2, 1, at + 7)]
    rows.sort(key=lambda row: row[0])
    recording = interpret(Trace("test", table(*rows)), NO_METADATA, [], "all")
    found = cpu_samples(recording).cost()
    assert (found.page_ns, found.request_ns) == (30 - 5, 20 - 2 * 5 + 10 - 5)


def test_shortest_times_after_a_completion_are_partly_kernel_work():
    """A hundred completions, each 3,000 ns before its wake-up, and events far from these."""
    rows = []
    for time in range(0, 100_000_000, 1_000_000):
        rows += [(time, Kind.RQ_COMPLETE), (time + 3000, Kind.WAKING), (time + 9000, Kind.SWITCH)]
    events = Table.empty(EVENTS, len(rows))
    events["time_ns"][:], events["kind"][:] = zip(*rows, strict=True)
    assert event_cost(events) == pytest.approx(2000)
    events["time_ns"][2::3] = events["time_ns"][1::3] + 1500
    assert event_cost(events) == pytest.approx(1500)


def test_the_cost_of_computing_after_a_wait_is_that_of_the_probe():
    """With pages that were read singly, and without any.

    A request costs 1 µs to submit, and 1.3 µs on coming back with cold caches.
    """
    rounds = (np.full((12, 8), 10_000.0), np.full((12, 8), 3_000.0), np.zeros((12, 8), int))
    nothing = np.zeros(0)
    samples = CpuSamples(nothing, nothing, nothing, cold=ColdSamples(*rounds))
    assert samples.cost().cold_share == pytest.approx(0.3)
    assert samples.cost(np.random.default_rng(1)).cold_share == pytest.approx(0.3)
    each = np.full(5, 1_000.0)
    found = replace(samples, page=each, submit=each, wake=1.3 * each).cost()
    assert (found.request_ns, found.page_ns) == pytest.approx((2_000, 1_000))
    assert found.cold_share == pytest.approx(0.3)
    assert found.describe().endswith("; after a wait the first 80 µs of computing take 30% longer")
