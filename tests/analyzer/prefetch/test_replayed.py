"""The replayer beside a start, on cases worked out by hand: 1,000 ns a request, 100 ns a KiB."""

import numpy as np
import pytest
from programs import PAGE, Script

from foreread.analyzer.prefetch.replayed import application_ns, beside, with_list, with_replayer
from foreread.analyzer.program.opening import Opening
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.linux.operations import Machine, Op
from foreread.emulator.linux.requests import EXTENT, Layout, Limits
from foreread.emulator.linux.rules import rules_for
from foreread.emulator.linux.steps import ONCE, STEP, CpuCost, Run
from foreread.emulator.linux.timed_windows import timed_windows
from foreread.emulator.stepwise.replay import emulate, pages_of
from foreread.emulator.stepwise.timed import timed

DEVICE = FixedCost(1000, 100)
RULES = rules_for((6, 12))
MACHINE = Machine(page_size=PAGE)
METADATA = (0, -1, 8)


def start(*steps, files=1):
    """A run: each file is opened, pages 0 to 2 are read; ``steps`` are (ns, row, sectors)."""
    script = Script()
    for _ in range(files):
        handle = script.open(script.file(8))
        for page in range(3):
            script.read(handle, page)
    rows = np.zeros(len(steps), STEP)
    rows["waits_for"] = rows["woken_by"] = -1
    rows["sector"] = np.arange(len(rows))  # of metadata: the row
    for name, column in zip(
        ("cpu_ns", "operation", "sectors"), zip(*steps, strict=True), strict=True
    ):
        rows[name] = column
    layout = Layout(np.zeros(0, EXTENT))
    return Run(script.program(), rows, 30, RULES, MACHINE, Limits(1280), layout)


def one_file():
    return start(METADATA, (0, 0, 0), (10, 1, 0), (10, 2, 0), (500, 3, 0))


def both_ways(run, base, window, cpu=None):
    """Replay by the plain emulation and by C, which agree."""
    recorded = beside(timed(base, 0, DEVICE), run)
    plain = timed(run, window, DEVICE, cpu, recorded)
    (core,) = timed_windows(run, [window], DEVICE, cpu, recorded)
    assert core.total_ns == pytest.approx(plain.total_ns)
    assert core.ends_ns == pytest.approx(plain.ends_ns)
    assert core.work.tolist() == plain.work.tolist()
    return application_ns(run, plain, [0])


def test_the_start_alone():
    """1400, 10 + 1400, 10 + 1400, 500 + 1400, 30."""
    assert timed(one_file(), 0, DEVICE).total_ns == 6150


def test_the_replayer_reads_metadata_and_then_all_at_once():
    """Metadata until 1400, pages 0 to 2 from then to 3600; needed at 1410; then 10 + 500 + 30."""
    base = one_file()
    run = with_replayer(base, [(0, 0, 3)], cpus=2, opening=Opening({0: [0]}))
    assert both_ways(run, base, 0) == 4140
    assert run.program.operations[-1].tolist()[0] == Op.WILLNEED


