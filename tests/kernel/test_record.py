"""Recordings of real commands on the running kernel, ended in every way there is."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from cold_runs import is_cold_but_for_others
from loop_image import WINDOW_KB, loop_image
from named_recordings import record_inodes
from raw_pages import read_events
from target_recordings import is_running
from waiting import left_s

import foreread
from foreread.boards.base.owner import PREFIX
from foreread.tracer.backends import tracefs_mount
from foreread.tracer.backends.tracefs import TracefsBackend
from foreread.tracer.error import RecordError
from foreread.tracer.formats import capture as capture_files
from foreread.tracer.local.cold import mapped_files
from foreread.tracer.local.journal import restore_leftovers
from foreread.tracer.local.journal_folder import DIRECTORY
from foreread.tracer.local.record import record, run_here
from foreread.tracer.runs.options import Ending, RunOptions, Streams
from foreread.tracer.runs.recording import RecordOptions

INSERT = "filemap/mm_filemap_add_to_page_cache"
LOOP_CTL_ADD, LOOP_CTL_REMOVE = 0x4C80, 0x4C81  # include/uapi/linux/loop.h
DRIVER = """
import sys
from pathlib import Path
from foreread.tracer.backends.tracefs import TracefsBackend
from foreread.tracer.local.record import RecordOptions, record
from foreread.tracer.local.run import RunOptions
run = RunOptions(sys.argv[3:], grace_s=0.5, allow_warm=True)
record(RecordOptions(run, wait_s=float(sys.argv[2])), TracefsBackend(), Path(sys.argv[1]))
"""

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(
        os.geteuid() != 0, reason="needs root: recording and restoring were not checked"
    ),
]


@pytest.fixture
def loop(tmp_path):
    with loop_image(tmp_path) as image:
        yield image
    assert not list(DIRECTORY.glob(f"{os.getpid()}-*"))
    assert own_instances(os.getpid()) == []


def record_here(output, command, inodes_of=None, **run):
    command = [str(word) for word in command]
    run = RunOptions(command, allow_warm=True, **run)  # other programs read files meanwhile
    options = RecordOptions(run, wait_s=left_s())
    running = run_here(options, TracefsBackend(), output, probe_disk=False)
    return record_inodes(running, inodes_of)


def own_instances(pid):
    with tracefs_mount.mounted() as place:
        return list((place / "instances").glob(f"{PREFIX}{pid}-*"))


def device_number(path):
    device = path.stat().st_dev
    return os.major(device) << 20 | os.minor(device)


def test_every_page_of_a_cold_file_is_recorded_once(loop, tmp_path):
    inode = loop.data.stat().st_ino
    device = device_number(loop.data)
    output = tmp_path / "capture"
    command = [loop.busybox, "cat", loop.data]
    assert loop.data.read_bytes()  # cached before
    capture = record_here(output, command, partial(inodes, device=device))
    inserts = read_events(output / "trace", INSERT)
    of_data = [e["index"] for e in inserts if (e["s_dev"], e["i_ino"]) == (device, inode)]
    # Sorted: the events of one CPU come after those of another, and a process may change it.
    assert sorted(of_data) == list(range(64))
    assert is_cold_but_for_others(capture.cold), capture.cold.how
    assert sum(capture.lost.values()) == 0
    assert (capture.ended_by, capture.exit_status) == ("exit", 0)
    assert loop.restored_kb() == WINDOW_KB
    disk = next(d for d in capture.devices if d.name == loop.device)
    assert (disk.read_ahead_kb_before, disk.read_ahead_kb) == (WINDOW_KB, 0)
    assert capture_files.read(output)[0] == capture
    files = {entry.path: entry for entry in capture_files.read(output)[1]}
    assert files[str(loop.data)].size_bytes == loop.data.stat().st_size
    assert files[str(loop.data)].ino == inode


def inodes(trace, device):
    events = read_events(trace, INSERT)
    return {(e["s_dev"], e["i_ino"]) for e in events if e["s_dev"] == device}


def module_files():
    """Return the files of the modules that this process has imported, source and compiled."""
    kinds = ("__file__", "__cached__")
    names = {getattr(module, kind, None) for module in [*sys.modules.values()] for kind in kinds}
    return [Path(name) for name in names if isinstance(name, str) and Path(name).exists()]


@pytest.mark.thorough
def test_the_recorder_itself_is_not_in_the_trace(loop, tmp_path):
    output = tmp_path / "capture"
    capture = record_here(output, [loop.busybox, "cat", loop.data])
    own_files = {path.stat().st_ino for path in output.rglob("*")}
    own_program = {ino for _, ino in mapped_files([os.getpid()])}  # its code may be faulted in
    own_program |= {path.stat().st_ino for path in module_files()}  # and modules imported late
    device = device_number(output)
    inserts = read_events(output / "trace", INSERT)
    own = [event for event in inserts if event["common_pid"] == os.getpid()]
    assert [event for event in own if event["i_ino"] not in own_program] == []
    written = [event for event in inserts if event["s_dev"] == device]
    assert [event for event in written if event["i_ino"] in own_files] == []
    assert capture.pid in {event["common_pid"] for event in inserts}


@pytest.mark.thorough
def test_python_with_imports_loses_no_event(tmp_path):
    code = "import json, email.message, unittest, asyncio, xml.dom.minidom"
    capture = record_here(tmp_path / "capture", [sys.executable, "-c", code])
    assert sum(capture.lost.values()) == 0
    assert capture.exit_status == 0
    assert len(read_events(tmp_path / "capture/trace", INSERT)) > 100


@pytest.mark.thorough
def test_until_output_matches_and_ends_the_command(loop, tmp_path, capfd):
    script = r"printf 'start\377ed'; printf ' up'; exec sleep 600"
    output = tmp_path / "capture"
    capture = record_here(output, ["sh", "-c", script], ending=Ending(output="ed up"))
    assert (capture.ended_by, capture.exit_status) == ("output", None)
    assert not is_running(capture.pid)
    assert "ed up" in capfd.readouterr().out
    assert loop.restored_kb() == WINDOW_KB


@pytest.mark.thorough
def test_until_idle_ends_after_the_last_read(loop, tmp_path):
    # A gap that is much shorter than the idleness, on a busy machine too.
    command = ["sh", "-c", f"sleep 0.1; {loop.busybox} cat {loop.data}; exec sleep 600"]
    streams = Streams(stdout=os.open(os.devnull, os.O_WRONLY))
    capture = record_here(
        tmp_path / "capture", command, ending=Ending(idle_ms=2000), streams=streams
    )
    os.close(streams.stdout)
    inserts = read_events(tmp_path / "capture/trace", INSERT)
    file = (device_number(loop.data), loop.data.stat().st_ino)
    data = [e for e in inserts if (e["s_dev"], e["i_ino"]) == file]
    assert (capture.ended_by, len(data)) == ("idle", 64)
    assert capture.wall_seconds < 600
    assert not is_running(capture.pid)


@pytest.mark.thorough
def test_a_duration_leaves_the_command_running_when_asked(loop, tmp_path):
    capture = record_here(
        tmp_path / "capture", ["sleep", "600"], ending=Ending(duration_s=0.2), keep_running=True
    )
    assert (capture.ended_by, capture.exit_status) == ("duration", None)
    assert is_running(capture.pid)
    os.kill(capture.pid, signal.SIGKILL)
    os.waitpid(capture.pid, 0)


@pytest.mark.thorough
def test_a_daemon_is_found_reported_and_ended(loop, tmp_path):
    # A second session, as daemons make it: only the adoption of orphans finds it.
    pid_file = tmp_path / "pid"
    daemon = f"echo $$ >{pid_file}; exec sleep 600"
    script = f"setsid sh -c '{daemon}' & while [ ! -s {pid_file} ]; do :; done"
    capture = record_here(tmp_path / "capture", ["sh", "-c", script])
    assert (capture.ended_by, capture.exit_status) == ("exit", 0)
    assert any("daemon" in note for note in capture.notes)
    assert not is_running(int(pid_file.read_text()))


@pytest.mark.thorough
def test_no_zombie_of_the_command_is_left(loop, tmp_path):
    # The inner shell exits at once; its child is adopted and ends before the command does.
    before = children()
    record_here(tmp_path / "capture", ["sh", "-c", "sh -c 'sleep 0.1 &'; sleep 0.4"])
    assert children() <= before


def children():
    """Return the children of this process, zombies too; a recording in memory has its reader."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.mark.thorough
