"""Tuning on the running kernel, killed and resumed; what the boot script then sets on the disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from loop_image import loop_image

from analyzer.tuner.results import read_results

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(
        os.geteuid() != 0
        or not Path("/dev/loop-control").exists()
        or not all(map(shutil.which, ("busybox", "losetup", "mkfs.ext4"))),
        reason="needs root, loop devices, busybox and mkfs.ext4: nothing was tuned for real",
    ),
]

KNOBS = ("scheduler", "read_ahead_kb", "nr_requests")


@pytest.fixture
def image(tmp_path):
    with loop_image(tmp_path) as image:
        yield image


def words(image, output, *more):
    search = ["--sampler", "exhaustive", "--genes", "read_ahead_kb=16:84:256,nr_requests"]
    # The caches of a machine at work cannot be proven cold, nor its processors idle.
    runs = ["--repeats", "1:2", "--scenario", "reader", "--allow-warm", "--wait", "240"]
    line = [sys.executable, "-m", "foreread", "tune", *search, *runs, *more, "-o", str(output)]
    return [*line, "--", str(image.busybox), "md5sum", str(image.data)]


def values(image):
    queue = Path("/sys/block", image.device, "queue")
    image.restored_kb()  # waits for any foreread that is changing knobs
    return {knob: (queue / knob).read_text() for knob in KNOBS}


def rows(output):
    try:
        results = read_results(output)
    except ValueError:
        return 0  # not there yet
    return len(results.search) + len(results.confirmation)


def test_killed_and_resumed_it_ends_as_it_would_have(image, tmp_path):
    output, before = tmp_path / "app.tuning", values(image)
    with subprocess.Popen(words(image, output), stdout=-3, stderr=-3) as killed:
        while rows(output) < 3 and killed.poll() is None:
            time.sleep(0.05)
        killed.kill()
    made = rows(output)
    assert made >= 3
    done = subprocess.run(
        words(image, output, "--resume"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert values(image) == before
    results = read_results(output)
    assert not results.confirmed.to_run and rows(output) > made
    assert results.ended is not None
    sizes = {len(one) for one in results.generations}
    assert sum(sizes) and results.space.size == len({str(one.chromosome) for one in results.search})
