"""Which process is a board's: found again, ended, and never another program's."""

import signal
import subprocess

import pytest
from waiting import wait_until

from foreread.boards.emulated import state


@pytest.fixture
def begin(tmp_path):
    """Start a shell script as the process of a board's folder."""
    begun = []

    def start(script, folder=tmp_path):
        begun.append(subprocess.Popen(state.recorded(folder, ["sh", "-c", script])))
        wait_until(lambda: state.runs(folder) or begun[-1].poll() is not None)
        assert begun[-1].poll() is None
        return begun[-1]

    yield start
    for process in begun:
        process.kill()
        process.wait()


def test_it_is_known_by_the_id_that_it_wrote(begin, tmp_path):
    process = begin("exec sleep 600")
    assert (tmp_path / state.PROCESS).read_text().startswith(f"{process.pid} (")
    assert state.runs(tmp_path)
    state.end(tmp_path)
    assert not state.runs(tmp_path)
    assert process.wait() == -signal.SIGTERM


def test_one_that_ignores_sigterm_is_killed(begin, tmp_path, monkeypatch):
    monkeypatch.setattr("foreread.boards.emulated.state._KILL_AFTER_S", 0.1)
    process = begin(f"trap '' TERM; : >{tmp_path}/deaf; while :; do sleep 0.05; done")
    wait_until((tmp_path / "deaf").exists)
    state.end(tmp_path)
    assert process.wait() == -signal.SIGKILL


def test_one_that_ended_is_not_waited_for(begin, tmp_path, monkeypatch):
    process = begin("exec sleep 600")
    process.kill()
    wait_until(lambda: not state.runs(tmp_path))  # it is a zombie until we wait for it
    monkeypatch.setattr("foreread.boards.emulated.state.select.select", pytest.fail)
    state.end(tmp_path)
    assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("field", ["start", "boot"])
def test_another_program_with_that_id_is_left_alone(field, begin, tmp_path):
    process = begin("exec sleep 600")
    stat, boot = (tmp_path / state.PROCESS).read_text().splitlines()
    fields = stat.split()
    if field == "start":
        fields[21] = str(int(fields[21]) - 1)
    else:
        boot = boot[::-1]
    (tmp_path / state.PROCESS).write_text(" ".join(fields) + f"\n{boot}\n")
    assert not state.runs(tmp_path)
    state.end(tmp_path)
    assert process.poll() is None


@pytest.mark.parametrize("written", ["", "x y\n", "-1 (sh) S\nboot\n", f"{1 << 70} (a) S\nb\n"])
def test_invalid_text_is_not_a_process(written, tmp_path):
    (tmp_path / state.PROCESS).write_text(written)
    assert not state.runs(tmp_path)
    state.end(tmp_path)


def test_nothing_begins_where_nothing_can_be_written(tmp_path):
    words = state.recorded(tmp_path / "absent", ["touch", str(tmp_path / "begun")])
    assert subprocess.run(words, capture_output=True, check=False).returncode
    assert not (tmp_path / "begun").exists()


def test_a_name_is_taken_while_its_board_runs(begin, tmp_path):
    folder = tmp_path / "one"
    with state.claimed(folder):
        begin("exec sleep 600", folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    with pytest.raises(state.TakenError, match="one runs already") as caught, state.claimed(folder):
        pass
    assert "boards stop one" in caught.value.remedy
    assert state.folders(tmp_path) == [folder]
    state.end(folder)
    (folder / "old").touch()
    with state.claimed(folder):
        assert list(folder.iterdir()) == []
    assert state.folders(tmp_path) == []


@pytest.mark.parametrize(("lines", "ended"), [(0, False), (1, False), (2, True)])
def test_a_board_has_ended_once_its_process_was_written_down_and_is_gone(lines, ended, tmp_path):
    """A board that is just being started has not ended, though no process of it runs yet."""
    folder = tmp_path / "arm64"
    folder.mkdir()
    assert state.ended(tmp_path) == []
    subprocess.run(state.recorded(folder, ["true"]), check=True)
    written = (folder / state.PROCESS).read_text().splitlines(keepends=True)
    (folder / state.PROCESS).write_text("".join(written[:lines]))
    assert state.ended(tmp_path) == [folder] * ended


def test_a_board_that_runs_has_not_ended(begin, tmp_path):
    folder = tmp_path / "arm64"
    folder.mkdir()
    begin("exec sleep 600", folder)
    assert state.ended(tmp_path) == []
    assert state.folders(tmp_path) == [folder]
