"""This machine or a target: which bench, recorder and diagnosis each gets."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from foreread.boards.target import LocalTarget
from foreread.tracer import machines
from foreread.tracer.error import RecordError
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions
from foreread.tracer.trials.trial import TrialOptions

ELSEWHERE = SimpleNamespace()  # any target but this machine
RUN = RunOptions(["true"])


@pytest.fixture
def opened(monkeypatch):
    """The names of the opened files, in order."""
    found = []

    def opening(name):
        @contextmanager
        def opened(*args):
            found.append(name)
            yield name

        return opened

    for name in ("trials_here", "trials_on", "repeated"):
        monkeypatch.setattr(machines, name, opening(name))
    return found


@pytest.mark.parametrize(
    ("target", "expected"),
    [(LocalTarget(), ["repeated", "trials_here"]), (ELSEWHERE, ["trials_on"])],
)
def test_bench_of_this_machine_and_of_a_target(target, expected, opened):
    like = SimpleNamespace(environment={}, cgroups=[])
    with machines.bench_on(target, TrialOptions(RUN), like) as bench:
        assert bench == expected[-1]
    assert opened == expected


def test_bench_without_a_recorded_run_keeps_the_environment(opened):
    with machines.bench_on(LocalTarget(), TrialOptions(RUN)):
        pass
    assert opened == ["trials_here"]


def test_recorder_of_this_machine_takes_the_chosen_back_end(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(machines, "choose", lambda name: (f"back-end {name}", "the best"))
    monkeypatch.setattr(machines, "run_here", lambda *args: calls.append(args))
    chosen = machines.recorder_for(LocalTarget(), "perf")
    assert chosen.why == ""
    assert machines.recorder_for(LocalTarget()).why == "the best"
    options = RecordOptions(RUN)
    chosen.run(options, tmp_path)
    chosen.run(options, tmp_path, probe_disk=False)
    assert calls == [
        (options, "back-end perf", tmp_path, True),
        (options, "back-end perf", tmp_path, False),
    ]
    with pytest.raises(RecordError, match="probes are for targets"):
        chosen.run(RecordOptions(RUN, probes=True), tmp_path)


def test_recorder_of_a_target_has_one_back_end(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(machines, "run_on", lambda *args: calls.append(args) or "run")
    options = RecordOptions(RUN)
    assert machines.recorder_for(ELSEWHERE).run(options, tmp_path) == "run"
    assert calls == [(ELSEWHERE, options, tmp_path)]
    with pytest.raises(RecordError, match="perf does not record a target") as error:
        machines.recorder_for(ELSEWHERE, "perf")
    assert "tracefs" in error.value.remedy


def test_leftovers(monkeypatch):
    monkeypatch.setattr(machines, "restore_leftovers", lambda: [SimpleNamespace()])
    monkeypatch.setattr(machines, "unrestored", lambda found: [f"{len(found)} left"])
    assert machines.restore_settings(LocalTarget()) == ["1 left"]
    assert machines.restore_settings(ELSEWHERE) == []
