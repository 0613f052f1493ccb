"""Loads on the running kernel: recorded alone, and beside a start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from limited_disks import limiting_group
from loop_image import WINDOW_KB, loop_image
from shells import each_shell
from target_recordings import record_beside
from waiting import has_text, left_s, wait_until

import foreread
from foreread.analyzer.ingest.load import load_any
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.load.recorded import seen_load
from foreread.tracer.error import RecordError
from foreread.tracer.formats.capture import dev_of
from foreread.tracer.runs.options import RunOptions, Streams

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no load was recorded"),
]
CALL = 128 << 10


@pytest.fixture
def loop(tmp_path):
    with loop_image(tmp_path) as image:
        yield image


@contextmanager
def reading(device):
    """Have dd read a disk past the page cache, over and over."""
    script = f"while :; do dd if=/dev/{device} of=/dev/null bs={CALL} iflag=direct; done"
    words = ["sh", "-c", script]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def disk_of(capture, loop):
    return next(disk for disk in capture.devices if disk.name == loop.device)


def only_reader(seen):
    """Return the client that dd is."""
    (reader,) = [client for client in seen.clients if client.name == "dd"]
    return reader.client


def test_a_load_is_recorded_as_the_machine_is(loop, tmp_path):
    path = tmp_path / "load.capture"
    with reading(loop.device):
        capture = foreread.record_load(path, 1.0, wait_s=left_s())
    disk = disk_of(capture, loop)
    assert (disk.read_ahead_kb_before, disk.read_ahead_kb) == (WINDOW_KB, WINDOW_KB)
    assert (capture.is_load, capture.command, capture.cold.proven) == (True, [], False)
    assert (capture.ended_by, capture.notes) == ("duration", [])
    client = only_reader(seen_load(load_any(path), dev_of(disk.dev)))
    assert (client.write, client.in_order, client.cached) == (False, True, False)
    assert (client.size, client.outstanding) == (CALL, 1)
    with pytest.raises(TraceError, match="holds a load, and no start") as error:
        foreread.load(path)
    assert f"--load {path}" in error.value.remedy


def test_a_start_is_recorded_beside_a_scenario(loop, tmp_path):
    path = tmp_path / "start.capture"
    command = [str(loop.busybox), "cat", str(loop.data)]
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        streams = Streams(nowhere.fileno(), nowhere.fileno())
        run = RunOptions(command, allow_warm=True, streams=streams)
        capture = foreread.record(run, path, scenario="reader", search_s=0.1, wait_s=left_s())
    assert (capture.scenario, capture.load_apart, capture.exit_status) == ("reader", "", 0)
    assert capture.options[-2:] == ["--scenario", "reader"]
    start = foreread.load(path)
    inode = loop.data.stat()
    dev = os.major(inode.st_dev) << 20 | os.minor(inode.st_dev)
    own = (start.files["dev"] == dev) & (start.files["ino"] == inode.st_ino)
    assert start.files["accessed"][own].tolist() == [64]
    disk = dev_of(disk_of(capture, loop).dev)
    # dd's requests are the load's, and none of them is the start's.
    assert start.requests["sectors"][start.requests["dev"] == disk].max() < CALL // 512
    client = only_reader(seen_load(start, disk))
    assert (client.size, client.in_order, client.cached) == (CALL, True, False)
    assert capture.disk is not None
    assert loop.restored_kb() == WINDOW_KB
    assert not readers_of(loop)


def readers_of(loop):
    """Return the processes of a load that have the disk open."""
    readers = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"/dev/{loop.device}" in map(os.readlink, (process / "fd").iterdir()):
                readers.append(process.name)
    return readers


@pytest.mark.thorough
def test_the_load_and_the_probe_are_limited_as_the_start_is(loop, tmp_path):
    path = tmp_path / "start.capture"
    with limiting_group(loop.device, 1000, 40_000_000) as group:
        script = f"echo $$ >{group}/cgroup.procs; sleep 1; exec {loop.busybox} cat {loop.data}"
        run = RunOptions(["sh", "-c", f"{script} >/dev/null"], allow_warm=True)
        more = {"scenario": "reader", "device": loop.device, "search_s": 0.1}
        capture = foreread.record(run, path, **more, wait_s=left_s())
    assert capture.load_apart == ""
    assert capture.disk is not None
    assert capture.disk.group == f"/{group.name}"
    seen = seen_load(load_any(path), dev_of(disk_of(capture, loop).dev))
    assert only_reader(seen).size == CALL
    assert seen.load.limited is True


@pytest.mark.thorough
@pytest.mark.parametrize("shell", each_shell())
def test_a_target_records_beside_a_writer_and_keeps_nothing(loop, tmp_path, shell):
    path, scenario = tmp_path / "start.capture", f"writer:{loop.mountpoint}"
    capture = record_beside(path, [loop.busybox, "sleep", "1"], scenario, shell)
    assert capture.scenario == scenario
    seen = seen_load(load_any(path), dev_of(disk_of(capture, loop).dev))
    writers = [client.client for client in seen.clients if client.name == "dd"]
    assert [(writer.write, writer.cached) for writer in writers] == [(True, True)]
    assert not list(loop.mountpoint.glob(".foreread*"))


@pytest.mark.thorough
@pytest.mark.parametrize("shell", each_shell())
def test_a_load_that_cannot_run_ends_the_recording_before_the_start(loop, tmp_path, shell):
    ran = tmp_path / "ran"
    with pytest.raises(RecordError, match="the file /nosuch of the scenario does not exist"):
        record_beside(tmp_path / "c", ["touch", ran], "reader:/nosuch", shell)
    assert not ran.exists()
    assert not (tmp_path / "c/capture.json").exists()
    assert loop.restored_kb() == WINDOW_KB


@pytest.mark.thorough
def test_a_killed_recording_takes_its_load_with_it(loop, tmp_path):
    up, root = tmp_path / "up", str(Path(foreread.__file__).parents[1])
    code = (
        "import sys, foreread\n"
        "from foreread.tracer.runs.options import RunOptions\n"
        "run = RunOptions(['sh', '-c', 'echo up >$0; sleep 1000', sys.argv[1]], allow_warm=True)\n"
        "foreread.record(run, sys.argv[2], scenario='writer:' + sys.argv[3],\n"
        "                wait_s=float(sys.argv[4]))\n"
    )
    words = [sys.executable, "-c", code, up, tmp_path / "c", loop.mountpoint, str(left_s())]
    with subprocess.Popen(words, env={**os.environ, "PYTHONPATH": root}) as process:
        wait_until(lambda: has_text(up))
        assert list(loop.mountpoint.glob(".foreread*"))
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: not list(loop.mountpoint.glob(".foreread*")))
    assert loop.restored_kb() == WINDOW_KB
