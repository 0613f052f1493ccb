from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.tracer.error import RecordError
from foreread.tracer.formats.sweep import Killed
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.trials.sweep import SweepOptions, schedule, sweep, whole_pages
from foreread.tracer.trials.trial import Outcome


class UnusedBench:
    kernel, page_bytes = "6.18", 4096
    machine, model = "armv7l", "Some Board"
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
    assert made.board == "armv7l Some Board"


class ThrashingBench(UnusedBench):
    """The window 512 needs more memory than there is, and 1024 more time; one result is lost."""

    def __init__(self):
        self.options = None
        self.lost = 0

    def run(self, trial):
        window = int(trial.settings[0][1])
        counters = {"disk.reads": 3.0, "disk.read_sectors": 8.0 * window}
        made = partial(Outcome, in_force=dict(trial.settings), counters=counters)
        if window == 512:
            return made(
                "failed", 0.5, notes=("the command was ended by signal 9",), killed="memory"
            )
        if window == 1024:
            self.lost += 1
            lost = Outcome("hung", notes=("the run did not end",), killed="time")
            return lost if self.lost == 2 else made("hung", 40.0, killed="time")
        return made("ok", 1.0)

    @contextmanager
    def open(self, options):
        self.options = options
        yield self


def test_runs_that_a_limit_ends_are_results_of_a_sweep():
    bench, told = ThrashingBench(), []
    options = SweepOptions(
        RunOptions(["true"]), lambda _: (64, 512, 1024), repeat=2, memory_kib=8192, limit_s=40.0
    )
    made = sweep(options, bench.open, lambda _: None, told.append)
    assert (bench.options.memory_kib, bench.options.most_s) == (8192, 40.0)
    assert (made.complete, made.memory_kib, made.notes) == (True, 8192, [])
    small, middle, large = made.points
    assert (small.seconds, small.pages, small.killed) == ([1.0, 1.0], [64.0, 64.0], [])
    assert middle.seconds == middle.pages == middle.requests == []
    assert middle.killed == 2 * [Killed(by="memory", seconds=0.5, requests=3, pages=512.0)]
    assert {run.by for run in large.killed} == {"time"}
    assert {run.pages for run in large.killed} <= {1024.0, None}
    assert {progress.seconds for progress in told} == {1.0, None}
