"""Starts in control groups for memory, on the running kernel."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from loop_image import loop_image
from waiting import has_text, left_s, wait_until

import foreread
from foreread.boards.target import LocalTarget
from foreread.tracer.error import RecordError
from foreread.tracer.local.groups import group_folder, group_of, hierarchy
from foreread.tracer.local.journal import restore_leftovers
from foreread.tracer.machines import bench_on
from foreread.tracer.runs.options import RunOptions, Streams
from foreread.tracer.trials.sweep import SweepOptions, sweep

HELD = 48 << 20  # bytes of a program's own memory
HOLD = f"held = b'x' * {HELD}; import sys; sys.stdout.flush()"
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no memory was limited"),
    pytest.mark.skipif(
        hierarchy("memory") is None,
        reason="this machine has no control groups for memory: none was made",
    ),
]


@pytest.fixture
def loop(tmp_path):
    with loop_image(tmp_path) as image:
        yield image


def folder_of(memory):
    return group_folder(memory.group.path, "memory")


def record(command, output, **options):
    run = RunOptions([str(word) for word in command], allow_warm=True)
    return foreread.record(run, output, probe_disk=False, wait_s=left_s(), search_s=1.0, **options)


def test_a_start_is_recorded_in_a_group_that_is_gone_afterwards(loop, tmp_path):
    command = [sys.executable, "-c", f"{HOLD}; open({str(loop.data)!r}, 'rb').read()"]
    memory = record(command, tmp_path / "capture", memory_kib=96 << 10).memory
    assert (memory.group.made, memory.group.limit_kib, memory.group.swap_kib) == (True, 98304, 0)
    assert HELD >> 10 < memory.group.peak_kib <= 96 << 10
    assert memory.own and memory.group.own
    assert not folder_of(memory).exists()
    assert memory.available_kib > 0 and memory.watermarks.low > 0
    assert "pgmajfault" in memory.counters


def test_a_start_that_the_limit_kills_is_an_error_here_and_a_result_of_a_sweep(loop, tmp_path):
    with pytest.raises(RecordError, match="killed for want of memory") as error:
        record([sys.executable, "-c", HOLD], tmp_path / "capture", memory_kib=24 << 10)
    assert error.value.remedy.endswith("--memory 32M")
    assert not (tmp_path / "capture").exists()
    hold = shlex.join([sys.executable, "-c", HOLD])
    hungry = f"{loop.busybox} cat {loop.data} >/dev/null; exec {hold}"
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        run = RunOptions(["sh", "-c", hungry], allow_warm=True, streams=Streams(nowhere.fileno()))
        options = SweepOptions(
            run,
            lambda _: (0,),
            repeat=1,
            devices=(loop.device,),
            wait_s=left_s(),
            memory_kib=24 << 10,
        )
        bench = partial(bench_on, LocalTarget())
        (point,) = sweep(options, bench, lambda _: None, lambda _: None).points
    assert (point.seconds, [killed.by for killed in point.killed]) == ([], ["memory"])
    assert point.killed[0].pages >= 64  # of the data


@pytest.mark.thorough
def test_the_group_of_a_killed_foreread_is_removed(tmp_path):
    up, root = tmp_path / "up", str(Path(foreread.__file__).parents[1])
    code = (
        "import sys, foreread\n"
        "from foreread.tracer.runs.options import RunOptions\n"
        "run = RunOptions(['sh', '-c', 'echo $$ >$0; sleep 1000', sys.argv[1]], allow_warm=True)\n"
        "foreread.record(run, sys.argv[2], memory_kib=65536, wait_s=float(sys.argv[3]))\n"
    )
    words = [sys.executable, "-c", code, up, tmp_path / "capture", str(left_s())]
    with subprocess.Popen(words, env={**os.environ, "PYTHONPATH": root}) as process:
        wait_until(lambda: has_text(up))
        group = group_folder(group_of(int(up.read_text()), "memory"), "memory")
        assert group.name.startswith("foreread-") and group.exists()
        process.send_signal(signal.SIGKILL)
    restore_leftovers()  # or the guard of the dead one does it
    wait_until(lambda: not group.exists())


@pytest.mark.thorough
def test_a_start_that_takes_too_long_is_killed_by_time(loop):
    command = ["sh", "-c", f"{loop.busybox} cat {loop.data}; sleep 1000"]
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        run = RunOptions(command, allow_warm=True, streams=Streams(nowhere.fileno()))
        options = SweepOptions(
            run,
            lambda _: (0,),
            repeat=1,
            devices=(loop.device,),
            wait_s=left_s(),
            memory_kib=65536,
            limit_s=1.0,
        )
        bench = partial(bench_on, LocalTarget())
        (point,) = sweep(options, bench, lambda _: None, lambda _: None).points
    (killed,) = point.killed
    assert (killed.by, point.seconds) == ("time", [])
    assert killed.seconds >= 1.0 and killed.pages >= 64


@pytest.mark.thorough
def test_a_start_beside_a_load_is_limited_and_the_load_is_not(loop, tmp_path):
    command = [sys.executable, "-c", f"{HOLD}; open({str(loop.data)!r}, 'rb').read()"]
    options = {"scenario": f"writer:{loop.mountpoint}", "device": loop.device}
    capture = record(command, tmp_path / "capture", memory_kib=96 << 10, **options)
    assert capture.memory.group.made and not folder_of(capture.memory).exists()
    assert capture.scenario == options["scenario"]
    assert capture.load_apart == ""


@pytest.mark.thorough
def test_the_memory_of_an_unlimited_start_is_noted(loop, tmp_path):
    memory = record([loop.busybox, "cat", loop.data], tmp_path / "capture").memory
    assert not memory.group.made and memory.group.peak_kib is None
    assert memory.counters["pgmajfault"] > 0
