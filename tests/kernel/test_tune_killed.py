"""``foreread tune`` killed on a loop device: what its store has, the device after it, its end."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from loop_image import WINDOW_KB, loop_image
from waiting import left_s, random_moment, wait_until

from foreread.analyzer.tuner.findings.results import read_results
from foreread.analyzer.tuner.store.store import Store
from foreread.tracer.local.journal import restore_leftovers

ROOT = Path(__file__).parents[2]
KILLS = 6
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(
        os.geteuid() != 0 or not Path("/dev/loop-control").exists(),
        reason="needs root and loop devices: nothing was tuned for real",
    ),
    pytest.mark.skipif(
        not all(map(shutil.which, ("busybox", "losetup", "mkfs.ext4"))),
        reason="busybox, losetup or mkfs.ext4 is missing: nothing was tuned for real",
    ),
]


WINDOWS = ":".join(str(4 * pages) for pages in range(1, 65))
LONG = ["--genes", f"read_ahead_kb={WINDOWS},nr_requests=16:32:64:128"]
# Beside a reader, processors that others use do not make a run contended.
SHORT = ["--genes", "read_ahead_kb=16:84", "--repeats", "1:1", "--scenario", "reader"]


@pytest.fixture
def loop():
    # In memory: nobody else's reads and writes count as those of a disk that is below it.
    with TemporaryDirectory(dir="/dev/shm") as folder, loop_image(Path(folder)) as image:
        image.knob.write_text(str(WINDOW_KB))
        yield image


def tune(loop, path, words):
    """Start or resume a campaign."""
    command = [sys.executable, "-m", "foreread", "tune", "-o", str(path), "--device", loop.device]
    command += [*words, "--sampler", "exhaustive", "--allow-warm", "--wait", str(left_s())]
    command += ["--resume"] if path.exists() else []
    command += ["--", str(loop.busybox), "wc", str(loop.data)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=pipe, text=True)


def attempts(path):
    with Store.read(path) as store:
        return store.evaluations(withdrawn=True)


@pytest.mark.thorough
def test_killed_at_random_moments_it_keeps_its_attempts_and_the_device_is_put_back(loop, tmp_path):
    """Whether a run counts depends on what else the machine does, and is not asserted."""
    path, before, rng = tmp_path / "app.tuning", [], random.Random(5)
    for _ in range(KILLS):
        process = tune(loop, path, LONG)
        random_moment(rng, most_s=4, least_s=0.5)
        process.kill()
        process.communicate()
        if path.exists():
            made = attempts(path)
            assert [one.number for one in made] == list(range(1, len(made) + 1))
            assert made[: len(before)] == before
            before = made
    process = tune(loop, path, LONG)
    wait_until(
        lambda: (path.exists() and len(attempts(path)) > len(before)) or process.poll() is not None,
    )
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert len(attempts(path)) > len(before), said
    restore_leftovers()
    assert loop.restored_kb() == WINDOW_KB


def test_killed_and_resumed_it_comes_to_its_end(loop, tmp_path):
    path = tmp_path / "app.tuning"
    process = tune(loop, path, SHORT)
    wait_until(lambda: (path.exists() and attempts(path)) or process.poll() is not None)
    process.kill()
    _, said = process.communicate()
    made = attempts(path)
    assert made, said
    process = tune(loop, path, SHORT)
    _, said = process.communicate()
    assert process.returncode == 0, said
    assert attempts(path)[: len(made)] == made
    results = read_results(path)
    assert results.ended == "finished"
    assert not results.confirmed.to_run
    assert {one.chromosome["read_ahead_kb"] for one in results.search} == {16, WINDOW_KB}
    assert loop.restored_kb() == WINDOW_KB
