"""Plans out of TUNING files: what is learnt is what is set, and nothing else."""

import sqlite3

import pytest
from tuned_stores import tuned

from foreread.analyzer.tuner.engines.fingerprint import BY_NAME
from foreread.analyzer.tuner.findings.plans import learn, read_plans
from foreread.analyzer.tuner.store.store import Store, StoreError

READS = BY_NAME["read-random-small"]


@pytest.fixture(scope="module")
def tuning(tmp_path_factory):
    path = tmp_path_factory.mktemp("plans") / "app.tuning"
    tuned(path)
    return path


def test_without_learnt_settings_the_remedy_says_how_to_learn(tuning, tmp_path):
    path = tmp_path / "new.tuning"
    path.write_bytes(tuning.read_bytes())
    with pytest.raises(StoreError) as error:
        read_plans(path)
    assert f"--learn {path}" in error.value.remedy


def test_the_best_becomes_the_plan_of_the_fingerprint(tuning):
    best = learn(tuning, READS)
    assert best["scheduler"] == "bfq"
    (plan,) = read_plans(tuning).values()
    assert set(read_plans(tuning)) == {str(READS)}
    assert ("/sys/block/sda/queue/scheduler", "bfq") in plan
    with Store.read(tuning) as store:
        default = store.spec.default
        assert store.top_genes()[str(READS)].fitness > 1
    changed = [name for name, allele in best.items() if allele != default[name]]
    assert len(plan) == len([name for name in changed if best[name] != "none"])


def test_other_disks_than_the_campaigns(tuning):
    learn(tuning, READS)
    plan = read_plans(tuning, ["mmcblk0"])[str(READS)]
    assert ("/sys/block/mmcblk0/queue/scheduler", "bfq") in plan
    assert not any("sda" in knob for knob, _ in plan)


def test_an_invalid_fingerprint(tuning, tmp_path):
    path = tmp_path / "forged.tuning"
    learn(tuning, READS)
    path.write_bytes(tuning.read_bytes())
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE fingerprints SET name = 'read; reboot'")
    connection.close()
    with pytest.raises(StoreError, match="no fingerprint"):
        read_plans(path)
