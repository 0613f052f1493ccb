"""``foreread confirm`` on a bench without a machine, and how other commands cite its result."""

from __future__ import annotations

import json
import math
import random
import shutil
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from rings import further

from foreread.analyzer.ingest.archive import unpack
from foreread.boards.device import Disk
from foreread.boards.target import LocalTarget
from foreread.cli.main import main
from foreread.measuring import confirm as confirm_start
from foreread.measuring import sweep as sweeping
from foreread.question import Question
from foreread.recording.words import recorded_run
from foreread.tracer import machines
from foreread.tracer.error import RecordError
from foreread.tracer.formats.capture import CaptureError, read
from foreread.tracer.runs.options import Streams
from foreread.tracer.trials.trial import Outcome

EXAMPLE = Path(__file__).parents[3] / "examples/python-start/python-start.capture.tar.xz"
SPARE = Path(__file__).parents[2] / "analyzer/load/data/spare.capture.tar.xz"
HOLDS = "predicted for an idle machine; beside other readers or writers measure it"


class Bench:
    """A start that takes 1 s at every window but one, whose seconds are ``factor``.

    ``beside``: other factors, by the scenario's kind.
    """

    notes: list[str] = []  # noqa: RUF012

    def __init__(self, capture, factor, noise=0.003, odd=None, beside=None):
        self.kernel, self.machine = capture.host.kernel, capture.host.machine
        self.model, self.page_bytes = capture.host.cpu_model, capture.host.page_size
        disk = max(capture.devices, key=lambda one: len(one.filesystems))
        self.disks = [disk.name]
        self.known = [Disk(disk.name, disk.dev, disk.size_bytes, disk.model)]
        self.windows = [f"/sys/block/{disk.name}/queue/read_ahead_kb"]
        self.now = "128"
        self.run_at = []
        self.scenarios = []
        self._factor, self._noise, self._odd = factor, noise, odd or {}
        self._beside = beside or {}
        self._random = random.Random(4)

    def probe(self, knobs):
        return dict.fromkeys(knobs, self.now)

    def check_load(self, scenario):
        if scenario.path == "/absent":
            raise RecordError("the file /absent of the scenario does not exist", "name a file")

    def announce(self, trials):
        self.announced = [trial.settings[0][1] for trial in trials]

    def run(self, trial):
        kb = trial.settings[0][1]
        assert self.announced.pop(0) == kb
        self.run_at.append(kb)
        self.scenarios.append(trial.scenario.text)
        if (odd := self._odd.get(len(self.run_at))) is not None:
            if isinstance(odd, BaseException):
                raise odd
            return odd
        factor = self._beside.get(trial.scenario.kind, self._factor)
        seconds = 1.0 if kb == "128" else factor
        seconds *= math.exp(self._random.gauss(0, self._noise))
        return Outcome("ok", seconds, dict(trial.settings), cold=True)


@pytest.fixture
def folder(tmp_path):
    return unpack(EXAMPLE, tmp_path)


@pytest.fixture
def confirming(folder, example_prediction, monkeypatch, run):
    """Return a function that runs the command on a bench, and returns its JSON."""

    def confirming(bench, *words, code=0):
        @contextmanager
        def opened(_target, _options):
            yield bench

        monkeypatch.setattr(machines, "trials_here", opened)
        for module in (confirm_start, sweeping):
            monkeypatch.setattr(
                module, "open_target", lambda text, identity, tell: nullcontext(LocalTarget())
            )
        words = ("--read-ahead-kb", "32", "--seed", "1", *words)
        with monkeypatch.context() as predicted:
            predicted.setattr(Question, "predicted", lambda *_: example_prediction)
            said = run("confirm", folder, "--json", *words, code=code)
        return json.loads(said.out) if code == 0 else said.err

    return confirming


def bench_of(folder, *args, **kwargs):
    return Bench(read(folder)[0], *args, **kwargs)


