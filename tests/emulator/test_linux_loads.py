"""Loads: threads that repeat their steps beside a run, until that has ended."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import PAGE, Script
from timed_runs import run_of, steps_of
from timed_strategy import DEVICES, WINDOWS, assert_same, runs

from foreread.emulator.devices.device import FixedCost
from foreread.emulator.devices.paced import Paced
from foreread.emulator.fixed import EmulationError
from foreread.emulator.linux.operations import FILE, OPERATION, Op, Program
from foreread.emulator.linux.steps import (
    AHEAD,
    MOST_STRIDE,
    ONCE,
    REPEAT,
    UNLIMITED,
    WRITE,
    CpuCost,
)
from foreread.emulator.linux.timed_windows import timed_windows
from foreread.emulator.stepwise.timed import timed

US, MS = 1e3, 1e6
MEMORY = Paced(requests_per_second=3e4, bytes_per_second=4e8, base=FixedCost(6e3, 200.0))
DISK = FixedCost(1 * MS, 0.0)
FOREVER = np.inf
FLAGS = (0, AHEAD, UNLIMITED, WRITE, WRITE | UNLIMITED | AHEAD)
REPEATED = {"cpu_ns": 100 * US, "sectors": 8}


def beside(run, loads):
    """The run with loads: (from_ns, until_ns, stride, span), and rows of steps of each."""
    thread = int(run.steps["thread"].max()) + 1
    repeats, rows = [], []
    for more, (repeat, steps) in enumerate(loads):
        repeats.append((*repeat, thread + more))
        rows += [{"operation": -1, **step, "thread": thread + more} for step in steps]
    return replace(
        run,
        steps=np.concatenate((run.steps, steps_of(rows))),
        repeats=np.array(repeats, REPEAT),
    )


def reader(run, size=0):
    """The run with a file of its own for a load, which reads 8 pages at a call."""
    program = run.program
    row = len(program.files)
    file = np.zeros(1, FILE)
    file["size"], file["window"] = size or -1, -1
    handle = len(program.handles)
    calls = np.zeros(2, OPERATION)
    calls["op"] = Op.READ, Op.SEQUENTIAL
    calls["handle"], calls["length"] = handle, (8 * PAGE, 0)
    more = Program(
        np.concatenate((program.operations, calls)),
        program.mappings,
        np.append(program.handles, np.uint32(row)).astype(np.uint32),
        np.concatenate((program.files, file)),
    )
    return replace(run, program=more), len(program.operations)


@st.composite
def loaded(draw):
    """Draw a run, and loads beside it."""
    run, call = reader(draw(runs()), draw(st.sampled_from([0, 0, 40 * PAGE])))
    loads = []
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.sampled_from([-3e6, -1e5, 0.0, 2e6]))
        end = draw(st.sampled_from([2e6, 1e7]))  # plain Python is slow
        repeat = begin, end + 1, draw(st.sampled_from([0, 8, 8 * PAGE])), 0
        if draw(st.booleans()):
            repeat = *repeat[:3], draw(st.sampled_from([0, 100, 10_000]))
        steps = []
        for _ in range(draw(st.integers(1, 3))):
            step = {"cpu_ns": draw(st.sampled_from([2e5, 1e6]))}
            if draw(st.booleans()):
                step |= {"operation": call + draw(st.integers(0, 1))}
            else:
                step |= {"sectors": draw(st.sampled_from([0, 8, 256])), "sector": 50}
            step["meta"] = draw(st.sampled_from(FLAGS))
            step["sleep_ns"] = draw(st.sampled_from([0, 0, 1e5]))
            steps.append(step)
        loads.append((repeat, steps))
    limits = replace(
        run.limits,
        nr_writes=draw(st.sampled_from([1, 2, run.limits.nr_writes])),
        nr_driver_tags=draw(st.sampled_from([1, 2, run.limits.nr_driver_tags])),
    )
    machine = replace(run.machine, credit_ns=draw(st.sampled_from([0, 3_000_000, 50_000])))
    return beside(replace(run, limits=limits, machine=machine), loads)


@given(run=loaded(), window=st.sampled_from(WINDOWS), device=st.sampled_from([*DEVICES, MEMORY]))
@settings(deadline=None, suppress_health_check=list(HealthCheck))
def test_the_core_agrees_with_the_plain_python_beside_loads(run, window, device):
    cpu = CpuCost(6e4, 1.5e3, 70.0, 3e4, 0.4)
    alone = replace(run, steps=run.steps[: run.own_steps], repeats=np.zeros(0, REPEAT))
    recorded = timed(alone, 0, device)
    found = timed_windows(run, [0, window], device, cpu, recorded)
    assert_same(found[0], timed(run, 0, device, cpu, recorded))
    assert_same(found[1], timed(run, window, device, cpu, recorded))


def a_start(reads=3):
    """Single sectors in one thread, each after 1 ms of computing."""
    rows = [
        {"cpu_ns": 1 * MS, "operation": -1, "sectors": 8, "sector": 8 * row} for row in range(reads)
    ]
    return run_of(Script(), rows, cpus=2)


def seconds_of(run, device, window=0):
    plain = timed(run, window, device)
    assert_same(timed_windows(run, [window], device)[0], plain)
    return plain


def test_times_of_a_run_are_its_own():
    """A load that has ended before leaves nothing but its time in the disk's queue."""
    alone = seconds_of(a_start(), DISK)
    early = (-5 * MS, -4 * MS, 8, 0), [{"cpu_ns": 100 * US, "sectors": 8}]
    loaded = seconds_of(beside(a_start(), [early]), DISK)
    assert (alone.total_ns, alone.compute_ns, alone.waited_ns) == (6 * MS, 3 * MS, 3 * MS)
    assert loaded.total_ns == pytest.approx(alone.total_ns)
    assert loaded.compute_ns == pytest.approx(alone.compute_ns)
    assert loaded.ends_ns[0] == pytest.approx(6 * MS)
    assert loaded.ends_ns[1] == pytest.approx(-3.9 * MS)


