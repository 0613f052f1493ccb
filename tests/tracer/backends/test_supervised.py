"""The supervisor with small recorders made of sh: how recordings begin, end and fail."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from pathlib import Path

import pytest
from waiting import left_s, wait_until

from foreread.boards.base.owner import PREFIX, owner_tag
from foreread.tracer.backends import supervised
from foreread.tracer.backends.supervised import Supervised, leftovers, remedy_for
from foreread.tracer.error import RecordError

# A recorder as perf and trace-cmd are: runs its workload (the arguments) and ends with it.
RECORDER = ["sh", "-c", 'echo data >"$0"; "$@"']


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Supervised:
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setattr(supervised, "_MEMORY", memory)
    monkeypatch.setattr(supervised, "_memory_has_room", lambda: True)
    (tmp_path / "trace").mkdir()
    return Supervised("recorder", tmp_path / "trace")


def command(recording: Supervised) -> list[str]:
    return [*RECORDER[:2], RECORDER[2], str(recording.scratch / "file")]


def is_running(pid: int) -> bool:
    """Return whether a process has not ended; init may not have waited for it yet."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_the_recording_is_delivered_and_the_scratch_removed(
    recording: Supervised, tmp_path: Path
) -> None:
    recording.start(command(recording))
    recording.stop()
    assert recording.deliver("file") == tmp_path / "trace" / "file"
    recording.clean()
    assert (tmp_path / "trace" / "file").read_text() == "data\n"
    assert not recording.scratch.exists()


def test_clean_ends_a_recorder_that_still_runs(recording: Supervised) -> None:
    recording.start(command(recording))
    group = recording.processes()
    recording.clean()
    wait_until(lambda: not any(map(is_running, group)))
    recording.clean()


def test_a_recorder_that_fails_to_start_says_why(recording: Supervised) -> None:
    with pytest.raises(RecordError, match="recorder does not start: no permission") as error:
        recording.start(["sh", "-c", "echo no permission >&2; exit 3"])
    recording.clean()
    assert "root" in error.value.remedy


def test_a_recorder_that_cannot_be_run_is_an_error(recording: Supervised) -> None:
    with pytest.raises(RecordError, match="does not start"):
        recording.start(["/nonexistent/recorder"])
    recording.clean()


def test_a_recorder_that_fails_at_its_end_is_an_error(recording: Supervised) -> None:
    recording.start(["sh", "-c", '"$@"; echo No space left on device >&2; exit 7', "sh"])
    with pytest.raises(RecordError, match=r"exit status 7.*No space left") as error:
        recording.stop()
    recording.clean()
    assert "free" in error.value.remedy


def test_a_recorder_that_ends_by_itself_is_an_error(recording: Supervised) -> None:
    recording.start(["sh", "-c", '"$@" </dev/null', "sh"])
    with pytest.raises(RecordError, match="recorder failed"):
        recording.stop()
    recording.clean()


def test_a_recorder_that_hangs_is_ended(
    recording: Supervised, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervised, "_STOP_SECONDS", 0.1)
    recording.start(["sh", "-c", '"$@"; sleep 600', "sh"])
    with pytest.raises(RecordError, match="does not end"):
        recording.stop()
    group = recording.processes()
    recording.clean()
    wait_until(lambda: not any(map(is_running, group)))


def test_a_full_disk_is_an_error_and_leaves_no_part(
    recording: Supervised, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_source: Path, destination: Path) -> None:
        destination.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "move", full)
    with pytest.raises(RecordError, match="No space left") as error:
        recording.deliver("file")
    assert "free space" in error.value.remedy
    assert list((tmp_path / "trace").iterdir()) == []


def test_when_the_pipe_breaks_the_supervisor_removes_the_scratch(recording: Supervised) -> None:
    recording.start(command(recording))
    process = recording._process
    assert process and process.stdin
    process.stdin.close()  # what the kernel does when foreread is killed
    assert process.wait(left_s()) == 0
    assert not recording.scratch.exists()


def test_without_room_in_memory_the_trace_directory_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervised, "_memory_has_room", lambda: False)
    recording = Supervised("recorder", tmp_path)
    assert recording.scratch.parent == tmp_path
    assert not recording.in_memory
    recording.clean()
    assert list(tmp_path.iterdir()) == []


def test_only_the_scratch_of_the_dead_is_left_over(tmp_path: Path) -> None:
    living = tmp_path / f"{PREFIX}{owner_tag()}-x"
    dead = tmp_path / f"{PREFIX}{os.getpid()}-1-x"
    for directory in (living, dead, tmp_path / "somebody-elses-1-x"):
        directory.mkdir()
    assert leftovers(tmp_path) == [str(dead)]


def test_ctrl_c_at_the_terminal_does_not_reach_the_recorder(recording: Supervised) -> None:
    recording.start(command(recording))
    assert all(os.getpgid(pid) != os.getpgrp() for pid in recording.processes())
    recording.stop()
    recording.clean()


def test_the_supervisor_reports_a_killed_recorder(recording: Supervised) -> None:
    recording.start(["sh", "-c", 'echo $$ >"$0"; "$@"', str(recording.scratch / "pid")])
    os.kill(int((recording.scratch / "pid").read_text()), signal.SIGKILL)
    with pytest.raises(RecordError, match="recorder failed"):
        recording.stop()
    recording.clean()


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("failed to write perf data, error: No space left on device", "free memory"),
        ("unshare: unshare failed: Operation not permitted", "CAP_SYS_ADMIN"),
        ("Consider adjusting /proc/sys/kernel/perf_event_paranoid", "root"),
        ("Error: debugfs not mounted", "mount"),
        ("", "another recorder"),
    ],
)
def test_each_complaint_has_its_remedy(said: str, remedy: str) -> None:
    assert remedy in remedy_for(said)
