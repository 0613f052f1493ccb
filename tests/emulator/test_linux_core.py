"""The C core against the plain Python: random programs, kernels, windows and layouts."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from layout_strategy import block_layouts, layouts
from logged_inserts import expected_log, logged
from program_strategy import programs, rules_like
from programs import PAGE, MapFlag, Op, Script
from property_tests import examples

from foreread.emulator import _linux
from foreread.emulator.fixed import EmulationError
from foreread.emulator.linux.operations import Machine, Program
from foreread.emulator.linux.requests import EXTENT, Layout, Limits, count
from foreread.emulator.linux.rules import CHANGES, rules_for
from foreread.emulator.linux.windows import Emulation
from foreread.emulator.stepwise.replay import Replay, emulate

CACHE_PAGES = [0, 0, 1, 40, 100, 400, 1500]
VERSIONS = [change.since for change in CHANGES]
LIMITS = Limits(512, 100, 64 << 10)
NO_EXTENTS = np.zeros(0, EXTENT)


@given(data=st.data(), version=st.sampled_from(VERSIONS), large=st.booleans())
@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
def test_the_core_agrees_with_the_plain_python(data, version, large):
    block = 0 if large else data.draw(st.sampled_from([0, 0, 0, 32, 32, 1, 16, 256]))
    drawn = data.draw(programs(large=large, block=block))
    program, rules = drawn.script.program(), data.draw(rules_like(version))
    machine = Machine(
        fault_around=data.draw(st.sampled_from([1, 16])),
        exec_order=data.draw(st.sampled_from([0, 4])),
        cache_pages=data.draw(st.sampled_from(CACHE_PAGES)),
        generations=data.draw(st.booleans()),
        code_stays=data.draw(st.booleans()),
    )
    window = data.draw(st.sampled_from([0, 1, 2, 3, 4, 8, 25, 32, 64, 256, 1023]))
    places = block_layouts(drawn.sizes, block) if block else layouts(drawn.sizes)
    extents = data.draw(places)
    limits = data.draw(st.sampled_from([LIMITS, Limits(127), Limits(32), Limits(512, 9)]))
    group = np.arange(len(program.files), dtype=np.uint32)
    core = Emulation(program, rules, machine, limits, extents, group)
    plain = emulate(program, rules, window, machine)
    assert logged(core, window) == expected_log(plain)
    counts = core.counts([window])
    expected = count(plain, program, Layout(extents), limits, PAGE)
    assert (counts.requests[:, 0].tolist(), counts.pages[:, 0].tolist()) == expected


@given(data=st.data(), version=st.sampled_from([(5, 18), (6, 19), (7, 2)]), large=st.booleans())
@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
def test_the_core_agrees_about_huge_pages_and_many_misses(data, version, large):
    drawn = data.draw(programs(large=large, block=0))
    size = data.draw(st.sampled_from([4096, 16384, 65536]))
    strides = data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=4))
    write = data.draw(st.booleans())
    for mapping in range(len(drawn.script.mappings)):
        for number in range(110):
            start, pages = drawn.script.mappings[mapping][1:3]
            page = start + number * strides[mapping % len(strides)] % pages
            drawn.script.touch(mapping, page, write=write)
    program, rules = drawn.script.program(), data.draw(rules_like(version))
    program.mappings["flags"] |= np.uint8(data.draw(st.sampled_from([0, MapFlag.HUGE])))
    machine = Machine(
        page_size=size, table_pages=size // 8, fault_around=data.draw(st.sampled_from([1, 16]))
    )
    window = data.draw(st.sampled_from([0, 4, 32, 100]))
    group = np.arange(len(program.files), dtype=np.uint32)
    core = Emulation(program, rules, machine, LIMITS, NO_EXTENTS, group)
    assert logged(core, window) == expected_log(emulate(program, rules, window, machine))


def a_program():
    script = Script()
    handle = script.open(script.file(100))
    mapping = script.map(handle, 10, 20)
    return script.read(handle, 0, 3).touch(mapping, 12).program()


def core(program, machine=None, limits=LIMITS, extents=NO_EXTENTS):
    group = np.zeros(len(program.files), np.uint32)
    return Emulation(program, rules_for((6, 18)), machine or Machine(), limits, extents, group)


@pytest.mark.parametrize(("max_kb", "made"), [(127, 5), (126, 6)])
def test_a_limit_of_127_kib_is_that_of_255_sectors(max_kb, made):
    """Seen on a disk without a limit of its own, with Linux 6.12: requests of 255 sectors."""
    script = Script()
    program = script.read(script.open(script.file(128)), 0, 128).program()
    extents = np.array([(0, 0, 5000, 1020, 1), (0, 1020, 90_000, 4, 1)], EXTENT)
    limits = Limits(max_kb)
    counts = core(program, limits=limits, extents=extents).counts([128])
    plain = emulate(program, rules_for((6, 18)), 128)
    assert count(plain, program, Layout(extents), limits, PAGE)[0] == [made]
    assert counts.requests.tolist() == [[made]]


def test_windows_run_together_as_alone():
    emulation = core(a_program())
    windows = list(range(64))
    together = emulation.counts(windows)
    alone = [emulation.counts([window]).requests[0, 0] for window in windows]
    assert together.requests[0].tolist() == alone


@pytest.mark.parametrize(
    ("column", "value"),
    [("op", 9), ("handle", 7), ("at", 1 << 63), ("length", 1 << 63)],
)
def test_operations_out_of_range_are_refused(column, value):
    program = a_program()
    program.operations[column][1] = value
    with pytest.raises(EmulationError):
        core(program).counts([8])


def test_rows_out_of_range_are_refused():
    program = a_program()
    operations = program.operations.copy()
    operations["mapping"][2] = 4
    bad = [
        replace(program, operations=operations),
        replace(program, handles=np.array([3], np.uint32)),
        replace(program, mappings=_with(program.mappings, "handle", 9)),
        replace(program, mappings=_with(program.mappings, "start", 1 << 60)),
    ]
    for one in bad:
        with pytest.raises(EmulationError):
            core(one).counts([8])
    with pytest.raises(EmulationError):
        core(program, extents=np.array([(5, 0, 0, 8, 1)], EXTENT)).counts([8])


def _with(array, column, value):
    copy = array.copy()
    copy[column] = value
    return copy


@pytest.mark.parametrize(
    ("machine", "limits", "window"),
    [
        (Machine(page_size=0), LIMITS, 8),
        (Machine(table_pages=0), LIMITS, 8),
        (Machine(), Limits(0), 8),
        (Machine(), Limits(4, 0), 8),
        (Machine(), Limits(4, nr_requests=0), 8),
        (Machine(), LIMITS, -1),
        (Machine(), LIMITS, _linux.MAX_WINDOW + 1),
    ],
)
def test_limits_out_of_range_are_refused(machine, limits, window):
    with pytest.raises(EmulationError):
        core(a_program(), machine, limits).counts([window])


def test_arrays_of_another_kind_are_refused():
    program = a_program()
    wrong = Program(program.operations["at"], program.mappings, program.handles, program.files)
    with pytest.raises(EmulationError):
        core(wrong)
    with pytest.raises(TypeError):
        _linux.emulate(*[np.zeros(1, np.uint8)] * 11, False)


def test_every_error_has_a_text():
    for message, remedy in _linux.error_texts():
        assert message and remedy


def test_advice_on_a_file_of_unknown_size_ends():
    script = Script()
    handle = script.open(script.sized(-1))
    program = script.advise(Op.WILLNEED, handle, 5, 1 << 40).program()
    assert core(program).counts([32]).pages[0, 0] == 320


@given(data=st.data(), version=st.sampled_from([(2, 6, 18), (5, 10), (7, 2)]))
@settings(max_examples=examples(30), deadline=None, suppress_health_check=list(HealthCheck))
def test_each_insert_names_the_operation_that_read_it(data, version):
    drawn = data.draw(programs(large=True, block=0))
    program = drawn.script.program()
    replay = Replay(program, rules_for(version), 32, Machine())
    made = []
    for row, operation in enumerate(program.operations.tolist()):
        deque(replay.do(*operation), maxlen=0)
        made += [row] * (len(replay.kernel.outcome.inserts) - len(made))
    group = np.zeros(len(program.files), np.uint32)
    core = Emulation(program, rules_for(version), Machine(), LIMITS, NO_EXTENTS, group)
    assert core.inserts(32)["operation"].tolist() == made
