"""A small share of `make torture`: kills at random moments, and the machine is as before."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KILLS = 6
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.thorough,
    pytest.mark.skipif(
        os.geteuid() != 0 or not Path("/dev/loop-control").exists(),
        reason="needs root and loop devices: foreread was not killed",
    ),
    pytest.mark.skipif(
        not all(map(shutil.which, ("busybox", "fio", "unshare"))),
        reason="busybox, fio or unshare is missing: foreread was not killed",
    ),
]


def test_kills_leave_nothing_changed(tmp_path):
    """Under nohup, whose ignored SIGHUP must not reach the watch that one case ends by SIGHUP."""
    output = tmp_path / "torture.json"
    words = ["--kills", str(KILLS), "--seed", "14", "--parts", "record,sweep,fingerprint"]
    done = subprocess.run(
        ["nohup", sys.executable, "tests/torture", *words, "-o", str(output)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads(output.read_text())
    assert (record["kills"], record["changes_left"]) == (KILLS, 0)
    assert record["alive"] > 0
    kills = [(case["command"], case["signal"]) for case in record["cases"] if case["alive"]]
    assert ("fingerprint", "HUP") in kills
