"""Patterns of a machine at work: which are noted, when they are learnt, what is kept of them."""

import shutil
import sqlite3
import subprocess
from functools import partial

import pytest
from trial_benches import QUEUE, KnownBench

from foreread.analyzer.tuner.campaign.attempts import CampaignError, DisturbedError
from foreread.analyzer.tuner.engines.patterns import Pattern
from foreread.analyzer.tuner.findings.plans import (
    INERT,
    for_watcher,
    keep_pattern,
    note_pattern,
    patterns_in,
    read_plans,
)
from foreread.analyzer.tuner.store.records import TopGenes
from foreread.analyzer.tuner.store.store import Store, StoreError
from foreread.cli.commands import fingerprint
from foreread.cli.main import main
from foreread.error import ArgumentError
from foreread.tracer.remote.job import Fact
from foreread.tracer.remote.watch import Period
from foreread.tracer.trials.trial import Outcome
from foreread.tuning import campaign as tuning
from foreread.tuning import learning
from foreread.tuning.learning import Learning, Observer, founders, seconds_left, simulation

READS = Pattern(1, 100, 100, 4)
WRITES = Pattern(1, 50, 100, 4)
EXPIRE = "/proc/sys/vm/dirty_expire_centisecs"
GENES = "scheduler,read_ahead_kb=8:32:128"


@pytest.fixture(scope="module")
def tuned_file(tmp_path_factory):
    """Return a TUNING without learnt patterns, of the known bench."""
    output = tmp_path_factory.mktemp("learning") / "app.tuning"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "open_bench", KnownBench().open)
        tune(output, GENES)
    return output


def tune(output, genes):
    words = ["tune", "-o", str(output), "--genes", genes, "--budget", "20", "--", "true"]
    assert main(words) == 0


@pytest.fixture
def file(tuned_file, tmp_path):
    return shutil.copy(tuned_file, tmp_path / "app.tuning")


def period(pattern, idle=False):
    bios = 1000
    reads = bios * pattern.read_share // 100
    jumps = bios * pattern.random_share // 100
    sums = {"reads": reads, "writes": bios - reads, "sectors": bios * 2 * pattern.request_kib}
    own = {"processes": pattern.processes, "own_followers": bios, "own_jumps": jumps}
    return Period("" if idle else pattern.class_name, sums, own)


def test_a_pattern_that_stays_is_noted_once(file):
    observer = Observer(file, 3, [])
    assert [observer.passed(period(READS)) for _ in range(5)] == [None, None, READS, None, None]
    assert patterns_in(file)[READS].fitness == INERT
    assert [observer.passed(period(WRITES)) for _ in range(2)] == [None, None]
    assert [observer.passed(period(READS)) for _ in range(3)] == [None] * 3
    assert list(patterns_in(file)) == [READS]


def test_a_pattern_near_a_known_one_is_not_new(file):
    known = Pattern(1, 100, 97, 100)
    assert note_pattern(file, known) and not note_pattern(file, READS)
    observer = Observer(file, 1, list(patterns_in(file)))
    assert observer.passed(period(READS)) is None and list(patterns_in(file)) == [known]


def test_what_a_workload_is_under_settings_tells_nothing_new(file):
    observer = Observer(file, 1, [])
    observer.acted("applied")
    assert observer.passed(period(READS)) is None
    observer.acted("knob")
    assert observer.passed(period(READS)) is None
    observer.acted("defaults")
    assert observer.passed(period(READS)) == READS


def test_a_machine_is_idle_after_some_periods_without_a_workload(file):
    observer = Observer(file, 2, [READS])
    assert not observer.idle
    observer.passed(period(READS, idle=True))
    assert not observer.idle
    observer.passed(period(READS, idle=True))
    assert observer.idle
    observer.passed(period(READS))
    assert not observer.idle


@pytest.mark.parametrize(
    ("allowed", "minute", "left"),
    [
        ([], 0, 0),
        ([(120, 300)], 119, 0),
        ([(120, 300)], 120, 180 * 60),
        ([(120, 300)], 299.5, 30),
        ([(120, 300)], 300, 0),
        ([(1380, 60)], 1380, 120 * 60),
        ([(1380, 60)], 30, 30 * 60),
        ([(1380, 60)], 60, 0),
        ([(0, 10), (5, 20)], 6, 14 * 60),
    ],
)
def test_the_allowed_time_may_go_beyond_midnight(allowed, minute, left):
    assert seconds_left(allowed, minute) == left


