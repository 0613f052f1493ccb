"""Workloads by fio on a loop device: real runs, settings in force in them, and put back."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from loop_image import WINDOW_KB, loop_image
from shells import each_shell
from waiting import left_s

from foreread.analyzer.tuner.engines.fingerprint import Snapshot
from foreread.boards.target import LocalTarget
from foreread.tracer.calibrate.fio import CalibrateError
from foreread.tracer.local.journal import Journal
from foreread.tracer.runs.knobs import selected
from studies.tuning.workload import Ground, Workload, lay_out, run, run_watched, shell_text

READS = Workload(processes=2, read_share=100, random_share=0, request_kib=16)
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.thorough,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no workload was run"),
    pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio: no workload was run"),
]


@pytest.fixture
def loop(tmp_path):
    with loop_image(tmp_path) as image:
        Path(f"/sys/block/{image.device}/queue/scheduler").write_text("none")
        yield image


@pytest.fixture
def ground(tmp_path):
    ground = Ground(str(tmp_path / "ground"), 16 << 20)
    lay_out(LocalTarget(), ground)
    return ground


def settings(loop, **values):
    return [(f"/sys/block/{loop.device}/queue/{name}", value) for name, value in values.items()]


def found(loop):
    """Return scheduler and window while no other foreread changes them."""
    with Journal(wait_s=left_s()):
        scheduler = Path(f"/sys/block/{loop.device}/queue/scheduler").read_text()
        return selected(scheduler.rstrip("\n")), loop.window_kb()


@pytest.mark.parametrize(
    "workload",
    [READS, Workload(1, 0, 100, 4), Workload(3, 50, 50, 100), Workload(8, 100, 100, 2047)],
    ids=str,
)
def test_fio_does_it(workload, ground):
    done = run(LocalTarget(), ground, workload, 0.2)
    assert done.transferred_bytes == done.requests * max(workload.request_kib, 1) << 10
    assert done.seconds > 0
    # Each process does one thing after the other: its latencies are parts of its time, which is
    # stated in milliseconds.
    assert 0 < done.latency_s * done.requests <= workload.processes * (done.seconds + 0.001)


def test_requests_at_the_disk_are_counted(loop):
    ground = Ground(str(loop.mountpoint / "ground"), 4 << 20)
    lay_out(LocalTarget(), ground)
    window = settings(loop, read_ahead_kb="16")
    reads = Workload(1, 100, 0, 256)
    done, seen = run_watched(LocalTarget(), ground, reads, 0.2, window, loop.device)
    snapshot = Snapshot(**seen.bios)
    assert seen.counters["disk.read_sectors"] >= ground.size_bytes >> 9
    assert snapshot.sectors >= ground.size_bytes >> 9
    assert str(snapshot.fingerprint()).startswith("read-")
    assert done.transferred_bytes >= 256 << 10
    assert found(loop) == ("none", WINDOW_KB)


def test_a_setting_that_is_refused_puts_back_those_before_it(loop, ground):
    # Only bfq has slice_idle.
    wrong = settings(loop, read_ahead_kb="16", **{"iosched/slice_idle": "1"})
    with pytest.raises(CalibrateError, match="slice_idle there is no such knob"):
        run(LocalTarget(), ground, READS, 0.2, wrong)
    assert found(loop) == ("none", WINDOW_KB)


def script(folder, shell, fio, *words):
    """Run the script with a program in fio's place."""
    (folder / "bin").mkdir()
    (folder / "bin/fio").write_text(f"#!/bin/sh\n{fio}\n")
    (folder / "bin/fio").chmod(0o755)
    text = shell_text("", f"/run/foreread-{folder.name}-{os.getpid()}")
    done = subprocess.run(
        [*shell, "-c", text, "sh", "9", *words],
        env={"PATH": f"{folder}/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        input="[job]\n",
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize("shell", each_shell())
def test_settings_are_in_force_during_the_run(loop, tmp_path, shell):
    (scheduler, _), (window, _) = knobs = settings(
        loop, scheduler="mq-deadline", read_ahead_kb="64"
    )
    words = [word for setting in knobs for word in setting]
    said = script(tmp_path, shell, f"cat {scheduler} {window} $2", *words)
    if "Invalid argument" in said:
        pytest.skip("this kernel has no mq-deadline")
    restored, _, printed = said.partition("measured\n")
    assert "[mq-deadline]" in printed and printed.endswith("\n64\n[job]\n")
    assert f"restored {window}\t{WINDOW_KB}\t\n" in restored
    assert found(loop) == ("none", WINDOW_KB)


def test_one_that_another_setting_changes_is_refused(loop, tmp_path):
    """The kernel gives the window its default with the limit of a request."""
    knobs = settings(loop, read_ahead_kb="64", max_sectors_kb="64")
    said = script(tmp_path, ("sh",), "true", *(word for setting in knobs for word in setting))
    assert "read_ahead_kb became " in said and " with another setting|" in said
    assert found(loop)[1] == WINDOW_KB


@pytest.mark.parametrize(
    ("fio", "said"),
    [("echo no such file; exit 1", "error fio: no such file"), ("kill -9 $$", "error fio: ")],
)
def test_a_run_that_fails_puts_knobs_back(loop, tmp_path, fio, said):
    words = [word for setting in settings(loop, read_ahead_kb="64") for word in setting]
    assert said in script(tmp_path, ("sh",), fio, *words)
    assert found(loop) == ("none", WINDOW_KB)
