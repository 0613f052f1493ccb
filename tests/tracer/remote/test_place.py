"""Where a target's job keeps its files: in memory, and where there is room."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
from importlib import resources
from pathlib import Path

import pytest
from shells import BUSYBOX, DASH, each_shell, function, printed

from foreread.boards.base.interrupts import Interrupted
from foreread.boards.target import LocalTarget
from foreread.tracer.remote.job import Job

PLACES = ("/run", "/dev/shm", "/tmp", "/var/run", "/var/tmp")


@pytest.fixture
def token():
    return secrets.token_hex(8)


@pytest.fixture
def place(token, tmp_path):
    """Return how to look for a place while those that a shell pattern matches are full."""
    text = (resources.files("foreread.tracer.remote") / "place.sh").read_text()
    mounts = tmp_path / "mounts"
    mounts.write_text("".join(f"tmpfs {one} tmpfs rw 0 0\n" for one in ("/dev/shm", "/tmp")))
    text = text.replace("/proc/mounts", str(mounts))
    full = tmp_path / "dd"

    def look(pattern):
        full.write_text(
            f'#!/bin/sh\ncase "$*" in *of={pattern}*) exit 1 ;; esac\nexec /bin/dd "$@"\n'
        )
        full.chmod(0o755)
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        words = ["dash", "-c", text, "sh", token]
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)

    yield look
    for left in left_of(token):
        (left / "lease").unlink(missing_ok=True)
        left.rmdir()


def left_of(token):
    return [one for place in PLACES if (one := Path(place, f"foreread-{token}")).exists()]


def found(done):
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def test_a_place_with_room_holds_the_lease_and_nothing_else(place, token):
    done = place("/none/")
    folder = Path(found(done)["place"])
    assert done.returncode == 0
    assert [one.name for one in folder.iterdir()] == ["lease"]
    assert float(found(done)["uptime"].split()[0]) > 0


def test_a_full_place_is_left_without_a_folder_and_the_next_is_used(place, token):
    first = Path(found(place("/none/"))["place"]).parent
    for folder in left_of(token):
        (folder / "lease").unlink()
        folder.rmdir()
    done = place(f"{first}/")
    where = Path(found(done)["place"])
    assert where.parent != first
    assert [one.resolve() for one in left_of(token)] == [where.resolve()]


def test_where_every_place_is_full_the_error_says_so_and_nothing_is_left(place, token):
    done = place("")
    assert done.returncode == 1
    message, remedy = found(done)["error"].split("|")
    assert "tmpfs, full" in message
    assert "mount -t tmpfs" in remedy
    assert not left_of(token)


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
def test_a_job_s_folder_goes_though_another_foreread_gives_it_a_lease(shell, tmp_path):
    folder = tmp_path / "foreread-0123456789abcdef"
    folder.mkdir()
    (folder / "job.sh").touch()
    undo = function("lib.sh", "undo")
    steps = {"end_command", *re.findall(r"^    (\w+) \"", undo, re.MULTILINE)}
    stubs = "".join(f"{step}() {{ :; }}\n" for step in sorted(steps))
    other = 'rm() { command rm -r "$2"/*; unset -f rm; : >"$2/lease"; return 1; }\n'
    printed(shell, f"{stubs}{other}{undo}undo {folder} restored")
    assert not folder.exists()


def test_a_job_that_is_interrupted_before_it_knows_its_folder_leaves_none(token, monkeypatch):
    """The target's shell was ended with foreread: the folder has neither an owner nor a lease."""
    monkeypatch.setattr(secrets, "token_hex", lambda _: token)

    class Interrupting(LocalTarget):
        def run(self, words, *, timeout_s=None):
            if not left_of(token):
                Path("/dev/shm", f"foreread-{token}").mkdir()
                raise Interrupted(signal.SIGHUP)
            return super().run(words, timeout_s=timeout_s)

    with pytest.raises(Interrupted), Job(Interrupting(), ("lib.sh",)):
        pass
    assert left_of(token) == []


def test_a_job_that_is_interrupted_while_its_script_is_copied_leaves_no_folder(token, monkeypatch):
    """Without the script no verb can end the job."""
    monkeypatch.setattr(secrets, "token_hex", lambda _: token)

    class Interrupting(LocalTarget):
        def push(self, source, target, mode=0o644):
            Path(target).with_name("job.sh.part").touch()
            raise Interrupted(signal.SIGTERM)

    with pytest.raises(Interrupted), Job(Interrupting(), ("lib.sh",)):
        pass
    assert left_of(token) == []
