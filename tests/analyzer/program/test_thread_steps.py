"""Steps by thread, from events written by hand: what is computed, slept, read, and waited for."""

import numpy as np
import pytest
from event_table import BLOCKS, SLEEPS, SOFTIRQ, R, event, insert, read, switch, wake
from recorded_threads import IDLE, OTHER, A, B, C, ended, missed, rows, steps

from foreread.analyzer.ingest.tables import Kind, Rwbs
from foreread.analyzer.program import thread_steps
from foreread.tracer.formats.capture import Boot


@pytest.fixture(autouse=True)
def free_events(monkeypatch):
    """Let recording cost nothing, so that the figures are those of the events."""
    monkeypatch.setattr(thread_steps, "event_cost", lambda _: 0.0)


def test_time_after_a_request_is_not_computed():
    """Coming back takes 100 and 300, usually 200: what is above that, others caused."""
    found, total = steps(
        switch(100, IDLE, A), *missed(1000, 0), *missed(5000, 9, came=1500), *ended(9100, A)
    )
    assert rows(found, "operation", "sleep_ns", "cpu_ns") == [
        (0, 100, 900),
        (1, 0, 200 + 100 + 2700),
        (-1, 0, 200 + 200 + 2600),
    ]
    assert (found.cpus, found.ends, found.by_thread) == (2, 0, True)
    assert found.back_ns == 200
    assert total == 9100 - 2 * 1000 - 100 + 2 * 1000


def test_a_runnable_thread_that_does_not_run_computes_nothing():
    found, _ = steps(
        switch(0, IDLE, A), switch(1000, A, OTHER), switch(4000, OTHER, A), *ended(5000, A)
    )
    assert rows(found, "sleep_ns", "cpu_ns", "waits_for") == [(0, 2000, -1)]


def test_others_work_delays_a_runnable_thread():
    """A wakes OTHER, which wakes 8: both run in A's place; 7 does, too, and was woken by nobody."""
    found, _ = steps(
        switch(0, IDLE, A),
        wake(900, A, OTHER),
        switch(1000, A, OTHER),
        wake(1500, OTHER, 8),
        switch(2000, OTHER, 8),
        switch(2300, 8, 7),
        switch(4000, 7, A),
        *ended(5000, A),
    )
    assert rows(found, "sleep_ns", "cpu_ns") == [(0, 1000 + 1000 + 300 + 1000)]


def test_coming_back_takes_as_long_as_others_work_meanwhile():
    """Usually 100; once a task that A has woken has the processor for 400 more."""
    found, _ = steps(
        switch(0, IDLE, A),
        wake(50, A, OTHER),
        *missed(1000, 0),
        *missed(3000, 9),
        *[row for row in missed(5000, 19, came=1700) if row[2] != Kind.SWITCH],
        switch(5500, A, IDLE, BLOCKS),
        switch(6250, IDLE, OTHER),
        switch(6700, OTHER, A),
        *ended(9100, A),
    )
    assert found.back_ns == 100
    assert found.steps["cpu_ns"].tolist() == [1000, 200 + 100 + 700, 1000, 200 + 450 + 2400]


def test_a_kernel_worker_checks_what_was_read_before_the_thread_is_woken():
    """Completed at 2200; the worker wakes A at 2630, which is back 10 later."""

    def checked(at, page):
        rows = [row for row in missed(at, page, came=1640) if row[2] != Kind.WAKING]
        worker = [
            wake(at + 1210, IDLE, OTHER, SOFTIRQ),
            switch(at + 1230, IDLE, OTHER),
            wake(at + 1630, OTHER, A),
        ]
        return [
            row if row[0] != at + 1640 else switch(at + 1640, OTHER, A) for row in rows
        ] + worker

    found, _ = steps(switch(0, IDLE, A), *checked(1000, 0), *checked(4000, 9), *ended(9000, A))
    assert found.checked_ns == 430 - 10
    direct, _ = steps(switch(0, IDLE, A), *missed(1000, 0), *missed(4000, 9), *ended(9000, A))
    assert direct.checked_ns == 0