def test_each_read_waits_for_those_of_a_load_that_came_before():
    """The disk takes 1 ms a read, the load 0.4 ms between its reads: it asks at k · 1.4 ms."""
    load = (0.0, FOREVER, 8, 0), [{"cpu_ns": 400 * US, "sectors": 8}]
    run = seconds_of(beside(a_start(1), [load]), DISK)
    # The load reads from 0.4 to 1.4 ms; the start asks at 1 ms, and is served from 1.4 ms on.
    assert run.total_ns == pytest.approx(2.4 * MS)
    assert run.waited_ns == pytest.approx(1.4 * MS)


def test_requests_of_a_load_that_are_not_waited_for_are_in_the_queue_at_once():
    ahead = {"cpu_ns": 100 * US, "sectors": 8, "meta": AHEAD}
    writes = [ahead, ahead, {**ahead, "meta": 0}]
    run = seconds_of(beside(a_start(1), [((0.0, FOREVER, 8, 0), writes)]), DISK)
    assert run.total_ns == pytest.approx(4.1 * MS)  # three before it, the first from 0.1 ms on


def test_writes_wait_for_room_among_writes():
    """A read waits for the write that the disk serves: others wait until that has ended."""
    ahead = {"cpu_ns": 100 * US, "sectors": 8, "meta": AHEAD | WRITE}
    load = (0.0, FOREVER, 8, 0), [ahead, ahead, ahead, {**ahead, "meta": WRITE}]
    start = a_start(1)
    limits = [replace(start.limits, nr_writes=most) for most in (1, 2, 4)]
    times = [seconds_of(beside(replace(start, limits=limit), [load]), DISK) for limit in limits]
    # The first write is served from 0.1 to 1.1 ms; the start asks at 1 ms.
    assert [run.total_ns for run in times] == pytest.approx([2.1 * MS, 3.1 * MS, 5.1 * MS])


def test_room_in_the_queue_goes_to_who_comes_first():
    """The load waits for room since 0.2 ms, the start since 1 ms."""
    start = a_start(1)
    start = replace(start, limits=replace(start.limits, nr_requests=1))
    load = (0.0, FOREVER, 8, 0), [{**REPEATED, "meta": AHEAD}, REPEATED]
    assert seconds_of(beside(start, [load]), DISK).total_ns == pytest.approx(3.1 * MS)


def test_a_sleeper_with_credit_preempts_at_once():
    """The load computes 0.1 ms and reads 0.3 ms, from the first tick on: 20 times in 11.8 ms."""
    start = run_of(Script(), [{"cpu_ns": 9.8 * MS, "operation": -1}], cpus=1)
    load = (0.0, FOREVER, 8, 0), [REPEATED]
    start = replace(start, machine=replace(start.machine, credit_ns=3_000_000))
    assert seconds_of(beside(start, [load]), FixedCost(0.3 * MS, 0.0)).total_ns == pytest.approx(
        11.8 * MS
    )


