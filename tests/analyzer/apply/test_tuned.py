"""From a TUNING file to a plan: genes that matter, in the order to be written."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import msgspec
import pytest
from tuned_stores import tuned

from foreread.analyzer.apply import ApplyError, plan_of_tuning, write_scripts
from foreread.analyzer.apply.plan import Disk
from foreread.analyzer.tuner.space.genes import Gene
from foreread.analyzer.tuner.store.records import Board


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return tuned(tmp_path_factory.mktemp("tuned") / "app.tuning", runs=160)


def test_only_confirmed_genes_are_set(results):
    plan = plan_of_tuning(results)
    set_to = {setting.knob: setting.value for setting in plan.settings}
    assert set_to["queue/scheduler"] == "bfq" and set_to["queue/iosched/slice_idle"] == "0"
    assert len(plan.settings) == len(results.confirmed.gains)
    assert {setting.disk for setting in plan.settings} == {Disk("sda")}
    assert plan.board.kernel == "6.1"
    knobs = [setting.knob for setting in plan.settings]
    assert knobs.index("queue/scheduler") < knobs.index("queue/iosched/slice_idle")


def test_each_has_its_measured_effect(results):
    reasons = [setting.reason for setting in plan_of_tuning(results).settings]
    assert all(reason.startswith("measured: ") for reason in reasons)
    assert all(" less than at " in reason and " to " in reason for reason in reasons)


def test_the_script_holds_it_and_is_a_script(results, tmp_path):
    script, *_ = write_scripts(plan_of_tuning(results), tmp_path)
    text = script.read_text()
    assert "knob always 'queue/scheduler' 'bfq' 'measured: " in text
    assert "$(hostile)" in text.split("made_from='")[1].split("\n")[0]
    subprocess.run(["sh", "-n", script], check=True)
    subprocess.run(["shellcheck", script], check=True)


@pytest.mark.thorough
def test_unconfirmed_tunings_are_refused(tmp_path):
    found = tuned(tmp_path / "app.tuning", runs=60, confirm=False)
    with pytest.raises(ApplyError, match="not confirmed") as caught:
        plan_of_tuning(found)
    assert "--resume" in caught.value.remedy


def test_without_effects_there_is_nothing_to_set(tmp_path):
    found = tuned(tmp_path / "app.tuning", runs=12)
    nothing = replace(
        found, search=[one for one in found.search if one.chromosome == found.spec.default]
    )
    with pytest.raises(ApplyError, match="no setting"):
        plan_of_tuning(nothing)


@pytest.mark.parametrize("knob", ["/etc/passwd", "/proc/sys/vm/../kernel/core_pattern"])
def test_a_forged_knob_is_refused(results, knob):
    genes = [
        Gene(name=g.name, kind=g.kind, default=g.default, choices=tuple(g.alleles))
        for g in results.space.genes
        if not g.requires
    ]
    for gene in genes:
        msgspec.structs.force_setattr(gene, "knob", knob)
    forged = replace(results)
    forged.__dict__["space"] = replace(results.space, genes=tuple(genes))
    forged.__dict__["confirmed"] = replace(
        results.confirmed,
        gains=tuple(g for g in results.confirmed.gains if g.gene == "scheduler"),
    )
    with pytest.raises(ApplyError):
        plan_of_tuning(forged)


def test_a_forged_disk_is_refused(results):
    forged = replace(results, spec=replace(results.spec, board=Board("b", "6.1", 4096, ("../x",))))
    with pytest.raises(ValueError, match="disk"):
        plan_of_tuning(forged)