def test_recording_is_not_part_of_coming_back(monkeypatch):
    """Completion, wake-up and switch, 10 each, of 100; so are four more events of A."""
    monkeypatch.setattr(thread_steps, "event_cost", lambda _: 10.0)
    found, _ = steps(switch(0, IDLE, A), *missed(1000, 0), *ended(5000, A))
    assert found.back_ns == 100 - 2 * 10
    computed = 1000 + 200 + 80 + 5000 - 2300
    assert found.steps["cpu_ns"].sum() == computed - 6 * 10


def test_the_run_ends_when_its_waiter_reports_the_end():
    found, total = steps(switch(0, IDLE, A), *missed(1000, 0), *ended(5000, A), end_ns=5700)
    assert (found.tail_ns, total) == (700, 5700)
    found, total = steps(
        switch(0, IDLE, A), *missed(1000, 0), *ended(5000, A), end_ns=5700, ended_by="idle"
    )
    assert (found.tail_ns, total) == (0, 5000)


def test_sleep_of_unknown_reason_is_slept_again():
    """Woken by the clock 3000 later, or by another process; coming back took 50 and 150."""
    found, _ = steps(
        switch(0, IDLE, A),
        switch(1000, A, IDLE, SLEEPS),
        wake(4000, IDLE, A, SOFTIRQ),
        switch(4050, IDLE, A),
        switch(5000, A, IDLE, SLEEPS),
        wake(6000, OTHER, A, cpu=1),
        switch(6150, IDLE, A),
        *ended(7000, A),
    )
    assert rows(found, "sleep_ns", "cpu_ns", "waits_for") == [
        (0, 1000, -1),
        (3000, 50 + 950, -1),
        (1000, 100 + 850, -1),
    ]


def test_a_thread_waits_for_the_one_that_woke_it():
    """A makes B and sleeps until B wakes it; B has computed 3400, and is over before A is."""
    found, _ = steps(
        switch(100, IDLE, A),
        event(Kind.FORK, pid=A, value=B, time_ns=500),
        switch(600, IDLE, B, cpu=1),
        switch(1000, A, IDLE, SLEEPS),
        wake(4000, B, A, cpu=1),
        switch(4050, IDLE, A),
        *ended(5000, B, cpu=1),
        *ended(6100, A),
    )
    assert rows(found, "thread", "sleep_ns", "cpu_ns", "waits_for") == [
        (0, 100, 400, -1),  # A makes B
        (0, 0, 500, -1),  # and goes to sleep
        (1, 0, 75 + 3400, 0),  # B wakes A
        (1, 0, 1000, -1),  # and ends
        (0, 0, 50 + 2050, 2),
        (0, 0, 0, -1),
        (0, 0, 0, 3),  # had B not been over, A would not have
    ]


def test_joining_a_child_also_joins_children_that_ended_earlier():
    """A joins C, asleep, then B, which has ended: no event shows that."""
    found, _ = steps(
        switch(0, IDLE, A),
        event(Kind.FORK, pid=A, value=B, time_ns=100),
        event(Kind.FORK, pid=A, value=C, time_ns=200),
        switch(300, IDLE, B, cpu=1),
        switch(400, A, C, SLEEPS),
        *ended(1000, B, cpu=1),
        wake(2900, C, A),
        *ended(3000, C),
        switch(3100, IDLE, A, cpu=1),
        *ended(4000, A, cpu=1),
    )
    found_rows = rows(found, "thread", "waits_for")
    ends = {1: found_rows.index((1, 0)), 2: found_rows.index((2, 1))}
    of_a = [waits for thread, waits in found_rows if thread == 0 and waits >= 0]
    assert of_a[:2] == [ends[2], ends[1]]


def test_a_fault_for_a_page_that_another_thread_reads_waits_for_the_disk():
    """B needs the page that A has asked for: an interrupt wakes both."""
    found, total = steps(
        switch(0, IDLE, A),
        event(Kind.FORK, pid=A, value=B, time_ns=10),
        switch(20, IDLE, B, cpu=1),
        *missed(1000, 0),
        event(Kind.FAULT, pid=B, ino=1, index=0, time_ns=1250, cpu=1),
        switch(1300, B, IDLE, BLOCKS, cpu=1),
        wake(2205, IDLE, B, SOFTIRQ),
        switch(2300, IDLE, B, cpu=1),
        *ended(3000, B, cpu=1),
        *ended(3500, A),
    )
    of_b = found.steps[found.steps["thread"] == 1]
    assert of_b["operation"].tolist() == [1, -1]
    assert of_b["sleep_ns"].sum() == 0
    assert total is not None