def test_a_failing_command_still_makes_a_capture(loop, tmp_path):
    capture = record_here(tmp_path / "capture", ["sh", "-c", "exit 7"])
    assert capture.exit_status == 7
    assert any("exit status 7" in note for note in capture.notes)
    killed = record_here(tmp_path / "killed", ["sh", "-c", "kill -9 $$"])
    assert (killed.exit_status, killed.signal) == (None, 9)


@pytest.mark.thorough
def test_the_command_runs_as_another_user(loop, tmp_path, capfd):
    record_here(tmp_path / "capture", ["id", "-un"], user="nobody", cwd=Path("/"))
    assert capfd.readouterr().out == "nobody\n"


@pytest.mark.thorough
def test_a_command_that_does_not_exist_touches_nothing(loop, tmp_path):
    with pytest.raises(RecordError, match="does not exist"):
        record_here(tmp_path / "capture", ["/nonexistent/command"])
    assert not (tmp_path / "capture").exists()


@pytest.mark.thorough
def test_a_file_that_cannot_be_executed_is_an_error_and_restores(loop, tmp_path):
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF and nothing more")
    broken.chmod(0o755)
    with pytest.raises(RecordError, match="cannot be executed"):
        record_here(tmp_path / "capture", [broken])
    assert not (tmp_path / "capture").exists()
    assert loop.restored_kb() == WINDOW_KB


