"""``foreread tune`` killed at random moments on a loop device: its store, the device after it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from loop_image import WINDOW_KB, loop_image

from analyzer.tuner.store import Store
from tracer.journal import restore_leftovers

ROOT = Path(__file__).parents[2]
KILLS = 6
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(
        os.geteuid() != 0
        or not Path("/dev/loop-control").exists()
        or not all(map(shutil.which, ("busybox", "losetup", "mkfs.ext4"))),
        reason="needs root, loop devices, busybox and mkfs.ext4: nothing was tuned for real",
    ),
]


@pytest.fixture
def loop(tmp_path):
    with loop_image(tmp_path) as image:
        image.knob.write_text(str(WINDOW_KB))
        yield image


def tune(loop, path):
    """Start or resume a campaign that is far too long to end in this test."""
    windows = ":".join(str(4 * pages) for pages in range(1, 65))
    genes = f"read_ahead_kb={windows},nr_requests=16:32:64:128"
    command = [sys.executable, "-m", "foreread", "tune", "-o", str(path), "--device", loop.device]
    command += ["--genes", genes, "--sampler", "exhaustive"]
    command += ["--allow-warm", "--wait", "300", *(["--resume"] if path.exists() else [])]
    command += ["--", str(loop.busybox), "wc", str(loop.data)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=pipe, text=True)


def attempts(path):
    with Store.read(path) as store:
        return store.evaluations(withdrawn=True)


def test_killed_at_random_moments_it_keeps_its_attempts_and_the_device_is_put_back(loop, tmp_path):
    """Whether a run counts depends on what else the machine does, and is not asserted."""
    path, before, rng = tmp_path / "app.tuning", [], random.Random(5)
    for _ in range(KILLS):
        process = tune(loop, path)
        time.sleep(rng.uniform(0.5, 4))
        process.kill()
        process.communicate()
        if path.exists():
            made = attempts(path)
            assert [one.number for one in made] == list(range(1, len(made) + 1))
            assert made[: len(before)] == before
            before = made
    process = tune(loop, path)
    while not (path.exists() and len(attempts(path)) > len(before)) and process.poll() is None:
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert len(attempts(path)) > len(before), said
    restore_leftovers()
    assert loop.restored_kb() == WINDOW_KB
