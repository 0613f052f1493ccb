"""Recordings on a target that are interrupted, killed or met by others: all is put back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from guards import guards_of
from loop_image import WINDOW_KB, loop_image
from owned import instances_of, jobs_of
from shells import each_shell
from target_recordings import is_running, record_here
from waiting import has_text, left_s, wait_until

import foreread
from foreread.boards.target import LocalTarget
from foreread.tracer.backends import tracefs_mount
from foreread.tracer.backends.tracefs import TracefsBackend
from foreread.tracer.error import RecordError
from foreread.tracer.formats import capture as capture_files
from foreread.tracer.local.record import record
from foreread.tracer.remote.job import script
from foreread.tracer.remote.record import PARTS, record_on
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

DRIVER = """
import sys
from pathlib import Path
from foreread.boards.target import LocalTarget
from foreread.tracer.local.record import RecordOptions
from foreread.tracer.remote.job import script
from foreread.tracer.remote.record import PARTS, record_on
from foreread.tracer.local.run import RunOptions
options = RecordOptions(RunOptions(sys.argv[3:], allow_warm=True), wait_s=float(sys.argv[2]))
record_on(LocalTarget(), options, Path(sys.argv[1]), shell=("busybox", "sh"))
"""

# Busybox may lack the applet.
WITHOUT_SETSID = """
import foreread.tracer.remote.record as module
settings = module.settings
module.settings = lambda *words: {**settings(*words), "own_session": ""}
"""

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(
        os.geteuid() != 0, reason="needs root: that all is put back on a target was not checked"
    ),
]


@pytest.fixture
def loop(tmp_path):
    with loop_image(tmp_path) as image:
        yield image


@pytest.fixture
def recording(loop, tmp_path, request):
    """A foreread in a process of its own that records a command which does not end."""
    changed = getattr(request, "param", "")
    pid_file = tmp_path / "pid"
    command = ["sh", "-c", f"echo $$ >{pid_file}; exec sleep 600"]
    with subprocess.Popen(
        [sys.executable, "-c", changed + DRIVER, tmp_path / "capture", str(left_s()), *command],
        env={**os.environ, "PYTHONPATH": str(Path(foreread.__file__).parents[1])},
        start_new_session=True,
    ) as driver:
        try:
            wait_until(lambda: driver.poll() is not None or has_text(pid_file))
            (job,) = jobs_of(driver.pid)
            assert loop.window_kb() == 0
            yield driver, int(pid_file.read_text()), job
        finally:
            driver.kill()
    wait_until(lambda: not job.exists())


def assert_undone(job, instances, pid, loop):
    wait_until(lambda: not job.exists())
    assert loop.restored_kb() == WINDOW_KB
    assert not any(one.exists() for one in instances)
    assert not is_running(pid)


def both_instances_of(job):
    instances = instances_of(job)
    assert len(instances) == 2
    assert all(one.is_dir() for one in instances)
    return instances


@pytest.mark.thorough
def test_ctrl_c_ends_and_keeps_the_recording(recording, loop, tmp_path):
    driver, pid, job = recording
    instances = both_instances_of(job)
    driver.send_signal(signal.SIGINT)
    assert driver.wait(left_s()) == 0
    assert capture_files.read(tmp_path / "capture")[0].ended_by == "signal"
    assert_undone(job, instances, pid, loop)


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_abort_and_restore(recording, loop, tmp_path, number):
    driver, pid, job = recording
    instances = both_instances_of(job)
    driver.send_signal(number)
    assert driver.wait(left_s()) != 0
    assert not (tmp_path / "capture").exists()
    assert_undone(job, instances, pid, loop)


@pytest.mark.thorough
def test_the_guard_undoes_all_when_the_host_vanishes(recording, loop, tmp_path):
    driver, pid, job = recording
    instances = both_instances_of(job)
    driver.kill()
    assert_undone(job, instances, pid, loop)
    with pytest.raises(capture_files.CaptureError, match="partial"):
        capture_files.read(tmp_path / "capture")


def test_the_guard_undoes_all_when_the_recorder_is_killed(recording, loop, tmp_path):
    driver, pid, job = recording
    instances = both_instances_of(job)
    os.kill(int((job / "recorder").read_text()), signal.SIGKILL)
    assert driver.wait(left_s()) != 0
    assert not (tmp_path / "capture").exists()
    assert_undone(job, instances, pid, loop)


@pytest.mark.thorough
def test_a_dead_guard_is_noticed_by_the_host(recording, loop, tmp_path):
    driver, pid, job = recording
    instances = both_instances_of(job)
    os.kill(int((job / "owner").read_text().split()[0]), signal.SIGKILL)
    assert driver.wait(left_s()) != 0
    assert_undone(job, instances, pid, loop)


@pytest.mark.thorough
def test_changes_of_dead_processes_are_restored_by_the_next_recording(recording, loop, tmp_path):
    driver, pid, job = recording
    instances = both_instances_of(job)
    for victim in (*guards_of(driver.pid), driver.pid, *guards(job)):
        os.kill(victim, signal.SIGKILL)
    driver.wait(left_s())
    capture = record_here(tmp_path / "next", ["true"])
    assert capture.exit_status == 0
    disk = next(d for d in capture.devices if d.name == loop.device)
    assert disk.read_ahead_kb_before == WINDOW_KB
    assert_undone(job, instances, pid, loop)


@pytest.mark.thorough
def test_a_second_recording_is_refused_and_names_the_first(recording, tmp_path):
    _, _, job = recording
    owner = (job / "owner").read_text().split()[0]
    with pytest.raises(RecordError, match=f"pid {owner}"):
        record_on(LocalTarget(), RecordOptions(RunOptions(["true"])), tmp_path / "second")
    with pytest.raises(RecordError, match=f"pid {owner}"):
        record(RecordOptions(RunOptions(["true"])), TracefsBackend(), tmp_path / "third")
    assert not (tmp_path / "second").exists()


@pytest.mark.thorough
def test_the_guard_is_not_in_the_session_that_a_hangup_ends(recording, loop):
    driver, pid, job = recording
    assert not {os.getsid(one) for one in guards(job)} & {os.getsid(driver.pid)}
    assert is_running(pid)
    assert loop.window_kb() == 0


@pytest.mark.thorough
@pytest.mark.parametrize("recording", [WITHOUT_SETSID], indirect=True, ids=["no setsid"])
def test_the_guard_hears_no_hangup(recording, loop):
    _, pid, job = recording
    assert all(ignores(one, signal.SIGHUP) for one in guards(job))
    assert is_running(pid)
    assert loop.window_kb() == 0


def ignores(pid, number):
    """Return whether the kernel throws that signal to the process away."""
    status = Path(f"/proc/{pid}/status").read_text().split()
    return bool(int(status[status.index("SigIgn:") + 1], 16) & 1 << (number - 1))


def guards(job):
    """Return the processes of a job that restore everything."""
    return [int((job / name).read_text().split()[0]) for name in ("owner", "recorder")]


@pytest.mark.thorough
@pytest.mark.parametrize("shell", each_shell())
def test_everything_is_restored_even_without_a_reader(loop, shell, tmp_path):
    job, queue = tmp_path / "job", loop.knob.parent
    job.mkdir()
    (job / "job.sh").write_text(f'{script(PARTS)}\nkeep=\nundo "$job" restored\n')
    knobs = [(queue / "rq_affinity", "1", "2"), (loop.knob, str(WINDOW_KB), "0")]
    for knob, _, value in knobs:
        knob.write_text(value)
    (job / "journal").write_text("".join("\t".join(map(str, one)) + "\n" for one in knobs))
    ours, theirs = os.pipe()
    os.close(ours)
    subprocess.run([*shell, job / "job.sh"], stdout=theirs, check=False)
    os.close(theirs)
    assert [knob.read_text().strip() for knob, *_ in knobs] == ["1", str(WINDOW_KB)]
    assert not job.exists()


@pytest.mark.thorough
def test_tracefs_is_as_it_was(tmp_path):
    before = tracefs_mount.find()
    record_here(tmp_path / "capture", ["true"])
    assert tracefs_mount.find() == before