@pytest.mark.thorough
def test_a_full_disk_restores_and_leaves_no_half_capture(loop, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=9m", "none", small], check=True)
    try:
        with pytest.raises(RecordError, match="no space"):
            record_here(small / "capture", ["sh", "-c", f"cat /dev/zero >{small}/full 2>&-"])
        assert not (small / "capture").exists()
        assert loop.restored_kb() == WINDOW_KB
    finally:
        subprocess.run(["umount", small], check=True)


@pytest.fixture
def recording(loop, tmp_path):
    """A foreread in a process of its own that records a command which does not end."""
    output = tmp_path / "capture"
    command = ["sh", "-c", "echo $$; exec sleep 600"]
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, output, str(left_s()), *command],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(foreread.__file__).parents[1])},
    ) as driver:
        try:
            pid = int(driver.stdout.readline())
            assert loop.window_kb() == 0
            yield driver, pid, output, loop
        finally:
            driver.kill()
    restore_leftovers()
    if is_running(pid):
        os.kill(pid, signal.SIGKILL)


def test_ctrl_c_ends_and_keeps_the_recording(recording):
    driver, pid, output, loop = recording
    driver.send_signal(signal.SIGINT)
    assert driver.wait(left_s()) == 0
    capture, _ = capture_files.read(output)
    assert capture.ended_by == "signal"
    assert loop.restored_kb() == WINDOW_KB
    assert not is_running(pid)


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_abort_and_restore(recording, number):
    driver, pid, output, loop = recording
    driver.send_signal(number)
    assert driver.wait(left_s()) != 0
    assert not output.exists()
    assert loop.restored_kb() == WINDOW_KB
    assert own_instances(driver.pid) == []
    assert not is_running(pid)


@pytest.mark.thorough
def test_settings_left_by_sigkill_are_restored(recording):
    driver, _, output, loop = recording
    assert own_instances(driver.pid) != []
    driver.kill()
    driver.wait(left_s())
    restored = restore_leftovers()
    assert loop.restored_kb() == WINDOW_KB
    assert own_instances(driver.pid) == []
    assert all(one.problem == "" for one in restored if str(loop.knob) == one.knob)
    with pytest.raises(capture_files.CaptureError, match="partial"):
        capture_files.read(output)


@pytest.mark.thorough
def test_a_living_recording_is_not_undone(recording):
    driver, _, _, loop = recording
    assert all(str(loop.knob) != one.knob for one in restore_leftovers())
    assert loop.window_kb() == 0
    assert own_instances(driver.pid) != []


@pytest.mark.thorough
def test_a_second_recording_is_refused_and_names_the_first(recording, tmp_path):
    driver, _, _, _ = recording
    options = RecordOptions(RunOptions(["true"]))
    with pytest.raises(RecordError, match=re.escape(f"pid {driver.pid}")):
        record(options, TracefsBackend(), tmp_path / "second")
    assert not (tmp_path / "second").exists()


@pytest.mark.thorough
def test_a_device_that_vanishes_meanwhile_is_reported(loop, tmp_path):
    number = 600 + os.getpid() % 400
    with open("/dev/loop-control", "rb") as control:  # noqa: PTH123  a device, not a path's text
        fcntl.ioctl(control, LOOP_CTL_ADD, number)
    code = f"import fcntl; fcntl.ioctl(open('/dev/loop-control'), {LOOP_CTL_REMOVE}, {number})"
    run = RunOptions([sys.executable, "-c", code], allow_warm=True)
    options = RecordOptions(run, devices=(f"loop{number}",), wait_s=left_s())
    capture = record(options, TracefsBackend(), tmp_path / "capture")
    assert capture.exit_status == 0
    assert any(f"loop{number}/" in note and "gone" in note for note in capture.notes)
    assert loop.restored_kb() == WINDOW_KB


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["file/capture", "loop", "loop/capture"])
def test_a_place_where_no_folder_can_be_made_is_refused_with_a_remedy(name, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(RecordError, match="cannot be made"):
        record_here(tmp_path / name, ["true"])
