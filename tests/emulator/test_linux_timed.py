"""The timed replay, on cases worked out by hand: a device of 1,000 ns and 100 ns a KiB."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from programs import PAGE, Script
from timed_runs import run_of

from foreread.emulator.devices.device import FixedCost
from foreread.emulator.linux.operations import Machine, Outcome
from foreread.emulator.linux.requests import EXTENT, Layout, Limits, requests
from foreread.emulator.linux.rules import rules_for
from foreread.emulator.linux.steps import AHEAD, ONCE, STEP, CpuCost, Run
from foreread.emulator.stepwise.replay import emulate
from foreread.emulator.stepwise.timed import timed

DEVICE = FixedCost(1000, 100)
NOWHERE = Layout(np.zeros(0, EXTENT))
PRESENT_PAGES = 8


def run(script: Script, steps: list[tuple[float, int, int]], tail_ns: float = 30) -> Run:
    machine = Machine(page_size=PAGE)
    rules = rules_for((6, 12))
    rows = np.zeros(len(steps), STEP)
    rows["waits_for"] = rows["woken_by"] = -1
    for name, column in zip(
        ("cpu_ns", "operation", "sectors"), zip(*steps, strict=True), strict=True
    ):
        rows[name] = column
    return Run(script.program(), rows, tail_ns, rules, machine, Limits(1280), NOWHERE)


def three_reads(pages: int = 8) -> Run:
    """Pages 0, 1 and 2 of a file, read one by one."""
    script = Script()
    handle = script.open(script.file(pages))
    for page in range(3):
        script.read(handle, page)
    return run(script, [(0, 0, 0), (10, 1, 0), (10, 2, 0), (500, 3, 0)])


def test_without_readahead_each_page_is_waited_for():
    """10 + 1400, 10 + 1400, 500 + 1400, 30."""
    found = timed(three_reads(), 0, DEVICE)
    assert (found.total_ns, found.waited_ns) == (4750, 4200)
    assert found.work[:, :3].tolist() == [[0, 0, 0], [1, 1, 0], [1, 1, 0], [1, 1, 0]]


def test_readahead_goes_on_while_the_program_computes():
    """10: pages 0-1, there at 1810; 1820: pages 2-5, there at 4420, and 2 is needed at 2320.

    Page 2 has the next marker: pages 6-7 are asked for, and waited for by nobody.
    """
    found = timed(three_reads(), 4, DEVICE)
    assert (found.total_ns, found.waited_ns) == (4450, 1800 + 2100)
    assert found.work[:, :3].tolist() == [[0, 0, 0], [1, 2, 0], [1, 4, 0], [1, 2, 0]]


def test_parts_of_a_bio_are_there_together():
    """Pages 2-5 come in two requests, at 3620 and 5420: so page 2 is there at 5420."""
    found = timed(replace(three_reads(), limits=Limits(8)), 4, DEVICE)
    assert found.work[:, :3].tolist() == [[0, 0, 0], [1, 2, 0], [2, 4, 0], [1, 2, 0]]
    assert found.total_ns == 5420 + 30


@pytest.mark.parametrize(("room", "total_ns"), [(4, 2840), (2, 5640), (1, 7040)])
def test_a_full_queue_holds_the_thread_that_submits(room, total_ns):
    """Pages 0-1 are there at 2800; at 2810 page 1's marker asks for pages 2-5, a request each.

    They are done at 4210, 5610, 7010 and 8410. The thread needs none of them, and goes on once the
    queue has taken in the last one.
    """
    script = Script()
    handle = script.open(script.file(8))
    script.read(handle, 0).read(handle, 1)
    steps = run(script, [(0, 0, 0), (0, 1, 0), (10, 2, 0)])
    found = timed(replace(steps, limits=Limits(4, nr_requests=room)), 4, DEVICE)
    assert found.total_ns == total_ns


@pytest.mark.parametrize(
    ("cpus", "ends"),
    [(1, [2850, 4250]), (2, [4200, 2800])],
)
def test_a_thread_that_comes_first_takes_the_room_that_another_waits_for(cpus, ends):
    """Of a queue for one: thread 0 reads until 1400, and thread 1 has to wait with its read.

    On one processor thread 0 goes on first, computes for 50 and reads again, until 2850; on two
    thread 1 reads at 1400, until 2800, and thread 0 waits from 1450 on.
    """
    rows = [
        {"operation": -1, "sectors": 8},
        {"operation": -1, "sectors": 8, "sector": 100, "thread": 1, "cpu_ns": 100},
        {"operation": -1, "sectors": 8, "sector": 200, "cpu_ns": 50},
    ]
    found = timed(
        replace(run_of(Script(), rows, cpus=cpus), limits=Limits(1280, nr_requests=1)), 0, DEVICE
    )
    assert found.ends_ns.tolist() == ends


def test_threads_get_room_in_the_order_in_which_they_wait():
    """A queue for one: thread 2 waits from 200 on, thread 1 from 100 on, both for thread 0."""
    rows = [
        {"operation": -1, "sectors": 8},
        {"operation": -1, "sectors": 8, "sector": 100, "thread": 2, "cpu_ns": 200},
        {"operation": -1, "sectors": 8, "sector": 200, "thread": 1, "cpu_ns": 100},
    ]
    full = replace(run_of(Script(), rows, cpus=3), limits=Limits(1280, nr_requests=1))
    assert timed(full, 0, DEVICE).ends_ns.tolist() == [1400, 2800, 4200]


def test_pages_of_a_request_outside_the_queue_arrive_for_other_threads_too():
    """A queue for one, which metadata fills until 1400: the page is read from then on, until 2800.

    Thread 2 needs the same page, and so has it when thread 1, which asked for it, has it.
    """
    script = Script()
    handle = script.open(script.file(8))
    script.read(handle, 0).read(handle, 0)
    rows = [
        {"operation": 0},
        {"operation": -1, "sectors": 8},
        {"operation": 1, "thread": 1, "cpu_ns": 100},
        {"operation": 2, "thread": 2, "cpu_ns": 200},
    ]
    full = replace(run_of(script, rows, cpus=3), limits=Limits(1280, nr_requests=1))
    assert timed(full, 0, DEVICE).ends_ns.tolist() == [1400, 2800, 2800]


def test_of_reads_of_one_place_that_are_made_once_the_others_wait_for_the_first():
    rows = [
        {"operation": -1, "sectors": 8, "meta": ONCE},
        {"operation": -1, "sectors": 8, "meta": ONCE, "thread": 1, "cpu_ns": 700},
        {"operation": -1, "sectors": 8, "thread": 2, "cpu_ns": 700},
    ]
    found = timed(run_of(Script(), rows, cpus=3), 0, DEVICE)
    assert found.ends_ns.tolist() == [1400, 1400, 2800]
    assert found.work[:, 0].tolist() == [1, 0, 1]


def test_a_read_within_one_made_ahead_waits_for_that_one():
    """Sectors 0-31 are read ahead, until 2600, and the thread goes on at once."""
    ahead = {"operation": -1, "sectors": 32, "meta": ONCE | AHEAD}
    rows = [
        ahead,
        {"operation": -1, "sectors": 0, "cpu_ns": 100},
        {"operation": -1, "sector": 24, "sectors": 8, "meta": ONCE, "cpu_ns": 100},
        {"operation": -1, "sector": 28, "sectors": 8, "meta": ONCE},
    ]
    found = timed(run_of(Script(), rows[:2]), 0, DEVICE)
    assert (found.ends_ns.tolist(), found.work[:, 0].tolist()) == ([100], [1, 0])
    found = timed(run_of(Script(), rows), 0, DEVICE)
    assert (found.ends_ns.tolist(), found.work[:, 0].tolist()) == ([2600 + 1400], [1, 0, 0, 1])


def test_the_processor_s_work_is_relative_to_the_recording():
    """1810 + 10 for a page more + 10: asked at 1830, there at 4430.

    After that 30 of computing, and 10 for a page more; in a file of 6 pages the last read finds
    all there, and of the 110 saved the 30 are all that can be.
    """
    recorded = timed(three_reads(), 0, DEVICE)
    found = timed(three_reads(), 4, DEVICE, CpuCost(100, 10), recorded)
    assert found.total_ns == 4430 + 30 + 10
    found = timed(three_reads(6), 4, DEVICE, CpuCost(100, 10), recorded)
    assert found.total_ns == 4430
    again = timed(three_reads(), 0, DEVICE, CpuCost(100, 10), recorded)
    assert again.total_ns == recorded.total_ns


def test_reads_by_others_share_the_disks_queue():
    """After pages 2-5, which are there at 4420: metadata of 4 KiB asked for at 1825."""
    script = Script()
    handle = script.open(script.file(8))
    script.read(handle, 0).read(handle, 1)
    steps = [(0, 0, 0), (10, 1, 0), (10, 2, 0), (5, -1, 8)]
    assert timed(run(script, steps, 0), 4, DEVICE).total_ns == 4420 + 1400


def test_a_page_that_was_there_costs_nothing():
    script = Script()
    handle = script.open(script.file(8))
    script.operations.append((PRESENT_PAGES, 0, 0, 0, 1))
    script.read(handle, 0)
    found = timed(run(script, [(0, 0, 0), (0, 1, 0), (7, 2, 0)], 0), 0, DEVICE)
    assert (found.total_ns, found.waited_ns) == (7, 0)


@pytest.mark.parametrize("window", [0, 1, 4, 32, 128])
def test_time_does_not_change_what_is_read(window):
    script = Script()
    file = script.file(300)
    handle = script.open(file)
    mapping = script.map(handle, 0, 300)
    for page in range(0, 300, 7):
        script.touch(mapping, page).read(handle, page, 3)
    steps = [(1.0, row, 0) for row in range(len(script.operations))]
    found = timed(run(script, steps), window, DEVICE)
    plain = emulate(script.program(), rules_for((6, 12)), window)
    assert found.work[:, 1].sum() == sum(1 << order for _, _, order, _ in plain.inserts)


def test_a_request_of_many_folios_is_of_several_bios():
    """300 pages: a bio of 256 and one of 44, in requests of up to 1280 KiB; or split at 512 KiB."""
    inserts = [(0, page, 0, 0) for page in range(300)]
    layout = Layout(np.array([(0, 0, 800, 2400, 1)], EXTENT))
    found = requests(Outcome(inserts), layout, Limits(1280), PAGE)
    assert found == [(0, 800, 2400, 2)]
    found = requests(Outcome(inserts), layout, Limits(512), PAGE)
    assert found == [(0, 800, 1024, 1), (0, 1824, 1024, 1), (0, 2848, 352, 1)]


def test_computing_is_slow_after_a_wait_and_merged_stretches_are_spared():
    """After a wait, computing that takes 8 ns with warm caches takes 12 ns.

    Recorded were waits at each page. Warm, the computing of 10, 500 and 30 ns after them takes
    6.67, 496 and 26 ns. With a window of 4 pages nothing waits for page 1: page 0's wait slows
    6.67 and then 1.33 ns of the next 496, by half of both.
    """
    cpu = CpuCost(cold_ns=8, cold_share=0.5)
    run = three_reads()
    recorded = timed(run, 0, DEVICE)
    assert recorded.work[:, 3].tolist() == [0, 1, 1, 1]
    as_recorded = timed(run, 0, DEVICE, cpu, recorded)
    assert as_recorded.total_ns == pytest.approx(recorded.total_ns)
    larger = timed(run, 4, DEVICE, cpu, recorded)
    assert larger.work[:, 3].tolist() == [0, 1, 0, 1]
    assert larger.compute_ns == pytest.approx(10 + 10 + (496 + 1.33 / 2) + 30, abs=0.01)


def test_a_request_that_takes_no_time_is_waited_for():
    """A limiter alone has no time of a request within its slice; the thread sleeps all the same.

    Pages 0-1 come at the first read, 2-5 at the second (ahead of 2), and 6-7 at the third, which
    does not wait for them.
    """
    at_once = FixedCost(0, 0)
    assert timed(three_reads(), 0, at_once).work[:, 3].tolist() == [0, 1, 1, 1]
    assert timed(three_reads(), 4, at_once).work[:, 3].tolist() == [0, 1, 0, 0]


def test_without_a_recorded_run_computing_after_a_wait_is_unchanged():
    """Nothing is known then of the waits that the computing time contains."""
    plain, cold = (timed(three_reads(), 4, DEVICE, cpu) for cpu in (None, CpuCost(0, 0, 0, 8, 0.5)))
    assert plain.total_ns == cold.total_ns
