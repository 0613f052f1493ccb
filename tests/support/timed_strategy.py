"""Strategies of timed runs: random programs, threads and waits on all kernels, and devices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st
from layout_strategy import block_layouts, layouts
from program_strategy import programs, rules_like
from timed_runs import steps_of

from foreread.emulator.devices.device import FixedCost
from foreread.emulator.devices.measured import Measured, Point
from foreread.emulator.devices.paced import Paced
from foreread.emulator.devices.stateful import Stateful
from foreread.emulator.linux.operations import Machine
from foreread.emulator.linux.requests import Layout, Limits
from foreread.emulator.linux.rules import CHANGES
from foreread.emulator.linux.steps import AHEAD, META, ONCE, Run

VERSIONS = [change.since for change in CHANGES]
CACHE_PAGES = [0, 0, 1, 40, 100, 400, 1500]
WINDOWS = [0, 1, 2, 3, 4, 8, 25, 32, 64, 256, 1023]
SLICES = 1_700_000.0  # longer than a thread computes at a time when others wait


@st.composite
def steps(draw, operations):
    """Draw the steps that do so many operations in order, in threads that wait for others."""
    rows = []
    threads = draw(st.integers(1, 4))
    for operation in range(operations):
        while draw(st.integers(0, 7)) == 0:
            sectors = draw(st.sampled_from([0, 1, 8, 256]))
            rows.append({"operation": -1, "sectors": sectors, "sector": draw(st.integers(0, 30))})
        rows.append({"operation": operation})
    for at, row in enumerate(rows):
        row["thread"] = 3 * draw(st.integers(0, threads - 1))
        row["bios"] = draw(st.sampled_from([1, 1, 3]))
        row["meta"] = draw(st.sampled_from([0, META, ONCE, META | ONCE, AHEAD, AHEAD | ONCE]))
        row["cpu_ns"] = draw(st.sampled_from([0, 0, 1, 100, 30_000, 0.1, SLICES]))
        row["own_pages"] = draw(st.sampled_from([0, 0, 0, 1, 30, 2000]))
        row["sleep_ns"] = draw(st.sampled_from([0, 0, 0, 0, 7, 50_000]))
        row["woken_by"] = draw(st.one_of(st.just(-1), st.integers(-1, len(rows) - 1)))
        row["waits_for"] = draw(st.one_of(st.just(-1), st.integers(-1, at - 1)))
    return steps_of(rows)


@st.composite
def runs(draw):
    """Draw a run on one of all kernels."""
    large = draw(st.booleans())
    block = 0 if large else draw(st.sampled_from([0, 0, 0, 32, 32, 1, 16, 256]))
    drawn = draw(programs(large=large, block=block))
    program = drawn.script.program()
    if draw(st.integers(0, 9)) == 0:
        program.files["size"] = -1
    machine = Machine(
        fault_around=draw(st.sampled_from([1, 16])),
        cache_pages=draw(st.sampled_from(CACHE_PAGES)),
        generations=draw(st.booleans()),
        code_stays=draw(st.booleans()),
    )
    chosen = draw(steps(len(program.operations)))
    return Run(
        program,
        chosen,
        draw(st.sampled_from([0.0, 5000.5])),
        draw(rules_like(draw(st.sampled_from(VERSIONS)))),
        replace(machine, exec_order=draw(st.sampled_from([0, 4]))),
        draw(st.sampled_from(LIMITS)),
        Layout(draw(block_layouts(drawn.sizes, block) if block else layouts(drawn.sizes))),
        cpus=draw(st.integers(1, 3)),
        ends=draw(st.sampled_from([-1, -1, int(chosen["thread"][0])])),
    )


def assert_same(found, expected):
    assert found.work.tolist() == expected.work.tolist()
    for name in ("total_ns", "compute_ns", "waited_ns", "behind_ns"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9), name
    for name in ("ends_ns", "over_ns"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9)


LIMITS = (
    Limits(512, 100, 64 << 10),
    Limits(1280),
    Limits(8, 2, 4096),
    Limits(16, nr_requests=2),
    Limits(4, nr_requests=1),
)
COST = FixedCost(1e5, 1e4)
DEVICES = [
    FixedCost(0.0, 0.0),
    FixedCost(0.0, 5e4),
    FixedCost(1e6, 5e4),
    FixedCost(1e5, 5e4, handover_ns=3e4),
    Paced(requests_per_second=1000, bytes_per_second=5e6),
    Paced(requests_per_second=3e4, base=COST),
    Paced(bytes_per_second=4e7, slice_ns=3e7, tick_ns=1e7),
    Paced(requests_per_second=0.7, bytes_per_second=1e6),
    Paced(requests_per_second=2000, bytes_per_second=3e7, base=COST, slice_ns=0),
    Measured((Point(4, False, 1e5, 3e4), Point(64, False, 4e5, 4e5), Point(16, True, 5e4, 2e4))),
    Measured((Point(8, True, 1e5, 1e5),)),
    Stateful(1e5, 1e3, parallel=8, handover_ns=2e4, jitter_ns=5e4, seed=3),
    Stateful(2e5, 1e4, unit_kib=16, kept_units=3, hit_ns=3e4, hit_ns_per_kib=2e3, seek_ns=1e6),
    Stateful(2e5, 1e4, seek_ns=1e6, seek_ns_per_root=1e4, jitter_ns=1e5),
    Stateful(2e5, 1e4, parallel=2, fast_kib=64, slow_ns_per_kib=5e4, rest_ns=5e6),
]
