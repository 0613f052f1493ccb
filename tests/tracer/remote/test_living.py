"""A target's shell finds the processes of a command, also one that executes a program just then."""

from __future__ import annotations

import pytest
from scratch_roots import below
from shells import BUSYBOX, DASH, each_shell, function, printed

TOKEN = "0123456789abcdef"
MARK = f"FOREREAD_JOB={TOKEN}\0"
OWNER_START, YOUNGER, OLDER = 500, 600, 400  # clock ticks


@pytest.fixture
def processes(tmp_path):
    """Return a function that adds a process with an environment to a scratch /proc."""

    def add(pid, environment, started):
        folder = tmp_path / f"proc/{pid}"
        folder.mkdir(parents=True)
        fields = ["S", "1", pid, pid, *["0"] * 15, started]
        (folder / "stat").write_text(f"{pid} (a) {' '.join(map(str, fields))}\n")
        (folder / "exe").touch()
        (folder / "environ").write_text(environment)

    return add


def living(shell, root):
    """Return the processes that are found, and how often the shell paused; 7 has its mark then."""
    job = root / f"foreread-{TOKEN}"
    job.mkdir()
    (job / "owner").write_text(f"1 {OWNER_START}\n")
    (job / "command").write_text("6\n")
    names = [("lib.sh", "start_of"), *(("held.sh", n) for n in ("has_mark", "look_for_living"))]
    text = "".join(function(*name) for name in [*names, ("held.sh", "living")])
    nap = f'nap() {{ naps=$((naps + 1)); printf "{MARK[:-1]}" >"{root}/proc/7/environ"; }}\n'
    call = f'set -u\nnaps=0\nliving "{job}" restored\necho "$naps:$pids"'
    naps, _, pids = printed(shell, below(root, f"{text}{nap}{call}")).partition(":")
    return pids.split(), int(naps)


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
def test_a_process_that_executes_a_program_is_looked_at_again(shell, processes, tmp_path):
    processes(5, MARK, YOUNGER)
    processes(7, "", YOUNGER)
    assert living(shell, tmp_path) == (["5", "7"], 1)


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
def test_a_process_without_an_environment_is_not_waited_for_if_it_is_older(
    shell, processes, tmp_path
):
    processes(7, "", OLDER)
    assert living(shell, tmp_path) == ([], 0)


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
def test_the_note_of_an_owner_is_whole_whenever_it_is_read(shell, tmp_path):
    """Empty, it would name a dead owner, and another foreread would undo the job."""
    owner = tmp_path / "owner"
    owner.write_text("1 500\n")
    with owner.open() as before:
        printed(shell, f'{function("lib.sh", "note_owner")}job={tmp_path}\nnote_owner "2 600"\n')
        assert before.read() == "1 500\n"
    assert owner.read_text() == "2 600\n"
