from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.tracer.error import RecordError
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.trials.sweep import SweepOptions, schedule, sweep, whole_pages
from foreread.tracer.trials.trial import Outcome


class UnusedBench:
    kernel, page_bytes = "6.18", 4096
    disks: ClassVar = ["sda"]
    notes: ClassVar = []

    windows: ClassVar = ["/sys/block/sda/queue/read_ahead_kb"]

    def probe(self, knobs):
        return dict.fromkeys(knobs, "128")

    def announce(self, trials):
        pass

    def run(self, trial):
        raise AssertionError(trial)


WINDOWS = st.lists(st.integers(0, 4096), min_size=1, max_size=12, unique=True).map(tuple)


@given(WINDOWS, st.integers(1, 4), st.integers(0, 2**32))
def test_every_round_runs_every_window_once(windows, repeat, seed):
    order = schedule(windows, repeat, seed)
    n = len(windows)
    assert all(sorted(order[at : at + n]) == sorted(windows) for at in range(0, len(order), n))
    assert Counter(order) == dict.fromkeys(windows, repeat)
    assert order == schedule(windows, repeat, seed)


def test_rounds_differ_from_each_other():
    windows = tuple(range(0, 400, 4))
    order = schedule(windows, 2, seed=1)
    assert order[:100] != order[100:]


@given(WINDOWS)
def test_windows_become_whole_pages_like_in_the_kernel(windows):
    for page_bytes in (4096, 65536):
        kib = page_bytes // 1024
        rounded = whole_pages(windows, page_bytes)
        assert list(rounded) == sorted({window - window % kib for window in windows})


@pytest.mark.parametrize(("windows", "repeat"), [((), 1), ((-4, 8), 1), ((4,), 0)])
def test_senseless_sweeps_are_refused(windows, repeat):
    options = SweepOptions(RunOptions(["true"]), lambda _: windows, repeat)
    with pytest.raises(RecordError, match="a sweep needs"):
        sweep(options, lambda _: nullcontext(UnusedBench()), lambda _: None, lambda _: None)


class SpoiledBench(UnusedBench):
    """The first run of the window is repeated: another program had set it."""

    def run(self, trial):
        counters = {"disk.reads": 1.0, "disk.read_sectors": 8.0}
        return Outcome(
            "ok", 1.0, in_force=dict(trial.settings), counters=counters, repeated=("repeated",)
        )


def test_a_sweep_notes_once_that_another_program_set_the_window():
    options = SweepOptions(RunOptions(["true"]), lambda _: (16, 32), repeat=2)
    made = sweep(options, lambda _: nullcontext(SpoiledBench()), lambda _: None, lambda _: None)
    assert made.complete
    assert made.notes == ["repeated"]
