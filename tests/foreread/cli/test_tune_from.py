"""``foreread tune --from``: a search that begins from an earlier campaign's TUNING."""

import json
import sqlite3

import pytest
from trial_benches import QUEUE, KnownBench

from foreread.analyzer.tuner.findings.results import read_results
from foreread.analyzer.tuner.store.store import Store
from foreread.cli.main import main
from foreread.tuning import campaign as tuning

GENES = "scheduler,read_ahead_kb=8:32:128,swappiness=0:60"
BEST = {f"{QUEUE}/scheduler": "bfq", f"{QUEUE}/read_ahead_kb": "32"}


@pytest.fixture
def bench(monkeypatch):
    bench = KnownBench()
    monkeypatch.setattr(tuning, "open_bench", bench.open)
    return bench


@pytest.fixture
def old(bench, tmp_path, run):
    """Return the TUNING of an earlier campaign, of 30 runs."""
    run(*words(tmp_path / "old.tuning", "--budget", 30))
    bench.trials.clear()
    return tmp_path / "old.tuning"


def words(output, *more, genes=GENES, command="true"):
    return ["tune", "-o", str(output), "--genes", genes, *map(str, more), "--", command]


def refused(run, given, code=1):
    said = run(*given, code=code)
    assert said.out == "" and " -- " in said.err.splitlines()[-1]
    return said.err


def test_the_best_of_the_earlier_campaign_is_the_first_after_the_default(
    bench, old, tmp_path, capsys
):
    assert main(words(tmp_path / "new.tuning", "--from", old, "--budget", 20, "--json")) == 0
    settings = [dict(trial.settings) for trial in bench.trials]
    assert BEST.items() <= settings[3].items()  # after three runs of the default
    said = capsys.readouterr()
    runs = len(read_results(old).search)
    assert f"begins from {runs} runs of {tuning.TuneOptions.target}" in said.err
    document = json.loads(said.out)
    assert document["earlier"]["runs"] == runs
    assert document["earlier"]["chromosomes"] > 10
    assert document["chromosome"]["scheduler"] == "bfq"


def test_a_resumed_search_needs_the_earlier_file_no_more(bench, old, tmp_path):
    output = tmp_path / "new.tuning"
    assert main(words(output, "--from", old, "--budget", 20)) == 0
    before = [one.chromosome for one in read_results(output).search]
    old.unlink()
    assert main(words(output, "--from", old, "--budget", 30, "--resume")) == 0
    runs = [one.chromosome for one in read_results(output).search]
    assert len(runs) > len(before) and runs[: len(before)] == before


def test_another_command_is_said_and_used(old, tmp_path, run):
    given = words(tmp_path / "new.tuning", "--from", old, "--budget", 20, command="false")
    assert "another command (true)" in run(*given).err


def test_a_campaign_of_other_genes_is_refused(bench, old, tmp_path, run, capsys):
    output = tmp_path / "new.tuning"
    only = words(tmp_path / "windows.tuning", "--budget", 20, genes="read_ahead_kb=8:32")
    run(*only)
    given = words(output, "--from", tmp_path / "windows.tuning", genes="swappiness=0:60")
    assert "tuned other settings: read_ahead_kb" in refused(run, given, code=2)
    assert not output.exists()
    said = run(*words(output, "--from", tmp_path / "windows.tuning", "--budget", 20)).err
    assert "did not tune scheduler, swappiness" in said


def test_a_file_that_is_being_written_is_read_as_far_as_it_is(old, tmp_path, capsys):
    with Store.resume(old) as store:
        store.end(None)
        given = words(tmp_path / "new.tuning", "--from", old, "--budget", 20)
        assert main(given) == 0
    assert "has not ended: its runs so far are used" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.write_bytes(b"tuning"), "not a database"),
        (lambda path: path.write_bytes(path.read_bytes()[:5000]), "old.tuning"),
        (lambda path: path.unlink(), "does not exist"),
        (lambda path: sql(path, "PRAGMA user_version = 99"), "has schema 99"),
        (lambda path: sql(path, "UPDATE campaign SET space = '{}'"), "damaged"),
        (lambda path: sql(path, "UPDATE evaluations SET status = 'failed'"), "no good run"),
        (lambda path: sql(path, "UPDATE campaign SET objective = 'rate'"), "maximises a rate"),
    ],
)
def test_a_file_that_cannot_be_begun_from_is_one_line(damage, said, bench, old, tmp_path, run):
    damage(old)
    output = tmp_path / "new.tuning"
    given = words(output, "--from", old)
    assert said in refused(run, given, code=2 if "rate" in said else 1)
    assert not output.exists() and not bench.trials


def test_a_forged_earlier_campaign_in_a_store_is_refused(old, tmp_path, run):
    """What a TUNING holds of its earlier campaign comes from anybody, too."""
    output = tmp_path / "new.tuning"
    assert main(words(output, "--from", old, "--budget", 20)) == 0
    with Store.read(output) as store:
        space = store.spec.space
    text = json.loads(space)
    text["earlier"]["measured"][0][0] = ["bfq"]
    sql(output, "UPDATE campaign SET space = ?", json.dumps(text))
    assert "earlier" in refused(run, words(output, "--budget", 20, "--resume"))


def sql(path, statement, *values):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()
