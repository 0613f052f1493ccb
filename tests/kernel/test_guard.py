"""What a killed foreread leaves is gone at once, by its guard, or by ``doctor --restore``."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from guards import guards_of
from loop_image import WINDOW_KB, loop_image
from waiting import has_text, left_s, random_moment, wait_until

from foreread.boards.base.guard import is_guard
from foreread.boards.base.owner import PREFIX, start_time, tag_in
from foreread.tracer.backends import tracefs_mount
from foreread.tracer.local.journal import restore_leftovers

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: nothing was recorded or killed"),
]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def loop(tmp_path):
    with loop_image(tmp_path) as image:
        yield image


@pytest.fixture
def recording(loop, tmp_path):
    """A recording of a command that does not end, in a process of its own."""
    pid_file = tmp_path / "pid"
    command = [sys.executable, "-m", "foreread", "record", "--allow-warm", "--wait", str(left_s())]
    command += ["--no-probe", "-o", str(tmp_path / "capture"), "--"]
    command += ["sh", "-c", f"trap '' TERM; echo $$ >{pid_file}; while :; do sleep 1; done"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: process.poll() is not None or has_text(pid_file))
            assert loop.window_kb() == 0
            yield process, int(pid_file.read_text())
        finally:
            process.kill()


def doctor(*words):
    command = [sys.executable, "-m", "foreread", "doctor", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def assert_nothing_left(pid, command, loop):
    assert loop.restored_kb() == WINDOW_KB
    assert start_time(command) is None  # also before init has waited for it
    assert not tracefs_mount.is_leftover() or f"-{pid}-" not in tracefs_mount.source()
    with tracefs_mount.mounted() as place:
        left = [one.name for one in (place / "instances").iterdir()]
        assert not [name for name in left if (tag_in(name) or "").startswith(f"{pid}-")]
        assert f"foreread_{pid}_" not in (place / "dynamic_events").read_text()
    assert not list(Path("/dev/shm").glob(f"foreread-{pid}-*"))
    assert not list(Path("/run/foreread").glob(f"foreread-{pid}-*"))
    assert not list(Path("/run/foreread").glob(f"{pid}-*"))


def test_the_guard_restores_all_at_once(recording, loop):
    process, command = recording
    (guard,) = guards_of(process.pid)
    os.killpg(os.getpgid(guard), signal.SIGTERM)  # as the end of a service does
    process.kill()
    process.wait()
    wait_until(lambda: not is_guard(guard))
    assert_nothing_left(process.pid, command, loop)


def test_without_its_guard_doctor_restores(recording, loop):
    process, command = recording
    (guard,) = guards_of(process.pid)
    for pid in (guard, process.pid):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    said = [line.partition(" = ") for line in doctor("--restore").stdout.splitlines()]
    # A foreread that starts meanwhile would restore some of it, too.
    of_ours = {
        f"restored: {loop.knob}": str(WINDOW_KB),
        f"restored: process {command} (sh)": "ended",
    }
    assert all(value == of_ours.get(name, value) for name, _, value in said)
    assert_nothing_left(process.pid, command, loop)


@pytest.mark.thorough
def test_a_recording_outlives_its_guard(recording, loop, tmp_path):
    process, command = recording
    (guard,) = guards_of(process.pid)
    os.kill(guard, signal.SIGKILL)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 0
    assert (tmp_path / "capture/capture.json").exists()
    assert_nothing_left(process.pid, command, loop)


@pytest.mark.thorough
def test_a_command_that_is_to_be_kept_outlives_a_killed_foreread(loop, tmp_path):
    pid_file = tmp_path / "pid"
    command = [sys.executable, "-m", "foreread", "record", "--allow-warm", "--wait", str(left_s())]
    command += ["--keep-running", "-o", str(tmp_path / "capture"), "--"]
    command += ["sh", "-c", f"echo $$ >{pid_file}; exec sleep 600"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: process.poll() is not None or has_text(pid_file))
        finally:
            process.kill()
    kept = int(pid_file.read_text())
    doctor("--restore")
    assert Path(f"/proc/{kept}/comm").read_text() == "sleep\n"
    os.kill(kept, signal.SIGKILL)
    assert loop.restored_kb() == WINDOW_KB


@pytest.mark.thorough
def test_killed_around_its_mounts_tracefs_is_unmounted():
    """Whichever step it has come to; the system's own mount is kept."""
    before, killed = mount_of_the_system(), []
    rng = random.Random(3)
    for _ in range(6):
        with subprocess.Popen(
            [sys.executable, "-m", "foreread", "doctor"], cwd=ROOT, stdout=subprocess.DEVNULL
        ) as process:
            random_moment(rng, most_s=1.2, least_s=0.3)
            for pid in (*guards_of(process.pid), process.pid):
                with suppress(ProcessLookupError):  # it has ended in order
                    os.kill(pid, signal.SIGKILL)
        killed.append(process.pid)
    doctor("--restore")
    assert mount_of_the_system() == before
    for pid in killed:
        assert not tracefs_mount.source().startswith(f"{PREFIX}{pid}-")
        assert not list(Path("/run/foreread").glob(f"{PREFIX}{pid}-*.mount"))


