"""``foreread tune`` on several boards: one campaign, each board in a process of its own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fleet_benches import open_fleet_bench
from fleet_turns import take_turns
from rings import further
from waiting import wait_until

from foreread.analyzer.tuner.findings.results import read_results
from foreread.benches.boards import check_targets
from foreread.cli.main import main
from foreread.error import ArgumentError
from foreread.tuning import fleet as fleet_tuning

ROOT = Path(__file__).parents[3]
GENES = "scheduler,read_ahead_kb=8:32:128,swappiness=0:60"
MORE = ["--budget", "40", "--verbose"]


@pytest.fixture(autouse=True)
def benches(monkeypatch, tmp_path):
    monkeypatch.setattr(fleet_tuning, "open_bench", open_fleet_bench)
    take_turns(monkeypatch)
    monkeypatch.setenv("FLEET_LOG", str(tmp_path / "log"))
    (tmp_path / "log").mkdir()


def words(output, *targets, more=("--budget", "40")):
    named = [word for target in targets for word in ("--target", target)]
    return ["tune", "-o", str(output), *named, "--genes", GENES, *more, "--", "true"]


def log(tmp_path, name):
    return (tmp_path / "log" / name).read_text().split("\n")[:-1]


@pytest.mark.thorough
def test_two_boards_find_what_one_finds_and_their_difference_is_estimated(tmp_path, run):
    said = run(*words(tmp_path / "one.tuning", "a", "b:slower=30", more=MORE))
    assert "time relative to all boards" in said.out and "set 2 genes: time" in said.out
    results = read_results(tmp_path / "one.tuning")
    assert {g.gene for g in results.confirmed.gains} == {"scheduler", "read_ahead_kb"}
    assert results.confirmed.chromosome["scheduler"] == "bfq"
    fast, slow = results.boards
    assert slow.effect - fast.effect == pytest.approx(0.262, abs=0.01)  # log 1.3
    assert results.confirming.noise() < 0.01  # the differences of boards are taken off
    by_board = [sum(one.board == place for one in results.search) for place in (0, 1)]
    assert len(results.search) + len(results.confirmation) <= 40 and min(by_board) >= 8


@pytest.mark.thorough
def test_the_document_has_the_boards(tmp_path, run):
    boards = json.loads(
        run(
            *words(tmp_path / "one.tuning", "a", "b:slower=30", more=["--budget", "20", "--json"])
        ).out
    )["boards"]
    assert [one["board"] for one in boards] == ["a", "b:slower=30"]
    assert boards[1]["effect"] > 0.1 and boards[1]["low"] <= boards[1]["effect"]
    assert boards[0]["lost"] == 0 and boards[0]["runs"] > 5


@pytest.mark.parametrize("word", further(["dies=6", "broken=9"]))
def test_a_board_that_dies_is_set_aside_and_its_runs_go_to_the_other(word, tmp_path, run):
    more = ["--budget", "80"]  # so many that three runs of the default fail on it in the search
    said = run(*words(tmp_path / "one.tuning", "a", f"b:{word}", more=more))
    assert f"board b:{word} is set aside, its runs go to the others" in said.err
    results = read_results(tmp_path / "one.tuning")
    assert results.confirmed.chromosome["scheduler"] == "bfq"
    assert len(results.lost) == (1 if "dies" in word else 0)
    assert all(one.board == 0 for one in results.confirmation)


@pytest.mark.thorough
def test_a_board_that_comes_back_goes_on(tmp_path, run):
    assert "is set aside" not in run(*words(tmp_path / "one.tuning", "a", "b:naps=6")).err
    results = read_results(tmp_path / "one.tuning")
    assert len(results.lost) == 1 and results.lost[0].board == 1
    after = [one for one in results.search if one.number > results.lost[0].number]
    assert {one.board for one in after} == {0, 1}


@pytest.mark.thorough
def test_when_all_boards_are_gone_it_says_so_and_can_go_on(tmp_path, run):
    output = tmp_path / "one.tuning"
    said = run(*words(output, "a:dies=7", "b:dies=6"), code=1).err
    assert "no board is left" in said and "--resume" in said.splitlines()[-1]
    before = read_results(output).search
    assert len(before) >= 9


@pytest.mark.thorough
def test_an_interrupted_campaign_goes_on_and_repeats_nothing(tmp_path):
    output = tmp_path / "one.tuning"
    assert main(words(output, "a", "b", more=["--budget", "20"])) == 0
    first = [(one.number, one.chromosome, one.attempt) for one in read_results(output).search]
    assert main(words(output, "a", "b", more=["--budget", "32", "--resume"])) == 0
    again = [(one.number, one.chromosome, one.attempt) for one in read_results(output).search]
    assert len(again) > len(first) and again[: len(first)] == first


@pytest.mark.thorough
def test_it_goes_on_without_a_board_that_is_gone(tmp_path, run, monkeypatch):
    output = tmp_path / "one.tuning"
    assert main(words(output, "a", "b", more=["--budget", "20"])) == 0
    before = len(read_results(output).search)
    monkeypatch.setenv("FLEET_ABSENT", "b")
    said = run(*words(output, "a", "b", more=["--budget", "30", "--resume"])).err
    assert "board b is left out" in said
    assert len(read_results(output).search) > before


@pytest.mark.parametrize(
    ("targets", "said", "code"),
    [
        (["a", "b", "a"], "a is given twice", 2),
        ([f"b{n}" for n in range(17)], "more than a fleet may have", 2),
        (["a", "b:kernel=5.10"], "b:kernel=5.10 is not like a: its kernel is 5.10", 2),
        (["a", "b:absent"], "b:absent: b cannot be reached", 1),
    ],
)
def test_boards_that_cannot_be_a_fleet_are_one_line(targets, said, code, tmp_path, run):
    found = run(*words(tmp_path / "one.tuning", *targets), code=code)
    assert said in found.err.splitlines()[-1] and found.out == ""
    assert not (tmp_path / "one.tuning").exists()
    for name in (tmp_path / "log").iterdir():
        assert log(tmp_path, name.name)[-1] == "closed"


def test_the_library_refuses_a_fleet_of_one_board():
    with pytest.raises(ArgumentError, match="at least two boards"):
        check_targets(["a"], "foreread tune")


@pytest.mark.thorough
def test_the_store_of_a_fleet_is_not_resumed_by_tune(tmp_path, capsys):
    output = tmp_path / "one.tuning"
    assert main(words(output, "a", "b", more=["--budget", "20"])) == 0
    alone = ["tune", "-o", str(output), "--target", "a", "--genes", GENES, "--resume", "--", "true"]
    assert main(alone) != 0
    assert "the target" in capsys.readouterr().err


@pytest.mark.thorough  # make test has that of confirm
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_every_board_is_put_back_when_the_command_is_ended(number, tmp_path):
    output = tmp_path / "one.tuning"
    start = (
        "import sys; from fleet_benches import open_fleet_bench; from foreread.tuning import fleet;"
        "from foreread.cli.main import main; fleet.open_bench = open_fleet_bench;"
        "sys.exit(main(sys.argv[1:]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", start, *words(output, "a:sleeps=0.5", "b:sleeps=0.5")],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests/support'}"},
        stderr=subprocess.PIPE,
        text=True,
    )
    names = ("a", "b")
    wait_until(
        lambda: all(
            (tmp_path / "log" / n).exists() and log(tmp_path, n).count("set") > 2 for n in names
        )
    )
    process.send_signal(number)
    _, said = process.communicate()
    wait_until(lambda: all(log(tmp_path, name)[-1] == "closed" for name in names))
    for name in names:
        assert log(tmp_path, name).count("set") == log(tmp_path, name).count("put back")
    assert process.returncode != 0
    if number != signal.SIGKILL:
        assert "add --resume" in said
    assert len(read_results(output).search) >= 4
