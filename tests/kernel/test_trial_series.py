"""Series of trials by a target's shell: made ahead of the host, undone when something dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from loop_image import WINDOW_KB, loop_image
from machine_lock import nobody_records
from owned import instances_of, jobs_of
from series_trials import MEASURED, at, trials_by
from shells import each_shell
from target_recordings import is_running
from waiting import has_text, left_s, wait_until

import foreread
from foreread.boards.target import LocalTarget
from foreread.tracer.error import RecordError
from foreread.tracer.remote.trials import trials_on
from foreread.tracer.runs.options import RunOptions, Streams
from foreread.tracer.trials.trial import Scenario, Trial, TrialOptions

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no series of trials was made"),
]

DRIVER = """
import sys
from foreread.boards.target import LocalTarget
from foreread.tracer.remote.trials import trials_on
from foreread.tracer.local.run import RunOptions
from foreread.tracer.trials.trial import Trial, TrialOptions
run = RunOptions(sys.argv[4:], allow_warm=True)
options = TrialOptions(run, devices=(sys.argv[1],), wait_s=float(sys.argv[3]))
with trials_on(LocalTarget(), options, ("busybox", "sh")) as bench:
    trial = Trial(((sys.argv[2], "16"),))
    bench.announce([trial] * 3)
    for _ in range(3):
        print(bench.run(trial).status, flush=True)
