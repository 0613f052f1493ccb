"""The target's recorder on the running kernel: busybox ash and dash, without a wire between."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
from pathlib import Path

import pytest
from cold_runs import is_cold_but_for_others
from loop_image import WINDOW_KB, loop_image
from msgspec import structs
from named_recordings import record_inodes
from raw_pages import read_events
from shells import BUSYBOX, each_shell
from target_recordings import is_running, record_here
from waiting import left_s

from foreread.analyzer.ingest import tracefs as tracefs_pages
from foreread.analyzer.ingest.tables import Kind
from foreread.boards.target import LocalTarget
from foreread.tracer.backends.tracefs import TracefsBackend
from foreread.tracer.error import RecordError
from foreread.tracer.formats import capture as capture_files
from foreread.tracer.local.record import run_here
from foreread.tracer.remote.record import record_on
from foreread.tracer.runs.options import Ending, RunOptions, Streams
from foreread.tracer.runs.recording import RecordOptions

INSERT = "filemap/mm_filemap_add_to_page_cache"
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(
        os.geteuid() != 0, reason="needs root: recording on a target was not checked"
    ),
]


@pytest.fixture
def loop(tmp_path):
    with loop_image(tmp_path) as image:
        yield image


@pytest.fixture(params=each_shell())
def shell(request):
    return request.param


def device_number(path):
    device = path.stat().st_dev
    return os.major(device) << 20 | os.minor(device)


def inodes_on(device):
    def inodes(trace):
        events = read_events(trace, INSERT)
        return {(e["s_dev"], e["i_ino"]) for e in events if e["s_dev"] == device}

    return inodes


def names_of(capture):
    """Return what both recorders know of the files."""
    return capture_files.read(capture)[1]


def pages_on(trace, path, pid=None):
    """Return the (inode, page) that were inserted on the file system of ``path``, in order."""
    device = device_number(path)
    return [
        (event["i_ino"], event["index"])
        for event in read_events(trace, INSERT)
        if event["s_dev"] == device and pid in (None, event["common_pid"])
    ]


@pytest.mark.parametrize("shell", each_shell(BUSYBOX))
def test_the_capture_is_that_of_the_local_recorder(loop, tmp_path, shell):
    # To /dev/null in both: the code that cat runs depends on what its output is.
    command = [loop.busybox, "sh", "-c", f"exec {loop.busybox} cat {loop.data} >/dev/null"]
    device = device_number(loop.data)
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        streams = Streams(nowhere.fileno(), nowhere.fileno())
        to, inodes_of = tmp_path / "there", inodes_on(device)
        there = record_here(to, command, shell, inodes_of, streams=streams)
        options = RecordOptions(
            RunOptions([str(word) for word in command], allow_warm=True, streams=streams),
            wait_s=left_s(),
        )
        running = run_here(options, TracefsBackend(), tmp_path / "here", probe_disk=False)
        here = record_inodes(running, inodes_of)
    pages = pages_on(tmp_path / "there/trace", loop.data, there.pid)
    local = pages_on(tmp_path / "here/trace", loop.data, here.pid)
    assert set(pages) ^ set(local) == set()
    # Sorted: the pages of one CPU come after those of another, and a process may change it.
    found = sorted(page for ino, page in pages if ino == loop.data.stat().st_ino)
    assert found == list(range(64))
    assert (there.ended_by, there.exit_status) == ("exit", 0)
    assert loop.notes_of(there) == loop.notes_of(here)
    assert sum(there.lost.values()) == 0
    assert is_cold_but_for_others(there.cold), there.cold.how
    # The cat of busybox's shell is its own.
    host = structs.replace(there.host, sequential_cat=here.host.sequential_cat)
    assert host == here.host
    same = ("command", "events", "events_missing", "clock", "read_ahead_kb", "backend")
    assert [getattr(there, name) for name in same] == [getattr(here, name) for name in same]
    mine = [next(d for d in c.devices if d.name == loop.device) for c in (there, here)]
    assert mine[0] == mine[1]
    assert (mine[0].read_ahead_kb_before, mine[0].read_ahead_kb) == (WINDOW_KB, 0)
    mounts = [
        next(
            m for m in c.mounts if m.source == mine[0].name or m.mountpoint == str(loop.mountpoint)
        )
        for c in (there, here)
    ]
    assert mounts[0] == mounts[1]
    assert names_of(tmp_path / "there") == names_of(tmp_path / "here")
    assert loop.restored_kb() == WINDOW_KB


@pytest.mark.thorough
def test_both_recorders_tell_which_pages_stayed_cached(loop, tmp_path):
    os.sync()
    with loop.data.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    mapped.madvise(mmap.MADV_RANDOM)  # no more than is touched
    touched = [mapped[page * mmap.PAGESIZE] for page in (3, 4, 9)]
    command = ["cat", str(loop.data)]
    inodes = inodes_on(device_number(loop.data))
    record_here(tmp_path / "there", command, inodes_of=inodes)
    options = RecordOptions(RunOptions(command, allow_warm=True), wait_s=left_s())
    running = run_here(options, TracefsBackend(), tmp_path / "here", probe_disk=False)
    record_inodes(running, inodes)
    for name in ("there", "here"):
        (found,) = [file for file in names_of(tmp_path / name) if file.path == str(loop.data)]
        assert found.cached_pages == [(3, 2), (9, 1)], name
    assert len(touched) == 3


@pytest.mark.thorough
def test_times_are_those_of_the_trace(loop, tmp_path, shell):
    capture = record_here(tmp_path / "capture", ["sleep", "0.3"], shell)
    events = tracefs_pages.read(tmp_path / "capture/trace").events
    mine = (events["kind"] == Kind.EXEC) & (events["pid"] == capture.pid)
    execs = events["time_ns"][mine].tolist()
    assert len(execs) == 1
    assert capture.start_ns < execs[0] < capture.end_ns
    assert capture.wall_seconds >= 0.3


@pytest.mark.thorough
def test_names_of_files_come_through_exactly(loop, tmp_path, shell):
    names = [b"new\nline", b"\"quo'te", b"\x1b[31mred", b"\xff\xfe", b" $(id);`id` ", b"-n"]
    for name in names:
        path = os.path.join(os.fsencode(loop.mountpoint), name)  # noqa: PTH118
        with open(path, "wb") as file:  # noqa: PTH123
            file.write(os.urandom(5000))
    script = 'cd "$1" && for f in ./*; do read -r _ <"$f"; done; :'
    record_here(
        tmp_path / "capture",
        [loop.busybox, "sh", "-c", script, "sh", loop.mountpoint],
        shell,
        inodes_on(device_number(loop.data)),
    )
    files = capture_files.read(tmp_path / "capture")[1]
    found = {os.fsencode(f.path): f.size_bytes for f in files if f.path}
    mounted = os.fsencode(loop.mountpoint)
    assert {mounted + b"/" + name for name in names} <= set(found)
    assert {found[mounted + b"/" + name] for name in names} == {5000}


@pytest.mark.thorough
def test_words_of_the_command_are_not_expanded(loop, tmp_path, shell, capfd):
    words = ["$(id)", "`id`", "a'b", 'c"d', "*", "new\nline", "", "\\t"]
    record_here(tmp_path / "capture", ["printf", "<%s>", *words], shell)
    assert capfd.readouterr().out == "".join(f"<{word}>" for word in words)


@pytest.mark.thorough
def test_output_ends_the_run(loop, tmp_path, shell, capfd):
    script = "echo starting; echo 'now up' >&2; exec sleep 600"
    capture = record_here(
        tmp_path / "capture", ["sh", "-c", script], shell, ending=Ending(output="w +up$")
    )
    assert (capture.ended_by, capture.exit_status) == ("output", None)
    assert not is_running(capture.pid)
    assert capfd.readouterr() == ("starting\n", "now up\n")
    assert loop.restored_kb() == WINDOW_KB


@pytest.mark.thorough
def test_idleness_ends_the_run_at_the_last_read(loop, tmp_path, shell):
    # A gap that is much shorter than the idleness, on a busy machine too.
    script = f"sleep 0.1; {loop.busybox} cat {loop.data} >/dev/null; exec sleep 600"
    capture = record_here(
        tmp_path / "capture", ["sh", "-c", script], shell, ending=Ending(idle_ms=2000)
    )
    assert (capture.ended_by, capture.exit_status) == ("idle", None)
    data = [page for ino, page in pages_on(tmp_path / "capture/trace", loop.data) if page]
    assert set(range(1, 64)) <= set(data)
    assert not is_running(capture.pid)


@pytest.mark.thorough
def test_a_duration_can_leave_the_command_running(loop, tmp_path, shell):
    capture = record_here(
        tmp_path / "capture",
        ["sleep", "600"],
        shell,
        ending=Ending(duration_s=0.2),
        keep_running=True,
    )
    assert (capture.ended_by, capture.exit_status) == ("duration", None)
    assert is_running(capture.pid)
    os.kill(capture.pid, signal.SIGKILL)


@pytest.mark.thorough
def test_a_daemon_is_found_reported_and_ended(loop, tmp_path, shell):
    pid_file = tmp_path / "pid"
    daemon = f"echo $$ >{pid_file}; exec sleep 600"
    script = f"setsid sh -c '{daemon}' & while [ ! -s {pid_file} ]; do :; done"
    capture = record_here(tmp_path / "capture", ["sh", "-c", script], shell)
    assert (capture.ended_by, capture.exit_status) == ("exit", 0)
    assert any("daemon" in note for note in capture.notes)
    assert not is_running(int(pid_file.read_text()))


@pytest.mark.thorough
def test_a_failing_command_still_makes_a_capture(loop, tmp_path, shell):
    capture = record_here(tmp_path / "capture", ["sh", "-c", "exit 7"], shell)
    assert (capture.exit_status, capture.signal) == (7, None)
    killed = record_here(tmp_path / "killed", ["sh", "-c", "kill -9 $$"], shell)
    assert (killed.exit_status, killed.signal) == (None, 9)


@pytest.mark.thorough
def test_the_command_runs_as_another_user(loop, tmp_path, shell, capfd):
    capture = record_here(
        tmp_path / "capture", ["sh", "-c", "id -un; echo $$"], shell, user="nobody"
    )
    assert capfd.readouterr().out == f"nobody\n{capture.pid}\n"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"command": ["/nonexistent/command"]}, "does not exist"),
        ({"command": ["nonexistent-command"]}, "does not exist"),
        ({"command": ["/etc/passwd"]}, "cannot be executed"),
        ({"command": ["true"], "user": "no such user"}, "no user"),
        ({"command": ["true"], "cwd": Path("/nonexistent")}, "no folder"),
        ({"command": ["true"], "ending": Ending(output="a{2,1}")}, "regular"),
    ],
)
def test_an_unrunnable_command_is_refused_before_any_change(loop, tmp_path, shell, run, message):
    with pytest.raises(RecordError, match=message) as error:
        record_here(tmp_path / "capture", shell=shell, **run)
    assert error.value.remedy
    assert not (tmp_path / "capture").exists()
    assert loop.restored_kb() == WINDOW_KB


@pytest.mark.thorough
def test_an_interpreter_that_is_missing_is_an_error_and_restores(loop, tmp_path, shell):
    script = loop.mountpoint / "script"
    script.write_text("#!/nonexistent/interpreter\n")
    script.chmod(0o755)
    with pytest.raises(RecordError, match="cannot be executed"):
        record_here(tmp_path / "capture", [script], shell)
    assert loop.restored_kb() == WINDOW_KB


@pytest.mark.thorough
def test_a_target_without_rights_says_so(tmp_path):
    class Unprivileged(LocalTarget):
        def run(self, command, stdin=b"", timeout_s=None):
            return super().run(["setpriv", "--reuid=65534", *command], stdin, timeout_s)

        def push(self, source, destination, mode=0o644):
            super().push(source, destination, mode)
            os.chown(destination, 65534, -1)

    with pytest.raises(RecordError, match="needs root"):
        record_on(Unprivileged(), RecordOptions(RunOptions(["true"])), tmp_path / "capture")
    assert not (tmp_path / "capture").exists()


@pytest.mark.thorough
def test_missing_applets_are_named_all_at_once(tmp_path):
    applets = tmp_path / "bin"
    applets.mkdir()
    for name in ("env", "dash", "mkdir", "cat", "chmod", "mv", "wc", "rm"):
        (applets / name).symlink_to(subprocess.check_output(["which", name], text=True).strip())
    shell = (str(applets / "env"), f"PATH={applets}", str(applets / "dash"))
    with pytest.raises(RecordError, match="lacks dd grep head ls mkfifo rmdir sed sleep") as error:
        record_here(tmp_path / "capture", ["true"], shell)
    assert "busybox" in error.value.remedy