@pytest.mark.parametrize("waited", [True, False])
def test_the_blocked_thread_waits_for_metadata(waited):
    meta = {"pid": A, "index": 800, "value": 8, "flags": int(R | Rwbs.META)}
    events = [
        switch(0, IDLE, A),
        event(Kind.RQ_ISSUE, **meta, time_ns=1000),
        event(Kind.RQ_COMPLETE, **{**meta, "pid": IDLE}, time_ns=2000, cpu=1),
        *missed(3000, 0),
        *ended(5000, A),
    ]
    if waited:
        events += [switch(1100, A, IDLE, BLOCKS), switch(2100, IDLE, A)]
    found, _ = steps(*events)
    of_read = found.steps[found.steps["sectors"] == 8]
    assert of_read["thread"].tolist() == [0 if waited else 1]
    if not waited:
        asked = found.steps[of_read["waits_for"][0]]
        assert (asked["thread"], asked["operation"], asked["cpu_ns"]) == (0, -1, 1000)


def test_reads_by_other_processes_keep_their_time():
    """Others read at 1000 and 4000, served for 500: they sleep 2500 between."""
    reads = []
    for at in (1000, 4000):
        one = {"pid": OTHER, "index": at, "value": 8, "flags": R, "cpu": 1}
        reads.append(insert(7, at, pid=OTHER, time_ns=at - 20, cpu=1))
        reads.append(read(at, 1, pid=OTHER, time_ns=at - 10, cpu=1))
        reads.append(event(Kind.RQ_ISSUE, **one, time_ns=at))
        reads.append(event(Kind.RQ_COMPLETE, **{**one, "pid": IDLE}, time_ns=at + 500))
    found, _ = steps(switch(0, IDLE, A), *missed(6000, 0), *ended(9000, A), *reads)
    others = found.steps[found.steps["sectors"] > 0]
    assert others["sleep_ns"].tolist() == [1000, 2500]
    assert np.unique(others["thread"]).tolist() == [2]


def test_without_switches_all_is_one_sequence():
    events = [one for one in missed(1000, 0) if one[2] not in (Kind.SWITCH, Kind.WAKING)]
    found, _ = steps(*events, end_ns=10_000)
    assert not found.by_thread
    assert found.cpus == 1


@pytest.mark.parametrize(("later", "computed"), [(20_000, 20_000), (97_000_000, 0)])
def test_time_delayed_by_a_limiter_is_not_computing(later, computed):
    """A fault sleeps at 1500; a kernel worker issues its read 20 µs later, or 97 ms later."""
    issued = 1500 + later
    found, _ = steps(
        switch(0, IDLE, A),
        event(Kind.FAULT, pid=A, ino=1, index=0, time_ns=1000),
        insert(1, 0, pid=A, time_ns=1100),
        switch(1500, A, IDLE, BLOCKS),
        read(0, 1, pid=OTHER, time_ns=issued - 10, cpu=1),
        event(Kind.RQ_ISSUE, pid=OTHER, index=0, value=8, flags=R, time_ns=issued, cpu=1),
        event(Kind.RQ_COMPLETE, pid=IDLE, index=0, value=8, flags=R, time_ns=issued + 1000),
        wake(issued + 1000, IDLE, A, SOFTIRQ),
        switch(issued + 1000, IDLE, A),
        *ended(issued + 5000, A),
        end_ns=issued + 6000,
    )
    assert found.steps["cpu_ns"].sum() == pytest.approx(1500 + computed + 4000)


def test_processes_that_ran_before_a_recorded_boot_belong_to_it():
    """The first process sleeps throughout; B ran before, and starts C."""
    boot = Boot(processes=[A, B], read_before=[])
    found, _ = steps(
        event(Kind.FORK, pid=B, value=C, time_ns=50),
        switch(100, IDLE, B),
        switch(900, B, C),
        switch(2000, C, B),
        *ended(3000, B),
        boot=boot,
        ended_by="boot-done",
    )
    assert found.by_thread
    assert found.unlinked_ns == 0
    assert sum(cpu for (cpu,) in rows(found, "cpu_ns")) == 800 + 1100 + 1000
