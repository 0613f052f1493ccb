"""Processes that outlive a killed foreread are found, also while they execute a program."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from foreread.boards.base.owner import MARK
from foreread.tracer.local import orphans

DEAD = f"{os.getpid()}-1"


@pytest.fixture
def orphan():
    environment = {**os.environ, MARK: DEAD}
    with subprocess.Popen(["sleep", "600"], env=environment) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def test_a_process_whose_environment_is_empty_for_a_moment_is_looked_at_again(orphan, monkeypatch):
    looked_at, tag_of = [], orphans._tag

    def tag(directory):
        if directory.name != str(orphan):
            return ""
        looked_at.append(directory)
        return None if len(looked_at) == 1 else DEAD

    assert tag_of(orphans.Path(f"/proc/{orphan}")) in (DEAD, None)
    monkeypatch.setattr(orphans, "_tag", tag)
    assert orphans.orphans() == {orphan}
    assert len(looked_at) == 2


def test_a_process_without_an_environment_is_no_orphan(monkeypatch):
    monkeypatch.setattr(orphans, "_tag", lambda directory: None)
    before = time.monotonic()
    assert orphans.orphans() == set()
    assert time.monotonic() - before >= orphans._EXECUTES_S
