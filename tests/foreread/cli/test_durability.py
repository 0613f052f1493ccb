"""Less durable settings: ``foreread tune`` tries and applies them only where they are asked for."""

import json
import sqlite3

import pytest
from trial_benches import KNOBS, KnownBench

from foreread.analyzer.tuner.engines.fingerprint import BY_NAME
from foreread.analyzer.tuner.findings.plans import learn, read_plans
from foreread.analyzer.tuner.findings.results import read_results
from foreread.analyzer.tuner.store.store import StoreError
from foreread.boards.base.interrupts import Interrupted
from foreread.cli.main import main
from foreread.tracer.trials.trial import Outcome
from foreread.tuning import campaign as tuning

COMMIT = "mount:commit=:/"
LAZYTIME = "mount:nolazytime,lazytime:/"
EXPIRE = "/proc/sys/vm/dirty_expire_centisecs"
FOUND = {**KNOBS, COMMIT: "5", LAZYTIME: "[nolazytime] lazytime", EXPIRE: "3000"}
FIXED = ["--sampler", "exhaustive", "--repeats", "1:2"]
SENTENCE = "with commit=60 a power cut may lose the last 60 s of writes"


class LosingBench(KnownBench):
    """A start that is a fifth faster with commit=60, and a tenth with lazytime."""

    mounted = "/"

    def probe(self, knobs):
        return {knob: FOUND[knob] for knob in knobs if knob in FOUND}

    def run(self, trial):
        seconds = super().run(trial).seconds
        settings = dict(trial.settings)
        cost = 0.8 if settings.get(COMMIT) == "60" else 1.0
        cost *= 0.9 if settings.get(LAZYTIME) == "lazytime" else 1.0
        return Outcome("ok", seconds * cost, cold=True)


@pytest.fixture
def bench(monkeypatch):
    bench = LosingBench()
    monkeypatch.setattr(tuning, "open_bench", bench.open)
    return bench


def words(output, *more):
    return ["tune", "-o", str(output), *FIXED, *map(str, more), "--", "true"]


@pytest.fixture
def usual(monkeypatch):
    """The genes that are tuned unless others are named: few enough to try all."""
    genes = ["scheduler", "lazytime", "commit", "dirty_expire_centisecs"]
    monkeypatch.setattr(tuning, "usual_names", lambda: genes)


def tried(bench, knob):
    return {dict(trial.settings).get(knob) for trial in bench.trials}


def test_unasked_no_run_is_less_durable_and_the_result_says_so(
    bench, usual, tmp_path, capsys, text_only
):
    output = tmp_path / "app.tuning"
    assert main(words(output)) == 0
    assert tried(bench, COMMIT) == {"1", "5"} and tried(bench, LAZYTIME) == {None}
    assert tried(bench, EXPIRE) == {"250", "500", "1000", "3000"}
    said = capsys.readouterr().out
    assert "not tried, since a power cut would lose more: lazytime, " in said
    assert "commit above 5" in said and "--allow durability" in said
    assert "durability: " not in said
    assert main(["report", str(output), "-o", str(tmp_path / "report")]) == 0
    page = (tmp_path / "report" / "index.html").read_text()
    assert "commit was tuned only up to 5" in page and "lazytime was not tuned" in page


def test_with_allow_durability_every_output_says_what_is_lost(
    bench, usual, tmp_path, run, run_json, capsys, text_only
):
    output, boot = tmp_path / "app.tuning", tmp_path / "boot"
    said = run(*words(output, "--allow", "durability"))
    assert f"durability: {SENTENCE}" in said.out and "with lazytime a power cut" in said.out
    assert f"the runs may lose data: {SENTENCE}" in said.err
    assert "not tried" not in said.out
    results = read_results(output)
    assert results.confirmed.chromosome["commit"] == 60
    document = json.loads(results.to_json())
    assert SENTENCE in document["losses"] and document["limited"] == {}
    assert main(["report", str(output), "-o", str(tmp_path / "report")]) == 0
    assert "With commit=60 a power cut" in (tmp_path / "report" / "index.html").read_text()
    capsys.readouterr()
    refused = run("script", output, "-o", boot, code=1).err
    assert "a power cut may lose" in refused and "--allow durability" in refused
    assert not boot.exists()
    script = ["script", str(output), "-o", str(boot), "--allow", "durability"]
    assert SENTENCE in run_json(*script)["losses"]
    text = (boot / "foreread-apply").read_text()
    assert f"# Durability: {SENTENCE}." in text and f"; {SENTENCE}'" in text
    assert f"- {SENTENCE}" in (boot / "INSTALL.md").read_text()