def mount_of_the_system():
    """Return the source of the tracefs that no foreread has mounted; empty without one."""
    source = tracefs_mount.source()
    return "" if source.startswith(PREFIX) else source


@pytest.fixture
def instance():
    """A trace instance of a dead foreread."""
    with tracefs_mount.mounted() as place:
        made = place / "instances" / f"{PREFIX}{os.getpid()}-1-test"
        made.mkdir()
        yield made
        if made.exists():
            made.rmdir()


@pytest.mark.thorough
def test_an_instance_that_a_dying_process_has_open_is_removed(instance, monkeypatch):
    """It is closed while foreread pauses between two attempts."""
    held = (instance / "trace_pipe").open("rb")
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: held.close())
    monkeypatch.setattr(tracefs_mount, "time", clock)
    restore_leftovers()
    assert held.closed
    assert not instance.exists()


@pytest.mark.thorough
def test_an_instance_that_somebody_has_open_is_reported_until_it_is_removed(instance, monkeypatch):
    monkeypatch.setattr(tracefs_mount, "_INSTANCES_S", 0.0)
    with (instance / "trace_pipe").open("rb"):
        problems = {one.knob: one.problem for one in restore_leftovers()}
        assert "foreread doctor --restore" in problems[str(instance)]
    restore_leftovers()
    assert not instance.exists()


# In mounts of its own, without the tracefs and the notes of others on this machine.
ALONE = """
umount -l /sys/kernel/tracing /sys/kernel/debug/tracing 2>/dev/null
mount -t tmpfs none /run && exec "$@"
"""
HOLDS_AN_INSTANCE = """
import os
from foreread.boards.base.owner import PREFIX
from foreread.tracer.backends import tracefs_mount

assert tracefs_mount.find() is None
with tracefs_mount.mounted() as place:
    made = place / "instances" / f"{PREFIX}{os.getpid()}-1-test"
    made.mkdir()
    held = (made / "trace_pipe").open("rb")
assert made.exists()
held.close()
with tracefs_mount.mounted():
    pass
assert tracefs_mount.find() is None
with tracefs_mount.mounted():
    assert not made.exists()
"""
IS_KILLED_AND_UNMOUNTED = """
import os, signal
from foreread.boards.base.owner import PREFIX, owner_tag
from foreread.tracer.backends import tracefs_mount
from foreread.tracer.local.journal import restore_leftovers

assert tracefs_mount.find() is None
child = os.fork()
if child == 0:
    with tracefs_mount.mounted() as place:
        (place / "instances" / f"{PREFIX}{owner_tag()}-test").mkdir()
        os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(child, 0)
# Another foreread on this machine may remove the instance at any moment: it shares the kernel.
tracefs_mount.unmount()  # as a job on this machine does when it ends
assert tracefs_mount.find() is None
restored = {(one.knob, one.value) for one in restore_leftovers()}
assert (str(tracefs_mount.PLACES[0]), "unmounted") in restored
assert tracefs_mount.find() is None
with tracefs_mount.mounted() as place:
    names = [path.name for path in (place / "instances").iterdir()]
assert not [name for name in names if name.startswith(f"{PREFIX}{child}-")]
"""


@pytest.mark.thorough
def test_tracefs_stays_mounted_as_long_as_it_shows_an_instance_of_the_dead():
    enter = ["unshare", "--mount", "--propagation=private", "sh", "-c", ALONE, "sh"]
    command = [*enter, sys.executable, "-c", HOLDS_AN_INSTANCE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.thorough
def test_an_instance_is_removed_though_a_job_has_unmounted_tracefs():
    """That refused changes by chance: the guard had no tracefs to look into."""
    enter = ["unshare", "--mount", "--propagation=private", "sh", "-c", ALONE, "sh"]
    command = [*enter, sys.executable, "-c", IS_KILLED_AND_UNMOUNTED]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
