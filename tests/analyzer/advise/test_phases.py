"""Windows in phases: by the first use of each file."""

from __future__ import annotations

from dataclasses import replace

import pytest
from advice_starts import start_of
from programs import Script

from foreread.analyzer.advise.phases import (
    FREEZE_NS,
    around,
    begins_ns,
    boundaries,
    first_uses,
    freeze_ns,
    frozen,
    phased,
)
from foreread.analyzer.advise.variant import variant_of
from foreread.emulator.linux.operations import Op


def two_files(window=0):
    """Pages 40 to 43 of two mapped files, one after the other."""
    script = Script()
    mappings = [script.map(script.open(script.file(128)), 0, 128) for _ in range(2)]
    rows: list[dict[str, int]] = []
    accesses = []
    for file, mapping in enumerate(mappings):
        for page in range(40, 44):
            script.touch(mapping, page)
            rows.append({"operation": 2 + len(rows), "cpu_ns": 10})
            accesses.append((file, page))
    return variant_of(start_of(script, rows, accesses), window)


def uses(variant):
    return first_uses(variant).tolist()


def test_phases_begin_where_files_are_first_used():
    variant = two_files()
    operations = variant.run.program.operations
    assert uses(variant) == [0, 4]
    assert boundaries(variant, 3) == [4]
    assert len(operations) == 10
    assert begins_ns(variant).tolist() == pytest.approx([row * 1410 for row in range(8)])


def test_a_step_begins_when_the_steps_of_all_threads_before_it_are_over():
    """The second thread sleeps 1 ms, reads a page in 1,400 ns, and computes 10 more."""
    script = Script()
    handle = script.open(script.file(8))
    for page in (0, 3, 5):
        script.read(handle, page)
    rows = [
        {"operation": 1, "cpu_ns": 10},
        {"operation": 2, "cpu_ns": 10, "sleep_ns": 1e6, "thread": 1},
        {"operation": 3, "cpu_ns": 10},
    ]
    variant = variant_of(start_of(script, rows, [(0, 0), (0, 3), (0, 5)]), 0)
    begins = pytest.approx([0, 1410, 1e6 + 1410])
    assert begins_ns(variant).tolist() == begins
    first_alone = variant.with_run(replace(variant.run, ends=0))
    assert first_alone.cost().seconds < 1e-4
    assert begins_ns(first_alone).tolist() == begins


@pytest.mark.parametrize("op", [Op.PRESENT, Op.SINGLE])
def test_a_page_that_no_window_reads_is_no_use(op):
    """As pages of the C library that the shell before an exec has mapped."""
    variant = two_files()
    operations = variant.run.program.operations
    operations[operations["op"] == Op.FAULT] = operations[2]
    operations[2] = (op, 0, 0, 40, 1)
    assert uses(variant) == [1, len(variant.run.steps)]


def test_a_phase_may_begin_at_any_use_within_the_time_that_a_change_may_be_off():
    variant = two_files()
    assert around(variant, 4, [1, 1]) == [4]
    later = variant.run.steps.copy()
    later["cpu_ns"][3] = 30e6  # the second file is used 30 ms later
    late = variant.with_run(replace(variant.run, steps=later))
    assert around(late, 4, [1, 1]) == [4]
    assert around(late, 0, [1, 1]) == []


@pytest.mark.parametrize("window", [0, 1, 4, 16])
def test_equal_windows_are_the_same_as_one(window):
    variant = two_files()
    together = replace(variant, window=window).cost()
    assert phased(variant, [4], [window, window]).cost() == together


def test_each_file_has_the_window_of_its_phase():
    variant = two_files()
    alone, around = [[1, 1]] * 4, [[1, 8], [0, 0], [1, 8], [0, 0]]
    for windows, work in (([8, 0], [*around, *alone]), ([0, 8], [*alone, *around])):
        timed, _ = phased(variant, [4], windows).timed()
        assert timed.work[:, :2].tolist() == work


def test_a_window_of_the_file_system_stays():
    variant = two_files()
    variant.run.program.files["window"][1] = 0
    assert phased(variant, [4], [8, 8]).cost() == phased(variant, [4], [8, 0]).cost()


@pytest.mark.parametrize(
    ("version", "takes"),
    [((6, 10), 0), ((6, 11), FREEZE_NS), ((6, 18), FREEZE_NS), ((6, 19), 0), ((5, 10), 0)],
)
def test_kernels_that_freeze_the_queue_wait_at_a_change(version, takes):
    assert freeze_ns(version) == takes


def test_a_freeze_makes_the_start_longer():
    variant = two_files()
    longer = frozen(variant, 4, 5000.0).cost().seconds - variant.cost().seconds
    assert longer == pytest.approx(5000e-9)
    assert frozen(variant, 8, 5000.0) is variant
    assert frozen(variant, 4, 0.0) is variant
