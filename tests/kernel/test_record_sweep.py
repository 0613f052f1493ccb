"""Sweeps of a real command on a loop device."""

from __future__ import annotations

import os
from functools import partial

import pytest
from loop_image import WINDOW_KB, loop_image
from waiting import left_s

from foreread.boards.device import DeviceError
from foreread.boards.target import LocalTarget
from foreread.tracer.error import RecordError
from foreread.tracer.machines import bench_on
from foreread.tracer.runs.options import Ending, RunOptions, Streams
from foreread.tracer.trials.sweep import SweepOptions, sweep
from foreread.tracer.trials.trial import Scenario

PAGES = 64  # of the data file
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no sweep was checked"),
]


@pytest.fixture
def loop(tmp_path):
    with loop_image(tmp_path) as image:
        yield image


@pytest.fixture
def nowhere():
    with open(os.devnull, "wb") as file:  # noqa: PTH123
        yield Streams(stdout=file.fileno())


def run_sweep(
    command, windows_kb, save=lambda _: None, repeat=2, devices=(), scenario="idle", **run
):
    options = SweepOptions(
        RunOptions([str(word) for word in command], allow_warm=True, **run),
        lambda _: windows_kb,
        repeat,
        scenario=Scenario.parse(scenario),
        devices=devices,
        wait_s=left_s(),
    )
    return sweep(options, partial(bench_on, LocalTarget()), save, lambda _: None)


@pytest.mark.thorough
def test_the_window_in_force_is_measured_too(loop, nowhere):
    options = SweepOptions(
        RunOptions([str(loop.busybox), "true"], streams=nowhere, allow_warm=True),
        lambda _: (0,),
        repeat=1,
        with_default=True,
        wait_s=left_s(),
    )
    result = sweep(options, partial(bench_on, LocalTarget()), lambda _: None, lambda _: None)
    assert [point.read_ahead_kb for point in result.points] == sorted([0, WINDOW_KB])


def test_larger_windows_make_fewer_requests(loop, nowhere):
    saved = []
    command = [loop.busybox, "cat", loop.data]
    result = run_sweep(command, (0, 16, 64), saved.append, streams=nowhere)
    assert [point.read_ahead_kb for point in result.points] == [0, 16, 64]
    assert result.devices == [loop.device]
    assert result.default_read_ahead_kb == WINDOW_KB
    none, small, large = (min(point.requests) for point in result.points)
    assert none >= PAGES > small > large
    assert all(min(point.pages) >= PAGES for point in result.points)
    assert all(len(point.seconds) == 2 for point in result.points)
    assert result.complete
    assert [one.complete for one in saved] == [False] * 6 + [True]
    assert loop.restored_kb() == WINDOW_KB


@pytest.mark.thorough
def test_every_run_of_a_sweep_is_made_beside_its_load(loop, nowhere):
    sectors = 1 << 16  # more than the image has: only the reader reads so many
    script = (
        f"seen() {{ read -r _ _ sectors _ </sys/block/{loop.device}/stat; }}; seen; "
        f"end=$((sectors + {sectors})); until [ $sectors -ge $end ]; do sleep 0.01; seen; done"
    )
    result = run_sweep(
        ["sh", "-c", script],
        (0, 16),
        repeat=1,
        devices=(loop.device,),
        scenario="reader",
        streams=nowhere,
    )
    assert result.scenario == "reader"
    assert all(min(point.pages) >= sectors / 8 for point in result.points)
    assert "requests and pages include those of the scenario's load" in result.notes
    with pytest.raises(RecordError, match="does not exist"):
        run_sweep(["true"], (0,), devices=(loop.device,), scenario="reader:/nosuch")
    assert loop.restored_kb() == WINDOW_KB


@pytest.mark.thorough
def test_an_interrupted_sweep_keeps_its_runs_and_says_so(loop, nowhere):
    saved = []

    def interrupt(one):
        saved.append(one)
        if len(saved) == 3:
            raise KeyboardInterrupt

    result = run_sweep(["true"], (0, 8), interrupt, devices=(loop.device,), streams=nowhere)
    assert not result.complete
    assert sum(len(point.seconds) for point in result.points) == 3
    assert loop.restored_kb() == WINDOW_KB


@pytest.mark.thorough
def test_a_sweep_interrupted_before_its_first_run_counted_is_not_a_sweep(loop, nowhere):
    def interrupt(_progress):
        raise KeyboardInterrupt

    command = [str(loop.busybox), "true"]
    options = SweepOptions(
        RunOptions(command, streams=nowhere, allow_warm=True), lambda _: (0,), wait_s=left_s()
    )
    with pytest.raises(KeyboardInterrupt):
        sweep(options, partial(bench_on, LocalTarget()), lambda _: None, interrupt)


@pytest.mark.thorough
def test_a_failing_command_stops_the_sweep(loop):
    with pytest.raises(RecordError, match="exit status 3"):
        run_sweep(["sh", "-c", "exit 3"], (0, 8), devices=(loop.device,))
    assert loop.restored_kb() == WINDOW_KB


@pytest.mark.thorough
def test_runs_that_are_ended_by_their_output(loop, nowhere):
    command = ["sh", "-c", f"cat {loop.data} >/dev/null; echo up; exec sleep 600"]
    result = run_sweep(
        command, (0,), repeat=1, devices=(loop.device,), ending=Ending(output="up"), streams=nowhere
    )
    assert result.points[0].seconds[0] < 600
    assert result.points[0].requests[0] >= PAGES


@pytest.mark.thorough
def test_odd_windows_are_rounded_and_noted(loop, nowhere):
    result = run_sweep(["true"], (6,), repeat=1, devices=(loop.device,), streams=nowhere)
    assert [point.read_ahead_kb for point in result.points] == [4]
    assert any("rounded" in note for note in result.notes)


@pytest.mark.thorough
def test_an_unknown_disk_is_refused(loop):
    with pytest.raises(DeviceError, match="nosuchdisk"):
        run_sweep(["true"], (0,), devices=("nosuchdisk",))