def learner(file, bench, **more):
    opened = partial(bench.open)
    learning = Learning(file, "local", **more)
    return partial(learning.learn, seconds=3600, opening=opened)


def test_learning_makes_trials_of_a_simulation_and_keeps_what_they_confirm(file):
    bench = KnownBench()
    note_pattern(file, READS)
    learnt = learner(file, bench)(READS)
    assert learnt.chromosome["scheduler"] == "bfq" and learnt.chromosome["read_ahead_kb"] == 32
    assert learnt.fitness == pytest.approx(1 / (0.75 * 1 / 1.1), rel=0.02)
    assert patterns_in(file) == {READS: learnt}
    plans, patterns = for_watcher(read_plans(file))
    assert patterns == {"read-random-small_1": READS}
    assert (f"{QUEUE}/scheduler", "bfq") in plans["read-random-small_1"]
    with Store.read(file) as store:
        assert store.spec.command == ("true",)  # the campaign's own runs are as they were


def test_nothing_to_gain_is_learnt_too(file):
    class Flat(KnownBench):
        def run(self, trial):
            super().run(trial)
            return Outcome("ok", 1.0 + 0.001 * (len(self.trials) % 7), cold=True)

    note_pattern(file, READS)
    learnt = learner(file, Flat())(READS)
    assert learnt.fitness == 1.0
    assert for_watcher(read_plans(file))[0] == {"read-random-small_1": []}


def test_the_allowed_time_ends_a_search_which_is_not_kept(file):
    clock = iter(range(0, 10**6, 100))
    note_pattern(file, READS)
    with pytest.raises(CampaignError, match="time is over"):
        learner(file, KnownBench(), clock=lambda: next(clock))(READS)
    assert patterns_in(file)[READS].fitness == INERT


def test_another_board_does_not_learn(file, monkeypatch):
    bench = KnownBench()
    bench.kernel = "6.1.1"
    note_pattern(file, READS)
    with pytest.raises(StoreError, match="was measured on"):
        learner(file, bench)(READS)
    assert not bench.trials


def test_workloads_that_write_wait_for_a_folder(file):
    for pattern in (READS, WRITES):
        note_pattern(file, pattern)
    assert Learning(file, "local").refresh() == [READS, WRITES]
    for folder, due in ((None, [READS]), ("/data", [READS, WRITES])):
        learning = Learning(file, "local", folder=folder)
        learning.refresh()
        assert learning.due == due
    assert simulation(WRITES, "sda", "/data")[-1] == "/data"
    assert simulation(READS, "sda", "/data")[4:] == ["1", "100", "100", "4", "sda", "8"]


def test_a_machine_in_use_is_left_alone_for_a_while(file, monkeypatch):
    now = [0.0]
    note_pattern(file, READS)
    learning = Learning(file, "local", clock=lambda: now[0])
    learning.refresh()
    monkeypatch.setattr(learning, "learn", lambda *_: raising(DisturbedError("busy", "wait")))
    with pytest.raises(DisturbedError):
        learning.try_next(READS, 60)
    learning.refresh()
    assert learning.next() is None
    now[0] = 600.0
    assert learning.next() == READS
    monkeypatch.setattr(learning, "learn", lambda *_: raising(CampaignError("broken", "mend")))
    with pytest.raises(CampaignError):
        learning.try_next(READS, 60)
    learning.refresh()
    assert learning.next() is None
    learning.allow_again()
    assert learning.next() == READS


def raising(error):
    raise error


def test_a_search_begins_with_what_similar_patterns_have():
    known = {
        READS: TopGenes({"g": 1}, 1.5),
        Pattern(8, 0, 0, 4): TopGenes({"g": 2}, 1.5),
        Pattern(1, 100, 100, 8): TopGenes({"g": 3}, INERT),
    }
    assert founders(known, Pattern(1, 100, 100, 16)) == [{"g": 1}, {"g": 2}]