@pytest.mark.parametrize("credit_ns", [0, 3_000_000])
def test_of_threads_that_wake_at_once_the_first_has_computed_least(credit_ns):
    """The start reads from 0.1 to 1.1 ms; then it wakes, and the load, which waits for room."""
    read = {"operation": -1, "sectors": 8, "sector": 0}
    reads = [{**read, "cpu_ns": 100 * US}, {**read, "cpu_ns": 300 * US}]
    start = run_of(Script(), reads, cpus=1)
    machine = replace(start.machine, credit_ns=credit_ns)
    start = replace(start, machine=machine, limits=replace(start.limits, nr_requests=1))
    load = (0.0, 1 * MS, 8, 0), [{"cpu_ns": 50 * US, "sectors": 8}]
    assert seconds_of(beside(start, [load]), DISK).total_ns == pytest.approx(3.1 * MS)


def test_a_reader_through_the_page_cache_reads_as_its_window_says():
    run, call = reader(a_start(20))
    load = (-1 * MS, FOREVER, 8 * PAGE, 0), [{"cpu_ns": 100 * US, "operation": call}]
    run = beside(run, [load])
    work = [seconds_of(run, FixedCost(1 * MS, 10 * US), window) for window in (8, 64)]
    assert work[0].total_ns < work[1].total_ns  # each of its own reads waits for more
    assert work[1].total_ns > seconds_of(a_start(20), FixedCost(1 * MS, 10 * US)).total_ns


def on_one_processor(reads, tags=1 << 20, room=4):
    start = run_of(
        Script(),
        [{"operation": -1, "sectors": 8, "cpu_ns": cpu_ns, "sector": 0} for cpu_ns in reads],
        cpus=1,
    )
    return replace(start, limits=replace(start.limits, nr_requests=room, nr_driver_tags=tags))


@pytest.mark.parametrize(("tags", "total_ns"), [(1, 1.9 * MS), (2, 2.4 * MS)])
def test_after_the_disk_s_worker_has_run_a_woken_thread_preempts(tags, total_ns):
    """The load computes from 1.0 to 1.5 ms but for 1.1 ms, when it sends a read ahead.

    The start's second read ends at 1.3 ms, when the read ahead waits for a driver with one tag.
    With two tags the start computes after 1.5 ms, and ends after the load's next turn.
    """
    reads = [{"cpu_ns": 100 * US, "meta": AHEAD}, {"cpu_ns": 400 * US, "meta": 0}]
    load = (0.0, FOREVER, 8, 0), [{**REPEATED, **read} for read in reads]
    run = beside(on_one_processor([100 * US] * 3, tags), [load])
    assert seconds_of(run, FixedCost(0.3 * MS, 0.0)).total_ns == pytest.approx(total_ns)


def test_a_thread_that_found_no_room_is_the_first_at_the_next_time():
    """The start waits for the only place from 0.05 ms on.

    At 1.1 ms the second load's read ends, which computes for 0.05 ms and takes the place again.
    When that read ends, at 2.15 ms, the start lags the load, and comes first.
    """
    loads = [
        ((-1 * MS, FOREVER, 8, 0), [REPEATED]),
        ((-0.95 * MS, FOREVER, 8, 0), [{**REPEATED, "cpu_ns": 50 * US}]),
    ]
    run = beside(on_one_processor([50 * US], room=1), loads)
    assert seconds_of(run, DISK).total_ns == pytest.approx(3.15 * MS)


@pytest.mark.parametrize(("page_ns", "total_ns"), [(0.0, 2.1 * MS), (100 * US, 1.15 * MS)])
def test_a_load_computes_what_its_readahead_costs_before_it_submits_it(page_ns, total_ns):
    """The load calls at 0.1 ms, and submits a page at 0.2 ms; the start reads at 0.15 ms."""
    start = run_of(
        Script(), [{"operation": -1, "sectors": 8, "cpu_ns": 150 * US, "sector": 0}], cpus=2
    )
    run, call = reader(start)
    load = (0.0, FOREVER, 8 * PAGE, 0), [{"cpu_ns": 100 * US, "operation": call}]
    run = beside(run, [load])
    cpu = CpuCost(0.0, page_ns)
    plain = timed(run, 0, DISK, cpu)
    assert_same(timed_windows(run, [0], DISK, cpu)[0], plain)
    assert plain.total_ns == pytest.approx(total_ns)