@pytest.mark.parametrize(
    ("factor", "outcome"),
    further([(0.9, "confirmed"), (1.1, "contradicted"), (1.0, "too small")], 2),
)
def test_the_difference_is_measured_stored_and_cited(
    folder, confirming, run_json, capsys, factor, outcome
):
    bench = bench_of(folder, factor)
    found = confirming(bench)
    assert found["outcome"] == outcome
    assert found["low"] <= 1 - factor <= found["high"]
    assert bench.run_at.count("128") == bench.run_at.count("32") + 1  # the first is discarded
    (kept,) = read(folder)[0].confirmations
    assert kept.outcome == outcome
    assert kept.runs == len(bench.run_at)
    assert main(["predict", str(folder), "--model", "fixed"]) == 0
    word = "measured, too small to matter" if outcome == "too small" else outcome
    assert f"{word} on this machine" in capsys.readouterr().out
    assert run_json("predict", folder, "--model", "fixed")["confirmations"][0]["outcome"] == outcome


def test_every_block_has_both_orders(folder, confirming):
    bench = bench_of(folder, 0.99, 0.05)
    confirming(bench, "--budget", "24")
    runs = bench.run_at[1:]
    for at in range(0, len(runs) - 3, 4):
        assert runs[at : at + 4] in (["128", "32", "32", "128"], ["32", "128", "128", "32"])


@pytest.mark.thorough
def test_undecided_says_how_to_continue_and_resumes(folder, confirming, run):
    found = confirming(bench_of(folder, 0.97, 0.04), "--budget", "8")
    assert (found["outcome"], len(found["pairs"])) == ("undecided", 4)
    said = run("confirm", folder, "--read-ahead-kb", "32", "--budget", "4").out
    assert "undecided after" in said
    assert "to continue: foreread confirm" in said
    assert "--resume" in said
    again = confirming(bench_of(folder, 0.97, 0.001), "--resume")
    assert len(again["pairs"]) > 4
    assert len(read(folder)[0].confirmations) == 2


def test_nothing_to_resume_is_reported(folder, confirming):
    assert "no undecided result" in confirming(bench_of(folder, 0.9), "--resume", code=1)


@pytest.mark.thorough
def test_a_disturbed_pair_is_made_again(folder, confirming):
    contended = Outcome("contended", 5.0, {}, notes=("others read",), cold=True)
    knob = bench_of(folder, 1).windows[0]
    odd = {3: contended.__class__(**{**vars(contended), "in_force": {knob: "32"}})}
    bench = bench_of(folder, 0.9, odd=odd)
    # Whichever window the third run was at: it took the value that was asked for.
    bench.run = lambda trial, run=bench.run: _as_asked(run(trial), trial)
    found = confirming(bench)
    assert found["disturbed"] == 1
    assert all(one < 2 for pair in found["pairs"] for one in pair)


def _as_asked(outcome, trial):
    return outcome.__class__(**{**vars(outcome), "in_force": dict(trial.settings)})


def test_runs_survive_what_ends_the_command(folder, confirming):
    bench = bench_of(folder, 0.97, 0.04, odd={10: RecordError("the link was lost", "mend it")})
    assert "the link was lost" in confirming(bench, code=1)
    (kept,) = read(folder)[0].confirmations
    assert (kept.outcome, len(kept.pairs)) == ("undecided", 4)


@pytest.mark.thorough
def test_another_board_is_refused_unless_forced(folder, confirming):
    bench = bench_of(folder, 0.9)
    bench.kernel = "9.9"
    said = confirming(bench, code=1)
    assert "not the recorded board" in said
    assert "--force" in said
    assert not bench.run_at
    assert confirming(bench, "--force")["kernel"] == "9.9"


@pytest.mark.thorough
def test_a_board_that_has_the_window_already_is_compared_with_what_it_had(folder, confirming):
    bench = bench_of(folder, 0.9)
    bench.now = "32"
    found = confirming(bench)
    before = {d.name: d.read_ahead_kb_before for d in read(folder)[0].devices}
    assert (found["present_kb"], found["proposed_kb"]) == (before[bench.disks[0]], 32)


def test_script_refuses_what_runs_contradict(folder, confirming, tmp_path, run):
    confirming(bench_of(folder, 1.1))
    words = ["script", str(folder), "--read-ahead-kb", "32", "-o", str(tmp_path / "out")]
    said = run(*words, code=1).err
    assert "contradicted on this machine" in said
    assert "--read-ahead-kb 128" in said
    assert not (tmp_path / "out").exists()
    assert main([*words, "--force"]) == 0
    assert main([*words[:3], "16", *words[4:5], str(tmp_path / "other")]) == 0