"""


@pytest.fixture
def loop(tmp_path):
    with loop_image(tmp_path) as image:
        yield image


@pytest.fixture(params=each_shell())
def trials(request, loop):
    with trials_by(request.param, loop) as trials:
        yield trials


@pytest.mark.thorough
def test_announced_trials_are_made_in_order_each_at_its_window(loop, trials):
    windows = [16, 32, 0, 64, 16]
    with trials() as bench:
        bench.announce([at(loop, kb) for kb in windows])
        found = [bench.run(at(loop, kb)) for kb in windows]
        assert loop.restored_kb() == WINDOW_KB
    assert [one.in_force for one in found] == [{str(loop.knob): str(kb)} for kb in windows]
    assert all(one.status in MEASURED and one.seconds > 0 for one in found)
    reads = {kb: one.counters["disk.reads"] for kb, one in zip(windows, found, strict=True)}
    assert reads[0] > reads[64]


@pytest.mark.thorough
def test_announced_trials_may_be_dropped(loop, trials):
    with trials() as bench:
        bench.announce([at(loop, 16)] * 4)
        bench.run(at(loop, 16))
        other = bench.run(at(loop, 64))
        bench.announce([at(loop, 32), at(loop, 8)])
        again = bench.run(at(loop, 32))
    assert other.in_force == {str(loop.knob): "64"}
    assert again.in_force == {str(loop.knob): "32"}
    assert loop.restored_kb() == WINDOW_KB
    assert jobs_of(os.getpid()) == []


@pytest.mark.thorough
def test_a_run_finds_nothing_of_the_one_before(loop, trials, tmp_path):
    """Processes that outlive the command are ended before the next run begins."""
    seen = tmp_path / "seen"
    script = (
        f"sleep 987 & jobs -p >/dev/null; echo $! >>{seen}; ps | grep -c '[s]leep 987' >>{seen}"
    )
    with trials("sh", "-c", script) as bench:
        bench.announce([at(loop, 16)] * 3)
        for _ in range(3):
            bench.run(at(loop, 16))
    lines = seen.read_text().split()
    assert len(lines) == 6
    assert not any(is_running(int(pid)) for pid in lines[::2])


@pytest.mark.thorough
def test_the_output_of_each_run_is_its_own(loop, trials, tmp_path):
    count, shown = tmp_path / "count", tmp_path / "shown"
    script = f"echo x >>{count}; wc -l <{count}; echo 'outputs 3' >&2"
    with shown.open("wb") as file:
        streams = Streams(stdout=file.fileno(), stderr=file.fileno())
        with trials("sh", "-c", script, streams=streams) as bench:
            bench.announce([at(loop, 16)] * 3)
            for _ in range(3):
                bench.run(at(loop, 16))
    assert shown.read_text().split("outputs 3\n")[:3] == ["1\n", "2\n", "3\n"]


@pytest.mark.thorough
def test_loads_come_and_go_between_runs(loop, trials):
    calm, loaded = at(loop, 16), Trial(at(loop, 16).settings, Scenario.parse("writer"))
    with trials() as bench:
        bench.announce([calm, loaded, calm])
        found = [bench.run(one) for one in (calm, loaded, calm)]
    assert all(one.status in MEASURED for one in found)
    assert found[1].counters["disk.writes"] > 0
    assert not list(loop.mountpoint.glob(".foreread*"))


@pytest.mark.thorough
def test_a_hanging_run_ends_the_series_and_the_next_one_begins_another(loop, trials):
    with trials("sleep", "1000", limit_s=0.5) as bench:
        bench.announce([at(loop, 16)] * 2)
        assert bench.run(at(loop, 16)).status == "hung"
        assert loop.restored_kb() == WINDOW_KB
        assert bench.run(at(loop, 16)).status == "hung"


@pytest.fixture
def driven(loop, tmp_path):
    """A host in a process of its own, in the second of three runs of a command that hangs there."""
    pid_file = tmp_path / "pid"
    script = f"[ -e {tmp_path}/first ] || {{ : >{tmp_path}/first; exit; }}; "
    script += f"echo $$ >{pid_file}; exec sleep 600"
    words = [loop.device, str(loop.knob), str(left_s()), "sh", "-c", script]
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, *words],
        env={**os.environ, "PYTHONPATH": str(Path(foreread.__file__).parents[1])},
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    ) as driver:
        try:
            wait_until(lambda: driver.poll() is not None or has_text(pid_file))
            job = next(path for path in jobs_of(driver.pid) if (path / "made").exists())
            makers = [int(line.split()[0]) for line in (job / "makers").read_text().splitlines()]
            # of all runs, of run 1, of run 2
            assert [is_running(pid) for pid in makers] == [True, False, True]
            assert loop.window_kb() == 16
            yield driver, int(pid_file.read_text()), job
        finally:
            driver.kill()
    wait_until(lambda: not job.exists())
    assert not any(is_running(pid) for pid in makers)


def assert_undone(job, instances, pid, loop):
    wait_until(lambda: not job.exists())
    assert loop.restored_kb() == WINDOW_KB
    assert not any(one.exists() for one in instances)
    assert not is_running(pid)


@pytest.mark.thorough
def test_the_guard_undoes_all_when_the_host_vanishes(driven, loop):
    driver, pid, job = driven
    instances = instances_of(job)
    driver.kill()
    assert_undone(job, instances, pid, loop)


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_series(driven, loop, number):
    driver, pid, job = driven
    instances = instances_of(job)
    driver.send_signal(number)
    assert driver.wait(left_s()) != 0
    assert_undone(job, instances, pid, loop)


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.thorough
def test_the_guard_undoes_all_when_the_maker_is_killed(driven, loop):
    driver, pid, job = driven
    instances = instances_of(job)
    recorder = int((job / "recorder").read_text())
    os.kill(parent_of(recorder), signal.SIGKILL)
    assert driver.wait(left_s()) != 0
    assert_undone(job, instances, pid, loop)


@pytest.mark.thorough
def test_a_dead_guard_is_noticed_by_the_host(driven, loop):
    driver, pid, job = driven
    instances = instances_of(job)
    os.kill(int((job / "owner").read_text().split()[0]), signal.SIGKILL)
    assert driver.wait(left_s()) != 0
    assert_undone(job, instances, pid, loop)


@pytest.mark.thorough
def test_the_knobs_are_taken_by_one_series_only(driven, loop):
    run = RunOptions([str(loop.busybox), "true"], allow_warm=True)
    options = TrialOptions(run, devices=(loop.device,))
    with (
        trials_on(LocalTarget(), options) as bench,
        pytest.raises(RecordError, match="another foreread"),
    ):
        bench.run(at(loop, 8))
    assert loop.window_kb() == 16


def has_guard(job):
    """Whether a process of the shell owns that job, or waits to own it."""
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = os.fsdecode(process.read_bytes()).split("\0")
            if "guard_series" in words and f"{job}/job.sh" in words:
                return True
    return False


@pytest.mark.thorough
def test_a_job_that_is_ended_while_it_waits_for_the_lock_leaves_no_process(loop):
    words = [loop.device, str(loop.knob), "600", str(loop.busybox), "true"]
    with (
        nobody_records(),
        subprocess.Popen(
            [sys.executable, "-c", DRIVER, *words],
            env={**os.environ, "PYTHONPATH": str(Path(foreread.__file__).parents[1])},
            stderr=subprocess.DEVNULL,
        ) as driver,
    ):
        try:
            job = wait_until(lambda: next(filter(has_guard, jobs_of(driver.pid)), None))
        finally:
            driver.kill()
        # The job that lent its script has no process: the next foreread removes its folder.
        wait_until(lambda: not job.exists() and not has_guard(job))