def test_a_limiter_holds_the_reads_of_a_load_only_if_it_limits_the_load():
    disk = Paced(requests_per_second=100, base=FixedCost(10 * US, 0.0))
    limited = {"cpu_ns": 100 * US, "sectors": 8}
    load = -1000 * MS, FOREVER, 8, 0
    alone = seconds_of(a_start(30), disk)
    beside_it = seconds_of(beside(a_start(30), [(load, [limited])]), disk)
    apart = beside(a_start(30), [(load, [{**limited, "meta": UNLIMITED}])])
    assert beside_it.total_ns > 1.5 * alone.total_ns
    assert seconds_of(apart, disk).total_ns == pytest.approx(alone.total_ns, rel=0.05)


def test_a_limited_disk_that_is_memory_is_copied_by_the_reader_s_processor():
    """A reader that copies its windows itself uses up the budget of a slice later.

    It computes 0.8 ms for 64 pages, whose transfer takes 0.13 ms; a slice's budget is 10 MB.
    """
    start, call = reader(a_start(30))
    load = (0.0, FOREVER, 8 * PAGE, 0), [{"cpu_ns": 100 * US, "operation": call}]
    run = beside(start, [load])
    memory, disk = (
        Paced(bytes_per_second=1e8, base=FixedCost(0.0, per_kib)) for per_kib in (499, 501)
    )
    assert seconds_of(run, memory, 64).total_ns < 50 * MS
    assert seconds_of(run, disk, 64).total_ns > 90 * MS


def test_metadata_is_not_served_after_reads_that_a_limiter_holds():
    rows = [
        {"operation": -1, "sectors": 8, "bios": 1, "meta": AHEAD},
        {"operation": -1, "sectors": 8, "bios": 1, "meta": AHEAD},
        {"operation": -1, "sectors": 8, "bios": 1, "meta": 1},
    ]
    disk = Paced(requests_per_second=10, base=FixedCost(10 * US, 0.0))
    run = run_of(Script(), rows, cpus=2)
    assert seconds_of(run, disk).total_ns == pytest.approx(10 * US)


@pytest.mark.parametrize(
    ("repeat", "step"),
    [
        ((0.0, 0.0, 8, 0), REPEATED),
        ((np.nan, FOREVER, 8, 0), REPEATED),
        ((0.0, np.nan, 8, 0), REPEATED),
        ((-1e30, FOREVER, 8, 0), REPEATED),
        ((0.0, FOREVER, MOST_STRIDE + 1, 0), REPEATED),
        ((0.0, FOREVER, 8, 1 << 47), REPEATED),
        ((0.0, FOREVER, 8, 0), {**REPEATED, "cpu_ns": 10}),
        ((0.0, FOREVER, 8, 0), {**REPEATED, "waits_for": 0}),
        ((0.0, FOREVER, 8, 0), {**REPEATED, "woken_by": 0}),
        ((0.0, FOREVER, 8, 0), {**REPEATED, "meta": ONCE}),
        ((0.0, FOREVER, 8, 0), {**REPEATED, "sector": 1 << 47}),
    ],
)
def test_a_load_that_cannot_be_is_refused_by_both(repeat, step):
    run = beside(a_start(), [(repeat, [step])])
    for replay in (timed, lambda run, *rest: timed_windows(run, [0], DISK)):
        with pytest.raises(EmulationError):
            replay(run, 0, DISK)


def test_steps_of_a_load_follow_all_others():
    run = beside(a_start(), [((0.0, FOREVER, 8, 0), [REPEATED])])
    for steps in (run.steps[::-1].copy(), run.steps[-1:].copy()):
        with pytest.raises(EmulationError, match="load"):
            timed(replace(run, steps=steps), 0, DISK)


def test_the_core_checks_loads_itself(monkeypatch):
    """What the binding gets is not trusted."""
    monkeypatch.setattr("foreread.emulator.linux.steps.Run.check", lambda run: None)
    run = beside(a_start(), [((0.0, FOREVER, 8, 0), [REPEATED])])
    for wrong in (
        replace(run, steps=run.steps[::-1].copy()),
        replace(run, ends=1),
        beside(a_start(), [((0.0, FOREVER, 8, 0), [{**REPEATED, "cpu_ns": 0}])]),
    ):
        with pytest.raises(EmulationError):
            timed_windows(wrong, [0], DISK)
    short = timed(a_start(2), 0, DISK)
    with pytest.raises(EmulationError):
        timed_windows(run, [0], DISK, CpuCost(), short)
