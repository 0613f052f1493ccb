"""Recordings over real ssh servers on loopback, also with a lost connection."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from loop_image import WINDOW_KB, loop_image
from machine_lock import nobody_records
from raw_pages import read_events
from rings import further
from ssh_servers import SshServer, missing
from waiting import has_text, wait_until

from foreread.boards.ssh import SshTarget
from foreread.boards.ssh_connection import SshAddress
from foreread.tracer.error import RecordError
from foreread.tracer.formats import capture as capture_files
from foreread.tracer.remote.record import record_on
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

INSERT = "filemap/mm_filemap_add_to_page_cache"
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: recording over ssh was not checked"),
]


@pytest.fixture
def loop(tmp_path):
    # The servers have a /run of their own, and with it no lock that keeps others away.
    with loop_image(tmp_path) as image, nobody_records():
        yield image


@pytest.fixture(params=further(("openssh", "dropbear"), ["openssh"]))
def server(request, loop, tmp_path):
    reason = missing(request.param)
    if reason:
        pytest.skip(reason)
    before = windows()
    running = SshServer(request.param, tmp_path / "server")
    yield running
    try:  # the loop device, changed last, is put back first: its guard has to put back the others
        wait_until(lambda: windows() == before, windows)
    finally:
        running.stop()
        for knob, window in before.items():
            knob.write_text(window)


@pytest.fixture
def target(server):
    with SshTarget(SshAddress.parse(server.url), server.known_hosts, server.identity) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _folder(tmp_path):
    (tmp_path / "server").mkdir()


def record_there(target, output, command):
    run = RunOptions([str(word) for word in command], allow_warm=True)
    return record_on(target, RecordOptions(run), output)


def windows():
    """Return the windows of all disks but loop devices, of which other tests may make some."""
    knobs = sorted(Path("/sys/block").glob("*/queue/read_ahead_kb"))
    return {knob: knob.read_text() for knob in knobs if not knob.match("loop*/*/*")}


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_every_page_is_recorded(loop, target, tmp_path, capfdbinary):
    capture = record_there(target, tmp_path / "capture", [loop.busybox, "cat", loop.data])
    assert capfdbinary.readouterr().out == loop.data.read_bytes()
    inode = loop.data.stat().st_ino
    inserts = read_events(tmp_path / "capture/trace", INSERT)
    mine = [event for event in inserts if event["common_pid"] == capture.pid]
    # Sorted: the events of one CPU come after those of another, and a process may change it.
    found = sorted(event["index"] for event in mine if event["i_ino"] == inode)
    assert found == list(range(64))
    assert sum(capture.lost.values()) == 0
    assert loop.window_kb() == WINDOW_KB
    assert target.run(["sh", "-c", "ls -d /run/foreread*"]).stdout == b""


@pytest.mark.thorough
def test_a_cut_connection_leaves_no_capture_and_nothing_changed(loop, server, target, tmp_path):
    pid_file = tmp_path / "pid"
    cutter = threading.Thread(target=lambda: (wait_until(lambda: has_text(pid_file)), server.cut()))
    cutter.start()
    script = f"echo $$ >{pid_file}; exec sleep 600"
    with pytest.raises(RecordError, match="guard") as error:
        record_there(target, tmp_path / "capture", ["sh", "-c", script])
    cutter.join()
    assert "running the command" in str(error.value)
    assert not (tmp_path / "capture").exists()
    wait_until(lambda: loop.window_kb() == WINDOW_KB)
    wait_until(lambda: not is_running(int(pid_file.read_text())))


@pytest.mark.thorough
def test_a_full_memory_file_system_is_said(loop, target, tmp_path):
    target.run(["mount", "-t", "tmpfs", "-o", "size=80k", "none", "/dev/shm"])
    filled = target.run(["sh", "-c", "mount -o remount,size=80k /run && cat /dev/zero >/run/full"])
    assert b"space" in filled.stderr
    with pytest.raises(RecordError, match="no writable folder in memory has") as error:
        record_there(target, tmp_path / "capture", ["true"])
    assert "mount one" in error.value.remedy
    assert not (tmp_path / "capture").exists()


@pytest.mark.thorough
def test_memory_that_gets_full_during_the_run_makes_no_silent_capture(loop, target, tmp_path):
    script = "cat /dev/zero >/run/full 2>&-; echo output; exit 0"
    size = 160 << 10
    target.run(["mount", "-o", f"remount,size={size}", "/run"])
    try:
        capture = record_there(target, tmp_path / "capture", ["sh", "-c", script])
    except RecordError as error:
        assert error.remedy
        with pytest.raises(capture_files.CaptureError):
            capture_files.read(tmp_path / "capture")
    else:
        assert capture.exit_status == 0
        assert capture_files.read(tmp_path / "capture")[0] == capture
    wait_until(lambda: loop.window_kb() == WINDOW_KB)
