"""Settings that write more, or take memory from others: ``foreread tune`` refuses them."""

import json
import re
import sqlite3

import pytest
from rings import further
from trial_benches import QUEUE, KnownBench

from foreread.analyzer.tuner.findings.results import read_results
from foreread.analyzer.tuner.store.store import Store
from foreread.boards.base.interrupts import Interrupted
from foreread.cli.main import main
from foreread.tracer.trials.trial import Outcome
from foreread.tuning import campaign as tuning

GENES = "scheduler,read_ahead_kb=8:32:128,swappiness=0:60"
WINDOW = f"{QUEUE}/read_ahead_kb"
SWAPPINESS = "/proc/sys/vm/swappiness"
FIXED = ("--sampler", "exhaustive", "--repeats", "2:3")
USUAL, WORN = 2000.0, 60_000.0


class WearingBench(KnownBench):
    """The fastest window writes thirty times as much; swappiness 0 is faster, and stalls others.

    ``quiet_trials``: so many are made before the window begins to write. ``psi``: the kernel counts
    memory pressure.
    """

    def __init__(self, *args, quiet_trials=0, psi=True):
        super().__init__(*args)
        self.quiet_trials, self.psi = quiet_trials, psi

    def run(self, trial):
        seconds = super().run(trial).seconds
        settings, number = dict(trial.settings), len(self.trials)
        worn = settings.get(WINDOW) == "32" and number > self.quiet_trials
        counters = {"disk.written_sectors": (WORN if worn else USUAL) + 10 * (number % 3)}
        stalls = settings.get(SWAPPINESS) == "0"
        if self.psi:
            counters["pressure.memory.some"] = (1.5 if stalls else 0.001) + 1e-4 * (number % 3)
        return Outcome("ok", seconds * (0.7 if stalls else 1.0), cold=True, counters=counters)


@pytest.fixture
def bench(monkeypatch):
    bench = WearingBench()
    monkeypatch.setattr(tuning, "open_bench", bench.open)
    return bench


def words(output, *more, search=FIXED):
    return ["tune", "-o", str(output), "--genes", GENES, *search, *map(str, more), "--", "true"]


def wearing(chromosome):
    return chromosome["read_ahead_kb"] == 32


def stalling(chromosome):
    return chromosome["swappiness"] == 0


SEARCHES = [
    FIXED,
    ("--sampler", "random", "--repeats", "2:3"),
    ("--recipe", "start-up", "--budget", "60"),
    ("--recipe", "genetic-library", "--budget", "90"),
    ("--recipe", "fingerprinting", "--scenario", "idle", "--scenario", "reader", "--budget", "150"),
]


@pytest.mark.parametrize("search", further((each,) for each in SEARCHES), ids=lambda each: each[1])
def test_what_writes_more_or_stalls_others_cannot_win(search, bench, tmp_path, capsys):
    output = tmp_path / "app.tuning"
    assert main(words(output, search=search)) == 0
    assert any(dict(trial.settings)[WINDOW] == "32" for trial in bench.trials)
    for results in read_results(output).contests:
        assert not wearing(results.confirmed.chromosome)
        assert not stalling(results.confirmed.chromosome)
        assert not wearing(results.winner) and not stalling(results.winner)
        for scored in results.generations[-1:]:
            refused = [
                fitness for one, fitness in scored if wearing(one) and one in tried_twice(results)
            ]
            assert not any(refused)


def tried_twice(results):
    good = [one.chromosome for one in results.search if one.attempt.status == "ok"]
    return [one for one in good if good.count(one) > 1]


def test_the_refused_are_counted_with_their_figures(bench, tmp_path, run, text_only):
    output, report = tmp_path / "app.tuning", tmp_path / "report"
    said = run(*words(output)).out
    assert "wear: refused 6 chromosomes, with more than 10 % more sectors written" in said
    figures = re.search(r"has ([\d,]+) in idle, the default has ([\d,]+)\.", said)
    assert figures[1].startswith("60,0") and figures[2].startswith("2,0")
    assert "To allow it: --allow wear" in said
    assert "memory: refused 6 chromosomes" in said and "--allow memory" in said
    wear, memory = json.loads(read_results(output).to_json())["constraints"]
    assert (wear["constraint"], wear["most"], wear["unchecked"]) == ("wear", 0.1, {})
    assert len(wear["refused"]) == 6 and len(memory["refused"]) == 6
    worst = wear["refused"][0]
    assert worst["value"] > 59_000 and worst["default"] < 2100 and worst["effect"] < 0
    assert wear["default"]["idle"] == pytest.approx(wear["tuned"]["idle"], rel=0.02)
    assert main(["report", str(output), "-o", str(report)]) == 0
    page = (report / "index.html").read_text()
    assert "Writes and memory" in page and "refused 6 chromosomes" in page and figures[1] in page


