"""Owners that have another number elsewhere: in a PID namespace, as in a container."""

import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

from foreread.boards.base.owner import is_alive, may_live_elsewhere, owner_tag
from foreread.tracer.backends import tracefs_mount

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root: no other PID namespace was looked at"
)
OWNER = """
import sys
from foreread.boards.base.owner import may_live_elsewhere, owner_tag
print(owner_tag(), may_live_elsewhere("1-1"), flush=True)
sys.stdin.read()
"""


@contextmanager
def contained():
    """Yield the tag of a process in a PID namespace of its own, and what it says of an owner."""
    words = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable]
    with subprocess.Popen(
        [*words, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            tag, _, said = process.stdout.readline().partition(" ")
            yield tag, said.strip()
        finally:
            process.stdin.close()


def test_an_owner_in_another_pid_namespace_is_not_taken_for_dead(tmp_path):
    """A trace instance of a living one was removed while it wrote into it: the kernel crashed."""
    with contained() as (tag, said):
        assert not is_alive(tag)
        assert may_live_elsewhere(tag)
        instance = tmp_path / f"instances/foreread-{tag}-bios"
        instance.mkdir(parents=True)
        assert tracefs_mount.left_instances(tmp_path) == []
        assert said == "True"  # it cannot see those outside
    assert not may_live_elsewhere(tag)
    assert tracefs_mount.left_instances(tmp_path) == [instance]


def test_a_process_that_has_ended_lives_nowhere():
    pid, _, started = owner_tag().partition("-")
    assert not may_live_elsewhere(f"{pid}-{int(started) + 1}")