def test_metadata_is_read_once_by_whoever_needs_it_first():
    """Both need it at 0. Two opens take the replayer 300: the start reads page 0 itself at 1410.

    The replayer reads pages 1 and 2 from 2810 to 4610; then 500 + 30.
    """
    base = one_file()
    run = with_replayer(base, [(0, 0, 3)], cpus=2, opening=Opening({0: [0]}, open_ns=150))
    assert both_ways(run, base, 0) == 5140
    assert run.steps[run.steps["thread"] == 1]["cpu_ns"].tolist() == [0, 0, 300, 0]
    recorded = beside(timed(base, 0, DEVICE), run)
    made = timed(run, 0, DEVICE, recorded=recorded).work[:, 0].tolist()
    assert made == [0, 1, 0, 1, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("own_names", [{0}, set()])
def test_a_start_that_looks_the_same_name_up_goes_on_first(own_names):
    """On one processor it then asks for page 0 at 1410; else the replayer has, at 1410, too."""
    base = one_file()
    opening = Opening({0: [0]}, open_ns=5, own_names=frozenset(own_names))
    run = with_replayer(base, [(0, 0, 3)], cpus=1, opening=opening)
    both_ways(run, base, 0)
    recorded = beside(timed(base, 0, DEVICE), run)
    made = timed(run, 0, DEVICE, recorded=recorded).work[:, 0].tolist()
    assert made[len(made) - len(base.steps) :][2] == len(own_names)


def test_the_replayer_computes_between_reads_of_metadata_as_the_start_did():
    """What the start computed before the first of them was not for it."""
    base = start((70, -1, 8), (200, -1, 8), (0, 0, 0), (90, -1, 8))
    run = with_replayer(base, [(0, 0, 3)], cpus=1, opening=Opening({0: [0, 1, 3]}))
    assert run.steps[run.steps["thread"] == 1]["cpu_ns"].tolist() == [0, 0, 200, 0, 0, 0]


def test_the_replayer_occupies_the_processor_for_an_exec_and_two_opens_of_a_file():
    """On one processor the start waits for 2 × 900 + 200, and its metadata for the pages."""
    base = one_file()
    run = with_replayer(base, [(0, 0, 3)], cpus=1, opening=Opening(open_ns=900, exec_ns=200))
    assert both_ways(run, base, 0) == pytest.approx(2000 + 2200 + 1400 + 10 + 10 + 500 + 30)


def test_work_of_the_replayer_is_taken_off_the_processor():
    """110 less after each read: nothing of the 10 and the 30 is left, and 290 of the 500."""
    base = one_file()
    run = with_replayer(base, [(0, 0, 3)], cpus=2, opening=Opening({0: [0]}))
    assert both_ways(run, base, 0, CpuCost(100.0, 10.0)) == 3890


def test_metadata_of_files_that_are_not_in_the_list_is_read_as_it_was():
    base = start(METADATA, (0, 0, 0), (10, 1, 0), METADATA, (0, 4, 0), (10, 5, 0), files=2)
    run = with_replayer(base, [(1, 0, 3)], cpus=2, opening=Opening({0: [0], 1: [3]}))
    own = run.steps[run.steps["thread"] == 1]
    assert own[["sectors", "meta"]].tolist() == [(0, 0), (8, ONCE), (0, 0), (0, 0)]
    after = run.steps[run.steps["thread"] == 0]
    assert after["sectors"].tolist() == [8, 0, 0, 8, 0, 0]
    assert after["meta"].tolist() == [0, 0, 0, ONCE, 0, 0]
    assert (run.steps["waits_for"] == -1).all()


def test_a_readahead_asks_for_no_more_than_a_request_holds():
    program = one_file().program
    listed = with_list(program, [(0, 0, 7)], 3)
    asked = [row[3:] for row in listed.operations.tolist() if row[0] == Op.WILLNEED]
    assert asked == [(0, 3), (3, 3), (6, 1)]
    assert pages_of(emulate(listed, RULES, 0, MACHINE)) == {(0, page) for page in range(7)}
    assert len(with_list(program, [], 3).operations) == len(program.operations)


def test_waits_of_threads_are_kept():
    base = one_file()
    base.steps["thread"][3:] = 1
    base.steps["waits_for"][3] = 2
    run = with_replayer(base, [(0, 0, 3)], cpus=2)
    assert run.steps["thread"].tolist() == [2, 2, 2, 0, 0, 0, 1, 1]
    assert run.steps["waits_for"].tolist() == [-1, -1, -1, -1, -1, -1, 5, -1]
    run.check()


def test_the_replayer_stays_512_kib_ahead():
    """Of 3 × 256 KiB the third is asked for when the last page of the first is there."""
    script = Script()
    handle = script.open(script.file(192))
    script.read(handle, 191)
    rows = np.zeros(2, STEP)
    rows["waits_for"] = rows["woken_by"] = -1
    rows["operation"] = [0, 1]
    rows["cpu_ns"] = [0, 1e6]
    machine = Machine(page_size=PAGE, io_pages=64)
    layout = Layout(np.zeros(0, EXTENT))
    base = Run(script.program(), rows, 30, RULES, machine, Limits(256), layout)
    run = with_replayer(base, [(0, 0, 192)], cpus=2)
    steps = run.steps[(run.steps["thread"] == 1) & (run.steps["operation"] >= 0)]
    own = run.program.operations[steps["operation"]]
    asked = (int(Op.WILLNEED), 64)
    waits = (int(Op.SINGLE), 0)
    found = [(int(one["op"]), int(one["length"])) for one in own]
    assert found == [asked, asked, waits, asked]
    assert own["at"].tolist() == [0, 64, 63, 128]
    both_ways(run, base, 0)


def test_the_replayer_has_at_most_32_requests_under_way():
    base = one_file()
    run = with_replayer(base, [(0, 2 * at, 1) for at in range(34)], cpus=2)
    steps = run.steps[(run.steps["thread"] == 1) & (run.steps["operation"] >= 0)]
    own = run.program.operations[steps["operation"]]
    assert own["op"].tolist()[:33] == [int(Op.WILLNEED)] * 32 + [int(Op.SINGLE)]
    assert own["at"].tolist()[32:] == [0, 64, 2, 66]


def test_at_boot_script_libraries_program_and_list_are_read_before_the_ranges():
    """The first thread's shell reads the script; then the replayer begins with what it needs."""
    base = start(METADATA, (0, 0, 0), (10, 1, 0), (10, 5, 0), files=2)
    opening = Opening(
        exec_ns=50, script_bytes=PAGE, program_bytes=2 * PAGE, libraries=frozenset([1])
    )
    run = with_replayer(base, [(0, 0, 3)], cpus=2, opening=opening)
    recorded = beside(timed(base, 0, DEVICE), run)
    plain = timed(run, 0, DEVICE, recorded=recorded)
    (core,) = timed_windows(run, [0], DEVICE, recorded=recorded)
    assert core.total_ns == pytest.approx(plain.total_ns)
    assert core.work.tolist() == plain.work.tolist()
    of_launch = run.steps[:7]
    assert of_launch["thread"].tolist() == [0, 0, 1, 1, 1, 1, 1]
    assert of_launch["cpu_ns"].tolist() == [50, 0, 50, 0, 0, 0, 0]
    assert of_launch["waits_for"].tolist() == [-1, -1, 1, -1, -1, -1, -1]
    done = run.program.operations[of_launch["operation"][[1, 3, 4, 5, 6]]]
    assert done["op"].tolist() == [Op.READ, Op.READ, Op.FAULT, Op.FAULT, Op.READ]
    assert run.program.handles[done["handle"][1]] == 1
    assert plain.work[:7, 0].tolist() == [0, 1, 0, 1, 1, 1, 1]


def test_libraries_that_a_recorded_program_maps_are_mapped_by_the_replayer():
    script = Script()
    handle = script.open(script.file(8))
    mapping = script.map(handle, 0, 8)
    script.touch(mapping, 2)
    steps = np.zeros(1, STEP)
    steps["waits_for"] = steps["woken_by"] = -1
    steps["operation"] = len(script.program().operations) - 1
    layout = Layout(np.zeros(0, EXTENT))
    base = Run(script.program(), steps, 0, RULES, MACHINE, Limits(1280), layout)
    opening = Opening(program_bytes=PAGE, libraries=frozenset([0]))
    run = with_replayer(base, [(0, 0, 1)], cpus=1, opening=opening)
    copied = run.program.operations[run.steps["operation"][2]]
    assert (copied["op"], copied["at"]) == (Op.FAULT, 2)
    assert copied["mapping"] != mapping
    assert run.program.handles[run.program.mappings["handle"][copied["mapping"]]] == 0


def test_a_replayer_that_is_in_memory_reads_its_list_s_ranges_alone():
    base = one_file()
    run = with_replayer(base, [(0, 0, 3)], cpus=2, opening=Opening(script_bytes=PAGE))
    assert len(run.program.files) == len(base.program.files)
    assert timed(run, 0, DEVICE).work[:, 0].sum() == timed(base, 0, DEVICE).work[:, 0].sum() - 2