def test_a_gene_that_is_named_is_tuned_with_all_its_values(bench, tmp_path, capsys):
    assert main(words(tmp_path / "app.tuning", "--genes", "commit=5:60,scheduler")) == 0
    assert tried(bench, COMMIT) == {"5", "60"}
    assert f"durability: {SENTENCE}" in capsys.readouterr().out


def test_a_result_that_loses_nothing_says_nothing(bench, usual, tmp_path, run):
    output = tmp_path / "app.tuning"
    assert main(words(output)) == 0
    said = run("script", output, "-o", tmp_path / "boot", "--json").out
    assert json.loads(said.splitlines()[-1])["losses"] == []
    assert "Durability" not in (tmp_path / "boot" / "foreread-apply").read_text()
    assert "What a power cut may lose" not in (tmp_path / "boot" / "INSTALL.md").read_text()


@pytest.mark.thorough
def test_a_tuning_with_less_durable_values_is_not_continued_unasked(
    usual, monkeypatch, tmp_path, run, capsys
):
    output = tmp_path / "app.tuning"
    monkeypatch.setattr(tuning, "open_bench", LosingBench(9, Interrupted(15)).open)
    assert main(words(output, "--allow", "durability")) == 1
    bench = LosingBench()
    monkeypatch.setattr(tuning, "open_bench", bench.open)
    capsys.readouterr()
    said = run(*words(output, "--resume"), code=2).err
    assert "tries values that lose data" in said and "--allow durability" in said
    assert not bench.trials
    assert main(words(output, "--resume", "--allow", "durability")) == 0


def forged(path, **renamed):
    """Give genes other names, defaults and knobs, as an old or hostile file may have them."""
    with sqlite3.connect(path) as connection:
        (space,) = connection.execute("SELECT space FROM campaign").fetchone()
        for before, after in renamed.values():
            assert before in space
            space = space.replace(before, after)
        connection.execute("UPDATE campaign SET space = ?", (space,))
    connection.close()


def test_a_forged_default_does_not_make_a_value_durable(bench, usual, tmp_path, run, capsys):
    output = tmp_path / "app.tuning"
    assert main(words(output, "--genes", "commit=5:60")) == 0
    forged(output, default=('"default":5,"choices":[5,60]', '"default":100,"choices":[5,60,100]'))
    with sqlite3.connect(output) as connection:  # the default chromosome is another one, too
        connection.execute(
            "UPDATE chromosomes SET genes = '{\"commit\":100}' WHERE genes = '{\"commit\":5}'"
        )
    connection.close()
    assert read_results(output).confirmed.gains[0].default == 100
    capsys.readouterr()
    said = run("script", output, "-o", tmp_path / "boot", code=1).err
    assert SENTENCE in said and not (tmp_path / "boot").exists()


def test_settings_by_workload_are_not_less_durable_unasked(bench, usual, tmp_path, run, capsys):
    output, script = tmp_path / "app.tuning", tmp_path / "watch"
    assert main(words(output, "--genes", "commit=5:60")) == 0
    learn(output, BY_NAME["read-random-small"])
    with pytest.raises(StoreError, match="commit=60") as error:
        read_plans(output)
    assert "--allow durability" in error.value.remedy
    watch = ["fingerprint", "--apply", str(output), "-o", str(script), "--json"]
    capsys.readouterr()
    assert SENTENCE in run(*watch, code=1).err and not script.exists()
    said = run(*watch, "--allow", "durability")
    assert json.loads(said.out)["losses"] == [SENTENCE] and SENTENCE in said.err
    assert f"# Durability: {SENTENCE}." in script.read_text()


@pytest.mark.parametrize(
    "wrong",
    [
        ["script", "CAPTURE", "-o", "DIR", "--allow", "durability"],
        ["script", "--uninstall", "--allow", "durability"],
        ["fingerprint", "--allow", "durability"],
    ],
)
def test_allow_needs_what_it_is_about(wrong, run):
    assert "--allow" in run(*wrong, code=2).err or "--uninstall" in wrong
