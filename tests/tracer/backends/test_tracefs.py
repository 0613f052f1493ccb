"""Mounting and unmounting of tracefs when several forereads use it, or are killed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from foreread.boards.base.owner import start_time
from foreread.tracer.backends import tracefs_mount
from foreread.tracer.error import RecordError

HERE = Path(__file__).parent

# Says when it is in the block, then waits until it is killed or its input ends.
USER = """
import sys
from pathlib import Path
from foreread.tracer.backends import tracefs_mount
from test_tracefs import Fake
place = Path(sys.argv[1])
fake = Fake(place)
for name, value in fake.parts.items():
    setattr(tracefs_mount, name, value)
with tracefs_mount.mounted():
    print("inside", flush=True)
    sys.stdin.read()
"""


class Fake:
    """A folder in place of tracefs: mounted while it has events, whose source is a file there."""

    def __init__(self, place):
        self.events, tainted = place / "events", place / "tainted"
        tainted.write_text("0\n")
        self.users = place / "users"  # of other programs
        self.parts = {
            "PLACES": (place,),
            "NOTES": place / "run",
            "TAINTED": tainted,
            "mount": self.mount,
            "unmount": self.unmount,
            "source": self.source,
        }

    def mount(self, source):
        self.events.mkdir()
        (self.events / "source").write_text(source)

    def unmount(self):
        if not self.users.exists():
            shutil.rmtree(self.events, ignore_errors=True)

    def source(self):
        file = self.events / "source"
        return file.read_text() if file.exists() else ""


@pytest.fixture
def place(tmp_path, monkeypatch):
    for name, value in Fake(tmp_path).parts.items():
        monkeypatch.setattr(tracefs_mount, name, value)
    return tmp_path


@pytest.fixture
def user(place):
    """Start another process in such a block."""
    running = []

    def start():
        process = subprocess.Popen(
            [sys.executable, "-c", USER, place],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])},
        )
        running.append(process)
        assert process.stdout.readline() == b"inside\n"
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def kill(process):
    process.kill()
    process.wait()


def leave(process):
    process.communicate(b"")
    assert process.returncode == 0


def test_it_is_mounted_for_the_block(place):
    with tracefs_mount.mounted() as found:
        assert found == place
        assert tracefs_mount.find() == place
    assert tracefs_mount.find() is None
    assert tracefs_mount.unmount_leftover() == []


def test_a_system_mount_is_kept(place):
    (place / "events").mkdir()
    with tracefs_mount.mounted() as found:
        assert found == place
    assert tracefs_mount.find() == place
    assert tracefs_mount.unmount_leftover() == []
    assert tracefs_mount.find() == place


@pytest.mark.thorough
def test_the_last_of_several_users_unmounts_it(place, user):
    first, second = user(), user()
    with tracefs_mount.mounted():
        leave(first)
        assert tracefs_mount.find() == place
    assert tracefs_mount.find() == place
    assert tracefs_mount.unmount_leftover() == []
    leave(second)
    assert tracefs_mount.find() is None


def test_a_mount_of_a_killed_user_is_unmounted_on_request(place, user):
    kill(user())
    assert tracefs_mount.find() == place
    assert tracefs_mount.is_leftover()
    assert tracefs_mount.unmount_leftover() == [(str(place), "")]
    assert tracefs_mount.find() is None
    assert list(tracefs_mount.NOTES.iterdir()) == []


def test_a_mount_of_a_killed_user_is_unmounted_by_the_next_user(place, user):
    kill(user())
    with tracefs_mount.mounted() as found:
        assert found == place
    assert tracefs_mount.find() is None
    assert tracefs_mount.unmount_leftover() == []
    assert list(tracefs_mount.NOTES.iterdir()) == []


@pytest.mark.thorough
def test_it_stays_for_the_living_user_when_the_one_that_mounted_it_is_killed(place, user):
    killed, living = user(), user()
    kill(killed)
    assert not tracefs_mount.is_leftover()
    assert tracefs_mount.unmount_leftover() == []
    assert tracefs_mount.find() == place
    leave(living)
    assert tracefs_mount.find() is None


def test_blocks_in_one_process_share_it(place):
    with tracefs_mount.mounted():
        with tracefs_mount.mounted():
            pass
        assert tracefs_mount.find() == place
        assert len(list(tracefs_mount.NOTES.iterdir())) == 1
    assert tracefs_mount.find() is None


def test_a_user_killed_before_the_mount_leaves_a_note_that_is_removed(place):
    tracefs_mount.NOTES.mkdir()
    note = tracefs_mount.NOTES / f"foreread-{os.getpid()}-1.mount"
    note.write_text("{")  # torn
    assert tracefs_mount.unmount_leftover() == []
    assert not note.exists()


def test_the_system_s_own_mount_is_kept_whatever_a_note_says(place, user):
    killed = user()
    (place / "events/source").write_text("tracefs")  # as in another mount namespace
    kill(killed)
    assert tracefs_mount.unmount_leftover() == []
    with tracefs_mount.mounted() as found:
        assert found == place
    assert tracefs_mount.find() == place
    assert list(tracefs_mount.NOTES.iterdir()) == []


def test_a_mount_that_another_program_uses_is_left_and_reported(place, user, monkeypatch):
    kill(user())
    monkeypatch.setattr(tracefs_mount, "_BUSY_S", 0.01)
    (place / "users").touch()
    with subprocess.Popen(["sleep", "60"], cwd=place / "events") as other:
        [(left, why)] = tracefs_mount.unmount_leftover()
        other.kill()
    assert left == str(place)
    assert f"in use by process {other.pid} (sleep)" in why
    assert why.endswith(f"umount {place}")
    (place / "users").unlink()
    assert tracefs_mount.unmount_leftover() == [(str(place), "")]


def test_a_note_of_another_boot_names_no_living_user(place, user):
    kill(user())
    tag = tracefs_mount.owner_tag()
    (tracefs_mount.NOTES / f"foreread-1-{start_time(1)}.mount").write_text('{"boot": "earlier"}')
    assert tag != f"1-{start_time(1)}"
    assert tracefs_mount.unmount_leftover() == [(str(place), "")]
    assert list(tracefs_mount.NOTES.iterdir()) == []


def test_a_mount_in_another_namespace_is_reported_while_that_exists(place):
    tracefs_mount.NOTES.mkdir()
    note = tracefs_mount.NOTES / f"foreread-{os.getpid()}-1.mount"
    here = {"boot": tracefs_mount._boot(), "namespace": "mnt:[1]"}
    note.write_text(json.dumps(here))
    assert tracefs_mount.unmount_leftover() == []  # it ended with all its processes
    assert not note.exists()


def test_without_rights_it_is_said(place, monkeypatch):
    def refuse(source):
        raise RecordError("tracefs cannot be mounted", "run as root")

    monkeypatch.setattr(tracefs_mount, "mount", refuse)
    with pytest.raises(RecordError), tracefs_mount.mounted():
        pass
    assert tracefs_mount.unmount_leftover() == []
    assert list(tracefs_mount.NOTES.iterdir()) == []


def test_where_no_note_can_be_kept_nothing_is_mounted(place, monkeypatch):
    (place / "file").touch()
    monkeypatch.setattr(tracefs_mount, "NOTES", place / "file/notes")
    with pytest.raises(RecordError, match="cannot be read or mounted"), tracefs_mount.mounted():
        pass
    assert tracefs_mount.find() is None


def test_debugfs_is_not_looked_into_where_tracefs_has_a_place_of_its_own(tmp_path, monkeypatch):
    usual, older = tmp_path / "tracing", tmp_path / "debug/tracing"
    (older / "events").mkdir(parents=True)
    monkeypatch.setattr(tracefs_mount, "PLACES", (usual, older))
    assert tracefs_mount.find() == older  # before Linux 4.1
    usual.mkdir()
    assert tracefs_mount.find() is None


def test_a_tracefs_that_was_just_unmounted_has_no_instances_left(tmp_path):
    """Another foreread, its last user, unmounts it between two looks."""
    assert tracefs_mount.left_instances(tmp_path / "gone") == []


@pytest.fixture
def crashed(tmp_path, monkeypatch):
    """A kernel that has crashed: what reads ``set_event`` of its tracefs, a pipe, waits."""
    for name, text in (("tainted", "4736\n"), ("tracing_on", "0\n")):
        (tmp_path / name).write_text(text)
    os.mkfifo(tmp_path / "set_event")
    monkeypatch.setattr(tracefs_mount, "TAINTED", tmp_path / "tainted")
    monkeypatch.setattr(tracefs_mount, "NOTES", tmp_path / "run")
    return tmp_path


def test_tracing_that_hangs_after_a_crash_is_an_error_and_tried_once_a_boot(crashed, monkeypatch):
    monkeypatch.setattr(tracefs_mount, "_ANSWER_S", 0.1)
    with pytest.raises(RecordError, match="tracing hangs") as error:
        tracefs_mount.check_answers(crashed)
    assert error.value.remedy == "reboot"
    os.close(os.open(crashed / "set_event", os.O_WRONLY))  # fails if nothing reads it
    monkeypatch.setattr(subprocess, "Popen", None)
    with pytest.raises(RecordError, match="tracing hangs"):
        tracefs_mount.check_answers(crashed)


def test_tracing_that_answers_after_a_crash_is_used(crashed):
    (crashed / "set_event").unlink()
    (crashed / "set_event").touch()
    tracefs_mount.check_answers(crashed)
    assert not (crashed / "run").exists()
