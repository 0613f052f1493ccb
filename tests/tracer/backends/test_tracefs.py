"""Mounting and unmounting of tracefs when several forereads use it, or are killed."""

import subprocess
import sys

import pytest

from tracer.backends import tracefs_mount
from tracer.error import RecordError

# Says when it is in the block, then waits until it is killed or its input ends.
USER = """
import sys
from pathlib import Path
from tracer.backends import tracefs_mount
tracefs_mount.NOTE, tracefs_mount.PLACES = Path(sys.argv[1]) / "run/note", (Path(sys.argv[1]),)
tracefs_mount.mount = lambda: (tracefs_mount.PLACES[0] / "events").mkdir()
tracefs_mount.unmount = lambda: (tracefs_mount.PLACES[0] / "events").rmdir()
with tracefs_mount.mounted():
    print("inside", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tracefs_mount, "PLACES", (tmp_path,))
    monkeypatch.setattr(tracefs_mount, "NOTE", tmp_path / "run/note")
    monkeypatch.setattr(tracefs_mount, "mount", (tmp_path / "events").mkdir)
    monkeypatch.setattr(tracefs_mount, "unmount", (tmp_path / "events").rmdir)
    return tmp_path


@pytest.fixture
def user(place):
    """Start another process in such a block."""
    running = []

    def start():
        command = [sys.executable, "-c", USER, place]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        running.append(process)
        assert process.stdout.readline() == b"inside\n"
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


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
    killed = user()
    killed.kill()
    killed.wait()
    assert tracefs_mount.find() == place
    assert tracefs_mount.unmount_leftover() == [str(place)]
    assert tracefs_mount.find() is None


def test_a_mount_of_a_killed_user_is_unmounted_by_the_next_user(place, user):
    killed = user()
    killed.kill()
    killed.wait()
    with tracefs_mount.mounted() as found:
        assert found == place
    assert tracefs_mount.find() is None


def test_without_rights_it_is_said(place, monkeypatch):
    def refuse():
        raise RecordError("tracefs cannot be mounted", "run as root")

    monkeypatch.setattr(tracefs_mount, "mount", refuse)
    monkeypatch.setattr(tracefs_mount, "unmount", lambda: None)
    with pytest.raises(RecordError), tracefs_mount.mounted():
        pass
    assert tracefs_mount.unmount_leftover() == []


def test_where_no_note_can_be_kept_nothing_is_mounted(place, monkeypatch):
    (place / "file").touch()
    monkeypatch.setattr(tracefs_mount, "NOTE", place / "file/note")
    with pytest.raises(RecordError, match="cannot be read or mounted"), tracefs_mount.mounted():
        pass
    assert tracefs_mount.find() is None