@pytest.mark.parametrize(
    ("allowed", "window", "swappiness"),
    [
        (["--allow", "wear"], 32, 60),
        (["--allow", "memory"], 8, 0),
        (["--allow", "wear", "--allow", "memory"], 32, 0),
        (["--most-written", "4000%"], 32, 60),
        (["--most-stalled", "200000%"], 8, 0),
    ],
)
def test_what_is_allowed_can_win(allowed, window, swappiness, bench, tmp_path, capsys):
    output = tmp_path / "app.tuning"
    assert main(words(output, *allowed)) == 0
    found = read_results(output).confirmed.chromosome
    assert found["swappiness"] == swappiness
    assert wearing(found) == (window == 32)
    said = capsys.readouterr().out
    for name in ("wear", "memory"):
        assert (f"{name}: not checked in idle: --allow {name}" in said) == (name in allowed)


def test_a_kernel_without_pressure_says_so(monkeypatch, tmp_path, run):
    bench = WearingBench(psi=False)
    monkeypatch.setattr(tuning, "open_bench", bench.open)
    output = tmp_path / "app.tuning"
    said = run(*words(output)).out
    assert "memory: not checked in idle: the kernel does not count memory pressure" in said
    found = read_results(output).confirmed.chromosome
    assert stalling(found) and not wearing(found)


@pytest.mark.parametrize(
    "search",
    [FIXED, *(pytest.param(one, marks=pytest.mark.thorough) for one in SEARCHES[2:4])],
    ids=lambda search: search[1],
)
def test_an_interrupted_tuning_refuses_the_same(search, monkeypatch, tmp_path):
    whole, output = tmp_path / "whole.tuning", tmp_path / "app.tuning"
    monkeypatch.setattr(tuning, "open_bench", WearingBench().open)
    assert main(words(whole, search=search)) == 0
    first = WearingBench(40, Interrupted(15))
    monkeypatch.setattr(tuning, "open_bench", first.open)
    assert main(words(output, search=search)) == 1
    second = WearingBench()
    second.trials = first.trials[:39]
    monkeypatch.setattr(tuning, "open_bench", second.open)
    assert main(words(output, "--resume", search=search)) == 0
    held = []
    for path in (whole, output):
        with Store.read(path) as store:
            made = [(one.chromosome, one.attempt.metrics) for one in store.evaluations()]
            held.append((made, store.generations(), store.best, store.ended))
    assert held[0] == held[1]


@pytest.mark.parametrize("more", [["--most-written", "20%"], ["--allow", "wear"]])
def test_a_tuning_is_continued_with_the_same_limits_only(more, bench, tmp_path, run):
    output = tmp_path / "app.tuning"
    run(*words(output, "--budget", "20"))
    said = run(*words(output, "--budget", "30", "--resume", *more), code=2).err
    assert "more sectors written" in said


def test_an_older_tuning_is_continued_without_limits_and_says_so(bench, tmp_path, run, capsys):
    output = tmp_path / "app.tuning"
    assert main(words(output, "--allow", "wear", "--allow", "memory", "--budget", "20")) == 0
    with sqlite3.connect(output) as connection:
        (text,) = connection.execute("SELECT space FROM campaign").fetchone()
        space = json.loads(text)
        del space["limits"]
        connection.execute("UPDATE campaign SET space = ?", (json.dumps(space),))
    connection.close()
    capsys.readouterr()
    said = run(*words(output, "--resume"))
    assert "begun without limits" in said.out and "begun without limits" in said.err
    assert wearing(read_results(output).confirmed.chromosome)


def test_what_the_confirmation_shows_to_wear_is_refused_there(monkeypatch, tmp_path, capsys):
    searched = len(read_search(WearingBench(), monkeypatch, tmp_path / "search.tuning"))
    bench = WearingBench(quiet_trials=searched)
    monkeypatch.setattr(tuning, "open_bench", bench.open)
    output = tmp_path / "app.tuning"
    capsys.readouterr()
    assert main(words(output)) == 0
    results = read_results(output)
    assert not wearing(results.confirmed.chromosome)
    wear, _ = json.loads(results.to_json())["constraints"]
    assert [one["stage"] for one in wear["refused"]] == ["confirmation"] * len(wear["refused"])
    assert wear["refused"] and "wear: refused" in capsys.readouterr().out


def read_search(bench, monkeypatch, output):
    monkeypatch.setattr(tuning, "open_bench", bench.open)
    assert main(words(output)) == 0
    return read_results(output).search


@pytest.mark.parametrize("wrong", ["10", "-1%", "x%", "%", "1e9%"])
def test_a_limit_is_a_percentage(wrong, bench, tmp_path, capsys):
    with pytest.raises(SystemExit) as error:
        main(words(tmp_path / "app.tuning", f"--most-written={wrong}"))
    assert error.value.code == 2 and "%" in capsys.readouterr().err