def test_values_that_lose_data_are_tried_on_request_only(tmp_path, monkeypatch):
    class Writing(KnownBench):
        def probe(self, knobs):
            return {knob: "3000" for knob in knobs if knob == EXPIRE}

    bench, file = Writing(), tmp_path / "app.tuning"
    monkeypatch.setattr(tuning, "open_bench", bench.open)
    tune(file, "dirty_expire_centisecs=3000:6000")
    note_pattern(file, READS)
    bench.trials.clear()
    with pytest.raises(ArgumentError, match="lose data"):
        learner(file, bench)(READS)
    assert not bench.trials
    learner(file, bench, risked=True)(READS)
    assert bench.trials


@pytest.mark.parametrize("name", ["pattern 9 1 1 1", "pattern 1 1 1 1; reboot", "pattern"])
def test_a_forged_pattern_is_refused(name, file):
    keep_pattern(file, READS, TopGenes({"read_ahead_kb": 32, "scheduler": "bfq"}, 2.0))
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE fingerprints SET name = ?", (name,))
    connection.close()
    with pytest.raises(StoreError, match="has no fingerprint"):
        read_plans(file)


def test_settings_of_other_genes_are_refused(file):
    keep_pattern(file, READS, TopGenes({"read_ahead_kb": 32}, 2.0))
    with pytest.raises(StoreError, match="is damaged"):
        read_plans(file)


class SaidWatch:
    """A watch that has these facts, again in each of its lives, until Ctrl-C."""

    def __init__(self, lives):
        self._lives = lives
        self.stopped = 0

    def __enter__(self):
        if not self._lives:
            raise KeyboardInterrupt
        self._facts = self._lives.pop(0)
        return self

    def __exit__(self, *_):
        pass

    def news(self):
        if not self._facts:
            raise KeyboardInterrupt
        return [self._facts.pop(0)]

    def stop(self):
        self.stopped += 1
        return []


def test_the_command_notes_learns_and_watches_on(file, monkeypatch, capsys):
    work = Fact("period", "read-random-small 100 0 800 99 999 99 1 99 99")
    idle = Fact("period", "- 0 0 0 0 0 0 0 0 0")
    watch = SaidWatch([[work, work, idle, idle], [work]])
    bench, options = KnownBench(), []
    monkeypatch.setattr(fingerprint, "watching", lambda _, option: options.append(option) or watch)
    monkeypatch.setattr(fingerprint, "restore_settings", lambda _: [])
    monkeypatch.setattr(fingerprint, "minute_of_day", lambda: 150.0)
    monkeypatch.setattr(learning, "open_bench", bench.open)
    words = ["fingerprint", "--watch", "--apply", str(file), "--patience", "2"]
    assert main([*words, "--learn-at", "02:00-05:00"]) == 0
    out = capsys.readouterr().out
    assert "1 process, 100 % random" in out
    assert "new: pattern 1 100 100 4, noted to be learnt" in out
    assert "learnt pattern 1 100 100 4: -" in out and "scheduler bfq" in out
    assert watch.stopped == 2 and bench.trials
    before, after = options
    assert not before.patterns and before.by_process
    assert after.patterns == {"read-random-small_1": (1, 100, 100, 4)}
    assert (f"{QUEUE}/scheduler", "bfq") in after.plans["read-random-small_1"]


@pytest.mark.parametrize("minute", [100.0, 299.5, 301.0])
def test_nothing_is_learnt_outside_of_the_allowed_time(minute, file, monkeypatch, capsys):
    note_pattern(file, READS)
    idle = Fact("period", "- 0 0 0 0 0 0 0 0 0")
    bench = KnownBench()
    monkeypatch.setattr(fingerprint, "watching", lambda *_: SaidWatch([[idle] * 9]))
    monkeypatch.setattr(fingerprint, "restore_settings", lambda _: [])
    monkeypatch.setattr(fingerprint, "minute_of_day", lambda: minute)
    monkeypatch.setattr(learning, "open_bench", bench.open)
    words = ["fingerprint", "--watch", "--apply", str(file), "--learn-at", "02:00-05:00"]
    assert main(words) == 0
    assert "learning" not in capsys.readouterr().out and not bench.opened


@pytest.mark.parametrize("name", ["bash", "dash"])
def test_a_simulation_is_a_posix_script(name):
    text = simulation(READS, "sda", None)[2]
    assert subprocess.run([name, "-n"], input=text.encode(), check=False).returncode == 0
