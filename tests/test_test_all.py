"""make test-all runs what has not passed yet on the commit, and its table shows every part."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("test_all", ROOT / ".ci/test_all.py")
assert spec is not None and spec.loader is not None
test_all = importlib.util.module_from_spec(spec)
sys.modules["test_all"] = test_all  # where its dataclass looks for itself
spec.loader.exec_module(test_all)

COMMANDS = {
    "unit": ("sh", "-c", "echo run >>runs; echo '7 passed, 3 skipped, 2 warnings in 1.24s'"),
    "boards-a": (
        "sh",
        "-c",
        "echo '== 1 failed, 2 passed, 3 errors in 61.50s (0:01:01) =='; exit 1",
    ),
    "boards-b": ("sh", "-c", "echo run >>runs"),
    "kernel": ("sh", "-c", "echo '5 skipped in 0.10s'"),
}


def git(tree, *words):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *words], cwd=tree, check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("out/\nruns\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    return tmp_path


@pytest.fixture
def run(tree, capsys):
    """Runs the parts that are named; returns the exit status and the table's lines in words."""

    def table(*words, commands=COMMANDS):
        runner = test_all.Runner(tree, tree / "out", commands)
        status = test_all.run(runner, list(words))
        lines = [line.split()[:-2] for line in capsys.readouterr().out.splitlines()]
        return status, [line for line in lines if line and line[0] not in ("part", "==")]

    return table


def runs(tree):
    return (tree / "runs").read_text().count("run")


UNIT = ["unit", "passed", "7", "0", "3"]
FAILED = ["boards-a", "failed", "2", "4", "0"]
PASSED = ["boards-b", "passed", "-", "-", "-"]
SKIPPED = ["kernel", "not", "run", "0", "0", "5"]


@pytest.mark.parametrize(("other", "processors"), [("kernel", 1), ("boards-a", 2)])
def test_parts_run_side_by_side(run, tree, monkeypatch, other, processors):
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    os.mkfifo(tree / "out.fifo")
    commands = {"unit": ("cat", "out.fifo"), other: ("sh", "-c", "echo >out.fifo")}
    status, lines = run(commands=commands)
    assert (status, [line[:2] for line in lines]) == (0, [["unit", "passed"], [other, "passed"]])


def test_a_fresh_machine_runs_alone(run, tree):
    commands = {
        "fresh-a": ("sh", "-c", "[ -e done ]"),
        "unit": ("sh", "-c", "sleep 0.3; touch done"),
    }
    (tree / ".gitignore").write_text("out/\ndone\n")
    assert run(commands=commands)[0] == 0


def test_a_failed_part_stops_no_other_and_fails_the_whole(run):
    assert run() == (1, [UNIT, FAILED, PASSED, SKIPPED])


def test_a_part_that_passed_runs_again_on_another_commit_only(run, tree):
    assert run("unit") == run("unit") == (0, [UNIT])
    assert runs(tree) == 1
    git(tree, "commit", "-qm", "two", "--allow-empty")
    assert run("unit") == (0, [UNIT])
    assert runs(tree) == 2


def test_a_result_of_a_changed_tree_is_not_kept(run, tree):
    (tree / "change").write_text("")
    assert run("unit") == run("unit") == (0, [UNIT])
    assert runs(tree) == 2


def test_a_part_that_failed_runs_again(run):
    assert run("boards-a") == (1, [FAILED])
    mended = {**COMMANDS, "boards-a": COMMANDS["boards-b"]}
    assert run("boards-a", commands=mended) == (0, [["boards-a", "passed", "-", "-", "-"]])


def test_a_word_names_a_part_or_all_that_begin_with_it(run):
    assert run("boards", "kernel") == (1, [FAILED, PASSED, SKIPPED])
    assert run("board")[0] == 2


def test_ended_by_a_signal_it_shows_what_did_not_run_and_continues_later(run, tree, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    ends = ("sh", "-c", "kill -s INT $PPID; sleep 60")
    unknown = ["not", "run", "-", "-", "-"]
    status, lines = run("unit", "boards", commands={**COMMANDS, "boards-a": ends})
    assert (status, lines[1:]) == (
        1,
        [UNIT, *([name, *unknown] for name in ("boards-a", "boards-b"))],
    )
    assert run("unit", "boards-b") == (0, [UNIT, PASSED])
    assert runs(tree) == 2
