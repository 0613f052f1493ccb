"""``foreread confirm`` on several boards: pairs of runs, each board in a process of its own."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from fleet_turns import take_turns
from paired_benches import PairedBench, open_paired_bench
from rings import further
from waiting import wait_until

from foreread.analyzer.confirm.boards import board_gains
from foreread.analyzer.confirm.sequential import assess
from foreread.analyzer.ingest.archive import unpack
from foreread.measuring import confirm as confirm_start
from foreread.measuring import confirm_fleet as fleet_confirming
from foreread.question import Question
from foreread.tracer.formats.capture import read

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples/python-start/python-start.capture.tar.xz"
GAIN = 1 - 1 / 1.1  # of a bench: 32 KiB against 128
UNKNOWN = "noise=30:saves=-10"  # of a bench: no difference, and much noise


@pytest.fixture(autouse=True)
def benches(monkeypatch, tmp_path, example_prediction):
    predicted = Question.predicted

    def once(asked, *of):
        return example_prediction if asked == Question() else predicted(asked, *of)

    monkeypatch.setattr(Question, "predicted", once)
    monkeypatch.setattr(fleet_confirming, "open_bench", open_paired_bench)
    take_turns(monkeypatch)
    monkeypatch.setenv("FLEET_LOG", str(tmp_path / "log"))
    (tmp_path / "log").mkdir()


@pytest.fixture
def folder(tmp_path):
    return unpack(EXAMPLE, tmp_path)


def words(folder, *targets, more=("--force",)):
    named = [word for target in targets for word in ("--target", target)]
    window = ("--read-ahead-kb", "32", "--seed", "1")
    return ["confirm", str(folder), *named, *window, *more]


@pytest.fixture
def confirmed(folder, run_json):
    """Return a function that runs the command, and returns its document."""

    def confirmed(*targets, more=("--force",)):
        return run_json(*words(folder, *targets, more=more))

    return confirmed


def log(tmp_path, name):
    return (tmp_path / "log" / name).read_text().split("\n")[:-1]


def on_one_board(folder, target, monkeypatch, run):
    """Return the document of ``foreread confirm`` on the same bench."""

    @contextmanager
    def bench_on(*_):
        yield PairedBench(target)

    monkeypatch.setattr(confirm_start, "bench_on", bench_on)
    alone = ["confirm", str(folder), "--read-ahead-kb", "32", "--seed", "1", "--force", "--json"]
    return json.loads(run(*alone).out)


@pytest.mark.thorough
def test_two_boards_say_what_one_says(folder, confirmed, monkeypatch, run):
    found = confirmed("a", "b:slower=60")
    alone = on_one_board(folder, "a", monkeypatch, run)
    assert found["outcome"] == alone["outcome"] == "confirmed"
    assert found["low"] <= GAIN <= found["high"]
    assert found["gain"] == pytest.approx(alone["gain"], abs=0.005)
    # A board's speed cancels: the pairs of a board that is 60 % slower widen nothing.
    assert found["high"] - found["low"] < 2 * (alone["high"] - alone["low"])
    a, b = found["by_board"]
    assert b["present_seconds"] == pytest.approx(1.6 * a["present_seconds"], rel=0.01)
    assert a["pairs"] + b["pairs"] == len(found["pairs"]) == len(found["made_on"])
    assert found["boards_differ"] is False


@pytest.mark.thorough
def test_all_boards_run_beside_the_load(folder, confirmed):
    found = confirmed("a", "b", more=("--force", "--scenario", "memory:16"))
    assert found["scenario"] == "memory:16"
    assert found["predicted_gain"] is None
    assert [one.scenario for one in read(folder)[0].confirmations] == ["memory:16"]


@pytest.mark.thorough
def test_the_result_is_stored_cited_and_follows_from_its_pairs(folder, confirmed, run):
    found = confirmed("a", "b")
    (kept,) = read(folder)[0].confirmations
    assert [one.target for one in kept.boards] == ["a", "b"]
    assert assess(kept.pairs, kept.made_on).outcome == kept.outcome == found["outcome"]
    assert kept.runs == sum(one.runs for one in kept.boards) >= 2 * len(kept.pairs) + 2
    said = run("predict", folder, "--model", "fixed").out
    assert "confirmed on a, b (Some Board, Linux 6.1.0)" in said


@pytest.mark.thorough
def test_pairs_are_counted_in_the_order_of_handing_out_and_alternate(confirmed, tmp_path):
    found = confirmed(f"a:{UNKNOWN}", f"b:{UNKNOWN}:takes=3", more=("--force", "--budget", "40"))
    made_on = found["made_on"]
    assert made_on[:3] == [0, 1, 0]  # b ends its pair later than a its second one
    assert len(found["pairs"]) == 20
    assert {*made_on} == {0, 1}
    pairs = 0
    for name in ("a", "b"):
        kib = log(tmp_path, f"{name}.windows")[1:]  # the first run is discarded
        assert all({*pair} == {"32", "128"} for pair in by_two(kib))
        firsts = kib[::2]
        assert all({*block} == {"32", "128"} for block in by_two(firsts))
        pairs += len(by_two(kib))
    assert pairs == 20


def by_two(values):
    """Return the values by two; the last one is left out if it is alone."""
    return list(zip(values[::2], values[1::2], strict=False))


@pytest.mark.thorough
def test_boards_that_gain_differently_are_named(folder, run):
    targets = ("a:noise=0.3:saves=-8", "b:noise=0.3:saves=8")
    more = ("--force", "--budget", "64", "--read-ahead-kb", "64")  # of 16 blocks, both make some
    said = run(*words(folder, *targets, more=more)).out
    assert f"the boards gain differently: {targets[1]} saves more than {targets[0]}" in said
    (kept,) = read(folder)[0].confirmations
    for one in board_gains(kept):  # the difference widens the interval of the mean alone
        assert one.high - one.low < (kept.high - kept.low) / 2


# A board makes its first run for nothing, then two for each pair.
@pytest.mark.parametrize(
    ("word", "pairs"), further([("dies=5", 1), ("dies=3", 0), ("broken=4", 1)])
)
def test_a_lost_board_is_set_aside_and_its_pair_is_made_on_another(word, pairs, folder, run):
    said = run(*words(folder, "a", f"b:{word}"))
    assert f"board b:{word} is set aside, its runs go to the others" in said.err
    assert f"b:{word} was set aside: " in said.out
    (kept,) = read(folder)[0].confirmations
    assert kept.outcome == "confirmed"
    assert len(kept.pairs) >= 4 and kept.made_on.count(1) == pairs
    assert kept.boards[1].runs >= 2 and kept.boards[1].set_aside


@pytest.mark.thorough
def test_when_all_boards_are_gone_it_says_how_to_go_on(folder, confirmed, run):
    dying = (f"a:{UNKNOWN}:dies=11", f"b:{UNKNOWN}:dies=7")
    said = run(*words(folder, *dying), code=1).err.splitlines()[-1]
    assert "no board is left" in said and said.endswith("add --resume")
    (kept,) = read(folder)[0].confirmations
    assert kept.outcome == "undecided" and kept.pairs
    found = confirmed("a", "c", more=("--force", "--resume"))
    assert found["pairs"][: len(kept.pairs)] == [list(one) for one in kept.pairs]
    assert [one["board"] for one in found["by_board"]] == ["a", "c", *dying]
    assert all(one["set_aside"] for one in found["by_board"][2:])
    assert len(read(folder)[0].confirmations) == 1


@pytest.mark.thorough
def test_boards_that_fail_before_a_pair_leave_nothing(folder, run):
    said = run(*words(folder, "a:broken=1", "b:broken=1"), code=1).err.splitlines()[-1]
    assert "its disk fails" in said and "--resume" not in said
    assert read(folder)[0].confirmations == []


@pytest.mark.thorough
def test_undecided_says_how_to_continue_and_goes_on_without_a_board(folder, confirmed, run):
    targets = (f"a:{UNKNOWN}", f"b:{UNKNOWN}")
    said = run(*words(folder, *targets, more=("--force", "--budget", "16"))).out
    assert "undecided after" in said
    (again,) = (line.strip() for line in said.splitlines() if "to continue: " in line)
    assert again.startswith(f"to continue: foreread confirm {folder} --target {targets[0]}")
    assert again.endswith("--force --resume")
    (first,) = read(folder)[0].confirmations
    more = ("--force", "--resume", "--budget", "8")
    found = confirmed(targets[0], "b:absent", more=more)
    assert len(found["pairs"]) == len(first.pairs) + 4
    assert "cannot be reached" in found["by_board"][1]["set_aside"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("targets", "more", "said", "code"),
    further(
        [
            (["a", "b", "a"], ["--force"], "a is given twice", 2),
            (
                [f"b{n}" for n in range(17)],
                ["--force"],
                "17 boards are more than a fleet may have",
                2,
            ),
            (["a", "b:kernel=5.10"], ["--force"], "b:kernel=5.10 is not like a: its kernel", 2),
            (["a", "b:absent"], ["--force"], "b:absent: b cannot be reached", 1),
            (["a", "b"], [], "a: this is not the recorded board", 1),
            (["a", "b"], ["--force", "--resume"], "no undecided result of these boards", 1),
            (
                ["a", "b"],
                ["--scenario", "idle", "--scenario", "reader"],
                "confirm on several boards has one scenario: give --scenario once",
                2,
            ),
        ],
        3,
    ),
)
def test_boards_that_cannot_be_compared_are_one_line(targets, more, said, code, folder, run):
    found = run(*words(folder, *targets, more=more), code=code)
    assert said in found.err.splitlines()[-1] and found.out == ""
    assert read(folder)[0].confirmations == []


@pytest.mark.thorough
def test_a_board_that_takes_its_time_to_put_back_is_not_interrupted(confirmed, tmp_path):
    confirmed("a:saves=10:closes=8", "b:saves=10:closes=8")
    assert [log(tmp_path, name)[-1] for name in ("a", "b")] == ["closed", "closed"]


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_every_board_is_put_back_when_the_command_is_ended(number, folder, tmp_path):
    start = (
        "import sys; from paired_benches import open_paired_bench;"
        "from foreread.measuring import confirm_fleet; from foreread.cli.main import main;"
        "confirm_fleet.open_bench = open_paired_bench; sys.exit(main(sys.argv[1:]))"
    )
    names = ("a", "b")
    targets = [f"{name}:sleeps=0.2:{UNKNOWN}:lingers=0.1" for name in names]
    process = subprocess.Popen(
        [sys.executable, "-c", start, *words(folder, *targets)],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests/support'}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until(
        lambda: all(
            (tmp_path / "log" / n).exists() and log(tmp_path, n).count("set") > 6 for n in names
        )
    )
    wait_until(lambda: read(folder)[0].confirmations)  # a pair has been counted
    # Ctrl-C goes to the processes of the boards, too; the command's SIGTERM finds them cleaning up.
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    out, _ = process.communicate()
    wait_until(lambda: all(log(tmp_path, name)[-1] == "closed" for name in names))
    for name in names:
        assert log(tmp_path, name).count("set") == log(tmp_path, name).count("put back")
    (kept,) = read(folder)[0].confirmations
    assert kept.outcome == "undecided" and kept.pairs
    if number == signal.SIGINT:
        assert process.returncode == 0 and "--resume" in out
    else:
        assert process.returncode != 0
