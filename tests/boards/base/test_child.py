"""A child that runs to its end, and one whose caller is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from foreread.boards.base.child import completed
from foreread.boards.base.interrupts import Interrupted, orderly_exit


def test_status_and_output_are_the_child_s():
    done = completed(["sh", "-c", "cat; echo why >&2; exit 3"], b"words")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"words", b"why\n")


def test_a_child_that_takes_too_long_is_ended():
    with pytest.raises(subprocess.TimeoutExpired):
        completed(["sleep", "600"], b"", timeout_s=0.1)


def test_a_signal_while_a_child_starts_leaves_no_child(monkeypatch):
    """subprocess.run does not end a child whose start a signal handler has interrupted."""
    children = []

    class Starting(subprocess.Popen):
        def _execute_child(self, *words):
            super()._execute_child(*words)
            children.append(self)
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(subprocess, "Popen", Starting)
    with pytest.raises(Interrupted), orderly_exit():
        completed(["sleep", "600"], b"")
    (child,) = children
    assert child.returncode == -signal.SIGKILL