@pytest.mark.thorough
def test_the_report_cites_it(folder, confirming, tmp_path, text_only):
    confirming(bench_of(folder, 0.9))
    words = ["report", str(folder), "--criterion", "published", "-o", str(tmp_path / "out")]
    assert main(words) == 0
    page = (tmp_path / "out/index.html").read_text()
    assert "Confirmed on this machine" in page
    assert HOLDS in page


LOADS = ("--scenario", "idle", "--scenario", "reader:/data/film", "--scenario", "writer")


def test_each_scenario_is_measured_by_itself(folder, confirming):
    bench = bench_of(folder, 0.9, beside={"reader": 1.5, "writer": 1.0})
    found = confirming(bench, *LOADS)["results"]
    assert [(one["scenario"], one["outcome"]) for one in found] == [
        ("idle", "confirmed"),
        ("reader:/data/film", "contradicted"),
        ("writer", "too small"),
    ]
    assert [one["predicted_gain"] is None for one in found] == [False, True, True]
    assert list(dict.fromkeys(bench.scenarios)) == ["idle", "reader:/data/film", "writer"]
    assert [one.scenario for one in read(folder)[0].confirmations] == [
        *dict.fromkeys(bench.scenarios)
    ]


@pytest.mark.thorough
def test_a_result_beside_a_load_warns_and_does_not_overrule(
    folder, confirming, tmp_path, run, run_json
):
    predict = ["predict", str(folder), "--criterion", "published"]
    first = run_json(*predict)
    assert first["scenario"] == "idle"
    kb = str(first["verdict"]["read_ahead_kb"])
    bench = bench_of(folder, 0.9, beside={"reader": 1.5, "writer": 1.5})
    confirming(bench, "--read-ahead-kb", kb, *LOADS)
    said = run(*predict).out
    assert f"verdict: set read_ahead_kb={kb}" in said
    assert "confirmed on this machine" in said
    assert "contradicted beside the load reader:/data/film on this machine" in said
    warnings = [
        line.strip() for line in said.splitlines() if line.strip().startswith("warning: beside")
    ]
    assert [line.split(",")[0] for line in warnings] == [
        "warning: beside the load reader:/data/film",
        "warning: beside the load writer",
    ]
    assert all(line.endswith("keep 128 KiB if the board has such a load") for line in warnings)
    script = ["script", str(folder), *predict[2:], "-o", str(tmp_path / "out")]
    said = run(*script).err
    assert all(line in said for line in warnings)


@pytest.mark.thorough
def test_verdict_and_script_name_the_load_that_they_hold_for(folder, tmp_path, run):
    predict = ["predict", str(folder), "--criterion", "published"]
    said = run(*predict, "--verbose").out
    assert f"load: {HOLDS}: foreread confirm {folder} --scenario reader" in said
    script = ["script", str(folder), *predict[2:], "-o"]
    assert main([*script, str(tmp_path / "predicted")]) == 0
    assert main([*script, str(tmp_path / "chosen"), "--read-ahead-kb", "64"]) == 0
    head, chosen = (
        (tmp_path / name / "foreread-apply").read_text() for name in ("predicted", "chosen")
    )
    assert f"\n# Load: {HOLDS}: foreread confirm CAPTURE --scenario reader.\n" in head
    assert HOLDS not in chosen


def test_a_result_beside_a_load_does_not_confirm_the_idle_window(folder, confirming, run):
    confirming(bench_of(folder, 1.1), "--scenario", "idle")
    confirming(bench_of(folder, 0.5), "--scenario", "reader")
    said = run("script", folder, "--read-ahead-kb", "32", "-o", folder / "out", code=1).err
    assert "contradicted on this machine" in said


