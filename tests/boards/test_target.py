"""LocalTarget's commands and files; its knobs are tested with the journal that uses them."""

import stat

import pytest

from foreread.boards.target import LocalTarget, TargetError


def test_a_command_gets_its_words_and_stdin():
    done = LocalTarget().run(["sh", "-c", 'cat; printf %s "$0" >&2; exit 3', "a b'\n"], b"in")
    assert (done.status, done.stdout, done.stderr) == (3, b"in", b"a b'\n")


def test_output_goes_to_a_file(tmp_path):
    with (tmp_path / "out").open("wb") as file:
        done = LocalTarget().run(["echo", "text"], stdout=file)
    assert (done.status, done.stdout) == (0, b"")
    assert (tmp_path / "out").read_bytes() == b"text\n"


@pytest.mark.parametrize(
    ("command", "status"),
    [(["/no/such"], 127), (["/etc"], 126), (["sh", "-c", "kill -15 $$"], 143)],
)
def test_statuses_are_a_shells(command, status):
    assert LocalTarget().run(command).status == status


def test_a_time_out_names_the_command():
    with pytest.raises(TargetError, match=r"sleep took longer than 0\.1 s"):
        LocalTarget().run(["sleep", "600"], timeout_s=0.1)


def test_files_are_copied_whole_with_their_mode(tmp_path):
    target = LocalTarget(tmp_path)
    (tmp_path / "from").write_bytes(b"\0data")
    target.push(tmp_path / "from", "/to", mode=0o700)
    target.pull("/to", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b"\0data"
    assert stat.S_IMODE((tmp_path / "to").stat().st_mode) == 0o700
    with pytest.raises(FileNotFoundError):
        target.pull("/absent", tmp_path / "back2")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["back", "from", "to"]


def test_it_does_not_restart_the_machine_it_runs_on():
    with pytest.raises(TargetError) as refused:
        LocalTarget().reboot(1)
    assert refused.value.remedy
