"""Runs during which another program sets a knob that is measured, here and as on a target."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from loop_image import loop_image
from machine_lock import nobody_records
from rings import further
from series_trials import MEASURED
from waiting import left_s

from foreread.analyzer.tuner.campaign.attempts import CampaignError
from foreread.analyzer.tuner.space.genes import Gene, Space
from foreread.boards.target import LocalTarget
from foreread.cli.main import main
from foreread.tracer.machines import bench_on
from foreread.tracer.runs.knobs import selected
from foreread.tracer.runs.options import RunOptions, Streams
from foreread.tracer.trials.changed import ChangedKnobError
from foreread.tracer.trials.trial import Scenario, Trial, TrialOptions
from foreread.tuning.evaluator import TrialEvaluator

SWAPPINESS = Path("/proc/sys/vm/swappiness")
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no run was disturbed"),
]


@pytest.fixture
def loop(tmp_path):
    with loop_image(tmp_path) as image:
        yield image


@pytest.fixture
def knobs(loop):
    """Return knobs by name: path, what a run needs, what the other program sets."""
    scheduler = Path(f"/sys/block/{loop.device}/queue/scheduler")
    swappiness = SWAPPINESS.read_text()
    yield {
        "window": (loop.knob, "16", "48"),
        "scheduler": (scheduler, "mq-deadline", "none"),
        "sysctl": (SWAPPINESS, "11", "13"),
    }
    SWAPPINESS.write_text(swappiness)


@pytest.fixture
def trials(loop):
    with open(os.devnull, "wb") as file:  # noqa: PTH123
        nowhere = Streams(stdout=file.fileno(), stderr=file.fileno())

        def trials(command):
            run = RunOptions(["sh", "-c", command], streams=nowhere, allow_warm=True)
            return bench_on(
                LocalTarget(), TrialOptions(run, devices=(loop.device,), wait_s=left_s())
            )

        yield trials


def value_of(knob):
    with nobody_records():
        return selected(knob.read_text().strip())


@pytest.mark.parametrize("name", further(("window", "scheduler", "sysctl"), ["window"]))
def test_a_run_is_repeated_and_the_other_program_s_value_stays(knobs, trials, tmp_path, name):
    knob, needed, other = knobs[name]
    found = value_of(knob)
    if name == "scheduler" and needed not in knob.read_text():
        pytest.skip(f"this kernel has no {needed}: no scheduler was changed")
    once = tmp_path / "once"
    command = f"[ -e {once} ] || {{ : >{once}; echo {other} >{knob}; }}"
    with trials(command) as bench:
        bench.announce([Trial(((str(knob), needed),))] * 3)
        first, second = (bench.run(Trial(((str(knob), needed),))) for _ in range(2))
    assert first.status in MEASURED and second.status in MEASURED
    assert first.in_force == {str(knob): needed} == second.in_force
    said = f"another program set {knob} to {other} during a run that needs {needed}"
    assert any(said in note for note in first.repeated)
    assert second.repeated == ()
    if other != found:
        left = f"{knob} was not restored: left at {other}, which another program has set"
        assert left in first.repeated
    assert value_of(knob) == other


@pytest.mark.thorough
def test_other_knobs_of_a_spoiled_run_are_restored(knobs, trials, tmp_path):
    (window, _, other), (sysctl, needed, _) = knobs["window"], knobs["sysctl"]
    before = value_of(sysctl)
    settings = ((str(sysctl), needed), (str(window), "16"))
    with trials(f"[ -e {tmp_path}/x ] || {{ : >{tmp_path}/x; echo {other} >{window}; }}") as bench:
        outcome = bench.run(Trial(settings))
    assert outcome.in_force == dict(settings)
    assert value_of(sysctl) == before
    assert value_of(window) == other


@contextmanager
def writing(knob, value, pause):
    """Have another program set the knob again and again."""
    script = f"while echo {value} >{knob}; do {pause}; done"
    with subprocess.Popen(["sh", "-c", script], start_new_session=True) as writer:
        try:
            yield
        finally:
            os.killpg(writer.pid, signal.SIGKILL)


def until_set(knob, value):
    """Return a command that ends once the other program has set the knob."""
    return f'until [ "$(cat {knob})" = {value} ]; do sleep 0.02; done'


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "pause"),
    [("window", ":"), ("window", "sleep 0.3"), ("sysctl", "sleep 0.02")],
)
def test_a_program_that_always_sets_a_knob_ends_the_runs(knobs, trials, name, pause):
    knob, needed, other = knobs[name]
    raised = pytest.raises(ChangedKnobError)
    with writing(knob, other, pause), trials(until_set(knob, other)) as bench, raised as error:
        bench.run(Trial(((str(knob), needed),)))
    assert f"another program set {knob} to {other}" in str(error.value)
    assert f"grep -rs {knob.name} " in error.value.remedy
    assert value_of(knob) == other


@pytest.mark.thorough
def test_a_sweep_names_the_program_s_knob(loop, tmp_path, capsys):
    words = ["sweep", "--device", loop.device, "--windows", "16k", "--repeat", "1"]
    words += ["--allow-warm", "--wait", str(left_s()), "-o", str(tmp_path / "sweep.json")]
    with writing(loop.knob, 48, "sleep 0.02"):
        assert main([*words, "--", "sh", "-c", until_set(loop.knob, 48)]) == 1
    said = capsys.readouterr().err
    assert f"another program set {loop.knob} to 48 during a run that needs" in said
    assert "systemctl stop tuned" in said
    assert loop.restored_kb() == 48


@pytest.mark.thorough
@pytest.mark.parametrize("ends", [True, False])
def test_a_tuning_says_what_a_program_does_and_ends_if_it_goes_on(loop, tmp_path, ends):
    scheduler = Path(f"/sys/block/{loop.device}/queue/scheduler")
    if "mq-deadline" not in scheduler.read_text():
        pytest.skip("this kernel has no mq-deadline: no scheduler was tuned")
    once = tmp_path / "once"
    script = f"[ -e {once} ] || echo mq-deadline >{scheduler}"
    run = RunOptions(["sh", "-c", f"{script}; : >{once}" if ends else script], allow_warm=True)
    options = TrialOptions(run, devices=(loop.device,), wait_s=left_s())
    told = []
    gene = Gene(
        name="scheduler", kind="categorical", choices=("none", "mq-deadline"), default="none",
        knob="/sys/block/{disk}/queue/scheduler",
    )  # fmt: skip
    with TrialEvaluator(lambda: bench_on(LocalTarget(), options), tell=told.append) as evaluator:
        evaluator.space, evaluator.scenarios = Space((gene,)), {"idle": Scenario()}
        said = f"another program set {scheduler} to mq-deadline during a run that needs none"
        if ends:
            attempt = evaluator.evaluate({"scheduler": "none"}, "idle")
            assert attempt.status in MEASURED
            assert any(said in note for note in told)
            assert any(said in note for note in attempt.notes)
        else:
            with pytest.raises(CampaignError, match=re.escape(said)) as error:
                evaluator.evaluate({"scheduler": "none"}, "idle")
            assert "--resume" in error.value.remedy
