"""``foreread doctor`` tries every recorder; a signal that ends it leaves no folder of a trial."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import wait_until

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.thorough,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no recorder was tried"),
]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_while_recorders_are_tried_leaves_nothing(tmp_path, number):
    place = tmp_path / "tmp"
    place.mkdir()
    command = [sys.executable, "-m", "foreread", "doctor"]
    environment = {**os.environ, "TMPDIR": str(place)}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as doctor:
        wait_until(lambda: any(place.iterdir()))
        doctor.send_signal(number)
        _, said = doctor.communicate()
    assert doctor.returncode != 0
    assert b"Traceback" not in said
    assert not list(place.iterdir())