@pytest.mark.thorough
def test_an_undecided_result_continues_beside_its_load(folder, confirming, run):
    short = ("--scenario", "reader", "--budget", "8")
    assert confirming(bench_of(folder, 0.97, 0.04), *short)["outcome"] == "undecided"
    assert "no undecided result" in confirming(bench_of(folder, 0.9), "--resume", code=1)
    words = ["--read-ahead-kb", "32", "--scenario", "reader", "--budget", "4", "--resume"]
    said = run("confirm", folder, *words).out
    assert "beside the load reader" in said
    assert "--scenario reader --resume" in said
    several = confirming(bench_of(folder, 0.9), *LOADS, "--resume", code=2)
    assert "--resume continues one result" in several


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["confirm", "sweep"])
def test_a_load_that_does_not_run_costs_no_run(command, folder, confirming, tmp_path, run):
    bench = bench_of(folder, 0.9)
    load = ("--scenario", "reader:/absent")
    if command == "confirm":
        said = confirming(bench, *load, code=1)
    else:
        confirming(bench)
        bench.run_at.clear()
        said = run("sweep", folder, "-o", tmp_path / "swept", *load, code=1).err
    assert "the file /absent of the scenario does not exist" in said
    assert bench.run_at == []


@pytest.mark.thorough
def test_an_error_in_one_scenario_leaves_the_results_of_those_before(folder, confirming, run):
    words = ["--scenario", "idle", "--scenario", "reader:/absent", "--scenario", "writer"]
    bench = bench_of(folder, 0.9)
    confirming(bench, *words[:2])
    bench.scenarios.clear()
    command = ["confirm", str(folder), "--json", "--read-ahead-kb", "32", *words]
    said = run(*command, code=1)
    assert [one["scenario"] for one in json.loads(said.out)["results"]] == ["idle"]
    assert "the file /absent of the scenario does not exist" in said.err
    assert set(bench.scenarios) == {"idle"}


def test_ctrl_c_ends_all_scenarios(folder, confirming):
    bench = bench_of(folder, 0.97, 0.04, odd={10: KeyboardInterrupt()})
    found = confirming(bench, *LOADS)["results"]
    assert [one["outcome"] for one in found] == ["undecided"]
    assert set(bench.scenarios) == {"idle"}


def test_a_sweep_of_a_capture_runs_its_command(folder, confirming, tmp_path, run, capsys):
    confirming(bench_of(folder, 0.9))
    bench = bench_of(folder, 0.9)
    bench.announce = lambda trials: None
    bench.run = lambda trial: Outcome(
        "ok",
        1.0,
        dict(trial.settings),
        cold=True,
        counters={"disk.reads": 1, "disk.read_sectors": 8},
    )

    @contextmanager
    def opened(_target, options):
        assert options.run.command == read(folder)[0].command
        yield bench

    machines.trials_here = opened
    swept = tmp_path / "swept.json"
    words = ["sweep", str(folder), "-o", str(swept), "--repeat", "1", "--windows", "0,16k"]
    loads = ["--scenario", "reader", "--scenario", "idle"]
    assert "a SWEEP has one scenario" in run(*words, *loads, code=2).err
    assert main([*words, *loads[:2]]) == 0
    document = json.loads(swept.read_text())
    kib = {point["read_ahead_kb"] for point in document["points"]}
    assert {0, 16} <= kib
    assert document["scenario"] == "reader"
    assert "requests and pages include those of the scenario's load" in document["notes"]
    capsys.readouterr()
    assert "beside a load the measured ones include those of the load" in (
        run("predict", folder, "--measured", swept, "--verbose").out.replace("\n", " ")
    )


def test_a_capture_with_invalid_options(folder):
    metadata = folder / "capture.json"
    for options in (["--duration", "soon"], ["--until-output", "("], ["--duration"]):
        document = json.loads(metadata.read_text()) | {"options": options}
        metadata.write_text(json.dumps(document))
        with pytest.raises(CaptureError, match="cannot be parsed"):
            recorded_run(read(folder)[0], Streams())


def test_a_trace_of_another_tool_cannot_be_run_again(tmp_path, run):
    trace = Path(__file__).parents[2] / "analyzer/ingest/data"
    foreign = next(iter(sorted(trace.rglob("*.dat"))), None)
    if foreign is None:
        pytest.skip("no trace.dat among the fixtures: the refusal was not tried")
    shutil.copy(foreign, tmp_path / "trace.dat")
    assert run("confirm", tmp_path / "trace.dat", code=1).err.count("\n") == 1


def test_less_memory_than_the_program_took_is_refused_before_anything_runs(tmp_path, run):
    folder = unpack(SPARE, tmp_path)
    refused = ("confirm", folder, "--read-ahead-kb", "32", "--memory", "8M")
    assert run(*refused, code=1).err.endswith("or add --force\n")
    assert not read(folder)[0].confirmations
