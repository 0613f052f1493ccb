"""``foreread tune``: usage, what it stores and says, what a lost target or Ctrl-C costs."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rings import further
from trial_benches import QUEUE, KnownBench

from foreread.analyzer.ingest.load import load, load_any
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.tuner.campaign import quiet
from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.engines.proposed import ProposedGenes
from foreread.analyzer.tuner.evaluation import key_of
from foreread.analyzer.tuner.findings.results import read_results
from foreread.analyzer.tuner.space.genes import Gene, Space
from foreread.boards.base.interrupts import Interrupted
from foreread.boards.target import TargetError
from foreread.cli.commands import tune
from foreread.cli.main import main
from foreread.tracer.formats.capture import FileEntry
from foreread.tuning import campaign as tuning
from foreread.tuning import evaluator
from foreread.tuning.earlier import changed_files
from foreread.tuning.prior import beside_scenarios

GENES = "scheduler,read_ahead_kb=8:32:128,swappiness=0:60"
COMMAND = ["--", "true"]
CAPTURE = str(Path(__file__).parents[3] / "examples/python-start/python-start.capture.tar.xz")


@pytest.fixture
def bench(monkeypatch):
    bench = KnownBench()
    monkeypatch.setattr(tuning, "open_bench", bench.open)
    return bench


def words(output, *more, genes=GENES):
    return ["tune", "-o", str(output), "--genes", genes, *map(str, more), *COMMAND]


@pytest.mark.parametrize(
    "more",
    [
        ["--genes", "wings"],
        ["--genes", "read_ahead_kb=bfq"],
        ["--genes", "scheduler=$(reboot)"],
        ["--budget", "0"],
        ["--budget", "2weeks"],
        ["--repeats", "5:1"],
        ["--repeats", "0:1"],
        ["--sampler", "luck"],
        ["--sampler", "random", "--recipe", "start-up"],
        ["--model", "linux"],
        ["--until-output", "("],
        ["--weigh", "idle"],
        ["--weigh", "idle=0"],
        ["--weigh", "idle=-1"],
        ["--weigh", "idle=nan"],
        ["--weigh", "reader=2"],
        ["--weigh", "idle=2", "--recipe", "fingerprinting"],
    ],
)
def test_wrong_usage(more, bench, tmp_path, capsys):
    try:
        code = main(words(tmp_path / "app.tuning", *more))
    except SystemExit as stop:
        code = stop.code
    assert code == 2 and capsys.readouterr().out == ""
    assert not (tmp_path / "app.tuning").exists()


@pytest.mark.parametrize("scenario", ["party", "idle:1", "reader:relative", "memory:much"])
def test_a_scenario_that_there_is_not(scenario, bench, tmp_path, capsys):
    assert main(words(tmp_path / "app.tuning", "--scenario", scenario)) != 0
    assert capsys.readouterr().err.count("\n") == 1
    assert not bench.trials


@pytest.mark.thorough
def test_it_searches_confirms_and_says_what_to_set(bench, tmp_path, run):
    output = tmp_path / "app.tuning"
    said = run(*words(output, "--scenario", "idle", "--scenario", "reader"))
    assert "set 2 genes: time" in said.out and "proven alone" in said.out
    assert "scheduler" in said.out and "bfq" in said.out
    assert "swappiness" not in said.out
    assert "generation 1: best" in said.err and "confirming the best" in said.err
    results = read_results(output)
    assert {gain.gene for gain in results.confirmed.gains} == {"scheduler", "read_ahead_kb"}
    assert results.spec.scenarios == ("idle", "reader")
    assert bench.opened == 1


class Opposed(KnownBench):
    """An idle machine is slower with bfq than a reader's is faster."""

    def run(self, trial):
        outcome = super().run(trial)
        bfq = dict(trial.settings).get(f"{QUEUE}/scheduler") == "bfq"
        idle = trial.scenario.kind == "idle"
        return replace(outcome, seconds=2 * outcome.seconds) if bfq and idle else outcome


@pytest.mark.parametrize(("weight", "scheduler"), [(None, "mq-deadline"), ("3.5", "bfq")])
def test_the_users_weights_choose(weight, scheduler, monkeypatch, tmp_path, run):
    monkeypatch.setattr(tuning, "open_bench", Opposed().open)
    both = ["--scenario", "idle", "--scenario", "reader:/data/a=b", "--sampler", "exhaustive"]
    more = ["--weigh", f"reader:/data/a=b={weight}"] if weight else []
    output = tmp_path / "app.tuning"
    assert main(words(output, *both, *more, genes="scheduler")) == 0
    results = read_results(output)
    assert results.confirmed.chromosome["scheduler"] == scheduler
    assert main(words(output, *both, *more, "--resume", genes="scheduler")) == 0
    said = run(
        *words(output, *both, "--weigh", "idle=7", "--resume", genes="scheduler"), code=2
    ).err
    assert "the weight of scenarios was" in said


def test_settings_are_written_in_order(bench, tmp_path):
    assert main(words(tmp_path / "app.tuning", "--sampler", "exhaustive")) == 0
    for trial in bench.trials:
        assert trial.settings[0][0] == f"{QUEUE}/scheduler"
    tried = {tuple(trial.settings) for trial in bench.trials}
    assert len(tried) == 3 * 3 * 2


def test_json_is_alone_on_stdout(bench, tmp_path, run):
    args = words(tmp_path / "app.tuning", "--budget", "40")
    found = json.loads(run("tune", "--json", *args[1:]).out)
    assert found["schema"] == 1 and found["confirmed"]
    assert found["chromosome"]["scheduler"] == "bfq"
    assert found["over_default"]["high"] < -0.2


def test_genes_that_the_machine_lacks_are_said(bench, tmp_path, run):
    output = tmp_path / "app.tuning"
    said = run(*words(output, "--budget", "30", genes=f"{GENES},page-cluster")).err
    assert "page-cluster is not tuned" in said
    assert main(words(tmp_path / "none.tuning", genes="page-cluster")) == 2
    assert not (tmp_path / "none.tuning").exists()


@pytest.mark.thorough
def test_taking_turns_needs_several_scenarios(bench, tmp_path, run):
    more = ["--budget", "120", "--recipe", "fingerprinting"]
    assert "add another --scenario" in run(*words(tmp_path / "one.tuning", *more)).err
    output = tmp_path / "two.tuning"
    more += ["--scenario", "idle", "--scenario", "reader"]
    said = run(*words(output, *more))
    assert ", reader: best" in said.err
    assert "the workload changed; restored scheduler" in said.err
    idle, reader = read_results(output).contests
    assert not idle.confirmed.to_run and not reader.confirmed.to_run
    assert "idle" in said.out and "reader" in said.out


def test_a_file_that_is_there_is_not_touched(bench, tmp_path, run):
    output = tmp_path / "app.tuning"
    output.write_text("mine")
    assert "--resume" in run(*words(output), code=1).err and output.read_text() == "mine"
    assert main(words(output, "--resume")) == 1
    assert not bench.trials


@pytest.mark.thorough
def test_a_target_that_is_lost_once_costs_one_run(monkeypatch, tmp_path):
    bench = KnownBench(lost_at=25)
    monkeypatch.setattr(tuning, "open_bench", bench.open)
    output = tmp_path / "app.tuning"
    assert main(words(output)) == 0
    results = read_results(output)
    statuses = [one.attempt.status for one in [*results.search, *results.confirmation]]
    assert statuses.count("hung") == 1 and bench.opened == 2
    assert results.confirmed.chromosome["scheduler"] == "bfq"


@pytest.mark.parametrize("at", [3, 15, 30])
def test_interrupted_it_says_how_to_go_on_and_does(at, monkeypatch, tmp_path, run, capsys):
    whole = tmp_path / "whole.tuning"
    monkeypatch.setattr(tuning, "open_bench", KnownBench().open)
    assert main(words(whole, "--sampler", "exhaustive", "--repeats", "1:2")) == 0
    output = tmp_path / "app.tuning"
    more = ["--sampler", "exhaustive", "--repeats", "1:2"]
    monkeypatch.setattr(tuning, "open_bench", KnownBench(at, Interrupted(15)).open)
    capsys.readouterr()
    said = run(*words(output, *more), code=1).err
    assert "--resume" in said and "SIGTERM" in said
    monkeypatch.setattr(tuning, "open_bench", KnownBench().open)
    assert main(words(output, *more, "--resume")) == 0
    assert read_results(output).confirmed.chromosome == read_results(whole).confirmed.chromosome


def test_ctrl_c_passes_through_with_the_way_to_go_on(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(tuning, "open_bench", KnownBench(4, KeyboardInterrupt()).open)
    args = words(tmp_path / "app.tuning")
    from foreread.cli.main import build_parser

    with pytest.raises(KeyboardInterrupt):
        tune.run(build_parser(["tune"]).parse_args(args))
    assert "holds 3 runs; to continue" in capsys.readouterr().err


@pytest.mark.parametrize(
    "more",
    [
        ["--seed", "7"],
        ["--scenario", "reader"],
        ["--sampler", "random"],
        ["--repeats", "2:3"],
        ["--target", "ssh://root@elsewhere"],
    ],
)
def test_another_command_line_is_not_resumed(more, bench, tmp_path, run, capsys):
    output = tmp_path / "app.tuning"
    assert main(words(output, "--budget", "20")) == 0
    made = len(bench.trials)
    capsys.readouterr()
    assert more[0].lstrip("-") in run(*words(output, "--resume", *more), code=2).err
    assert len(bench.trials) == made


def test_another_kernel_is_not_resumed(bench, monkeypatch, tmp_path, run, capsys):
    output = tmp_path / "app.tuning"
    assert main(words(output, "--budget", "20")) == 0
    made = len(bench.trials)
    monkeypatch.setattr(bench, "kernel", "6.1.1")
    capsys.readouterr()
    said = run(*words(output, "--budget", "30", "--resume"), code=1).err
    assert "was measured on local (6.1.0, Some Board, sda), and this is local (6.1.1" in said
    assert len(bench.trials) == made


def test_a_default_that_cannot_be_measured_fails(monkeypatch, tmp_path, run):
    class Broken(KnownBench):
        def run(self, trial):
            raise RuntimeError("unheard of")

    monkeypatch.setattr(tuning, "open_bench", Broken().open)
    assert "the default cannot be measured" in run(*words(tmp_path / "app.tuning"), code=1).err


def test_a_tuning_becomes_a_boot_script(bench, tmp_path, run):
    output, boot = tmp_path / "app.tuning", tmp_path / "boot"
    run(*words(output, "--budget", "40"))
    said = run("script", output, "-o", boot).out
    assert "sda/queue/scheduler = bfq: measured: " in said
    assert said.index("queue/scheduler") < said.index("queue/read_ahead_kb")
    script = (boot / "foreread-apply").read_text()
    assert "board_machine='armv7l'" in script and "board_model='Some Board'" in script
    assert f"disk 'sda' 'size={(1 << 30) // 512}' 'device/model=SD1GB'" in script
    for more in (["--read-ahead-kb", "64"], ["--after-boot-kb", "64"], ["--model", "linux"]):
        assert main(["script", str(output), "-o", str(tmp_path / "other"), *more]) == 2
    assert not (tmp_path / "other").exists()


@pytest.mark.thorough
def test_a_tuning_goes_into_the_report(bench, tmp_path, capsys):
    output, report = tmp_path / "app.tuning", tmp_path / "report"
    assert main(words(output, "--budget", "40")) == 0
    assert main(["report", CAPTURE, str(output), str(output), "-o", str(report)]) == 2
    assert main(["report", CAPTURE, str(output), "-o", str(report), "--model", "fixed"]) == 0
    page = (report / "index.html").read_text()
    assert "Result of tuning on the board" in page and "How the search went" in page
    assert (report / "tuning-fitness.png").exists()
    assert json.loads((report / "report.json").read_text())["tuning"]["confirmed"]
    assert "the tuning was made with another command than the recording" in page


def test_a_tuning_has_a_report_of_its_own(bench, tmp_path, run):
    output, report = tmp_path / "app.tuning", tmp_path / "report"
    assert main(words(output, "--budget", "20")) == 0
    assert main(["report", str(output), "-o", str(report)]) == 0
    page = (report / "index.html").read_text()
    assert "<h1>Result of tuning on the board</h1>" in page and "with another command" not in page
    assert (report / "report.pdf").read_bytes().startswith(b"%PDF")
    for more in ([CAPTURE], ["--model", "linux"]):
        assert "or after a CAPTURE" in run("report", output, *more, "-o", report, code=2).err


class Away(KnownBench):
    """A target that is lost in a trial, and cannot be reached for some tries after that."""

    def __init__(self, lost_at, tries):
        super().__init__(lost_at)
        self.tries = tries

    def probe(self, knobs):
        if self.trials and self.tries:
            self.tries -= 1
            raise TargetError("no route to it", "look after it")
        return super().probe(knobs)


def test_a_target_that_comes_back_is_waited_for_after_its_reset(monkeypatch, tmp_path, run):
    monkeypatch.setattr(tuning, "open_bench", Away(25, 2).open)
    monkeypatch.setattr(evaluator, "_AGAIN_S", 0.0)
    output, done = tmp_path / "app.tuning", tmp_path / "reset"
    said = run(*words(output, "--reset", f"mkdir {done}")).err
    assert "waiting up to" in said and "the target is gone" in said
    assert done.is_dir()
    results = read_results(output)
    assert [one.attempt.status for one in results.search].count("hung") == 1


@pytest.mark.thorough
def test_a_reset_that_fails_is_reported(monkeypatch, tmp_path, run):
    monkeypatch.setattr(tuning, "open_bench", KnownBench(25).open)
    assert "the reset failed" in run(*words(tmp_path / "app.tuning", "--reset", "false")).err
    for command in ("/nosuch 1", "", "'"):
        with pytest.raises(SystemExit):
            main(words(tmp_path / "other.tuning", "--reset", command))


@pytest.mark.thorough
def test_a_target_that_does_not_come_back_costs_one_run_and_is_resumed(monkeypatch, tmp_path, run):
    bench = Away(10, 10**6)
    monkeypatch.setattr(tuning, "open_bench", bench.open)
    monkeypatch.setattr(evaluator, "BACK_S", 0.0)
    output = tmp_path / "app.tuning"
    said = run(*words(output), code=1).err
    assert "the target is not back" in said and "--resume" in said and "holds 10 runs" in said
    monkeypatch.setattr(tuning, "open_bench", KnownBench().open)
    assert main(words(output, "--resume")) == 0
    search = read_results(output).search
    assert [one.attempt.status for one in search].count("hung") == 1
    assert search[9].chromosome == search[10].chromosome


class Busy(KnownBench):
    """A machine that others use during some trials."""

    def __init__(self, trials):
        super().__init__()
        self.busy = trials

    def run(self, trial):
        outcome = super().run(trial)
        return replace(outcome, status="contended") if len(self.trials) in self.busy else outcome


@pytest.mark.parametrize("stage", ["beginning", "search", "confirmation"])
def test_a_busy_machine_is_waited_for(stage, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(quiet, "sleep", lambda _: None)
    more = ["--sampler", "exhaustive", "--repeats", "1:2"]
    expected = tuned(KnownBench(), tmp_path / "whole.tuning", more, monkeypatch)
    searched = len(expected.search)
    first = {"beginning": 1, "search": searched // 2, "confirmation": searched + 5}[stage]
    capsys.readouterr()
    found = tuned(Busy(range(first, first + 20)), tmp_path / "app.tuning", more, monkeypatch)
    assert "trying again in" in capsys.readouterr().err
    assert found.confirmed.chromosome == expected.confirmed.chromosome
    good = {str(one.chromosome) for one in found.search if one.attempt.status == "ok"}
    assert good == {str(one.chromosome) for one in expected.search}


def tuned(bench, output, more, monkeypatch):
    monkeypatch.setattr(tuning, "open_bench", bench.open)
    assert main(words(output, *more)) == 0
    return read_results(output)


def test_a_machine_that_stays_busy_ends_the_campaign(monkeypatch, tmp_path, run):
    pauses = []
    monkeypatch.setattr(quiet, "sleep", pauses.append)
    monkeypatch.setattr(tuning, "open_bench", Busy(range(10**6)).open)
    said = run(*words(tmp_path / "app.tuning"), code=1).err
    assert "the default cannot be measured: contended" in said
    assert sum(pauses) >= quiet.PATIENCE_S


@pytest.mark.parametrize("other", [True, False])
def test_a_recording_of_another_command_is_used_with_a_note(other, bench, tmp_path, run):
    command = "true" if other else load_any(Path(CAPTURE)).capture.command[0]
    args = words(tmp_path / "app.tuning", "--budget", "20", "--capture", CAPTURE)
    said = (
        "was recorded with another command, which may need another window: /dev/shm"
        in run(*args[:-1], command).err
    )
    assert said == other


def test_the_predicted_window_is_in_every_run_though_genes_do_not_name_it(bench, tmp_path, run):
    """And the result has three rows: the default, the predicted window alone, it with the genes."""
    output = tmp_path / "app.tuning"
    args = words(output, "--budget", "60", "--capture", CAPTURE, genes="scheduler,swappiness=0:60")
    said = run(*args)
    assert "begins with the predicted window: read_ahead_kb=32" in said.err
    assert "In force in every run" in said.err
    results = read_results(output)
    default = results.space.default()
    assert default["read_ahead_kb"] == 128
    assert all(
        one.chromosome == default or one.chromosome["read_ahead_kb"] == 32 for one in results.search
    )
    for row in ("default", "predicted window alone", "window + genes"):
        assert row in said.out
    assert {gain.gene for gain in results.confirmed.gains} == {"scheduler", "read_ahead_kb"}
    assert results.confirmed.predicted.saves and results.confirmed.over_predicted.saves
    assert len(results.search) + len(results.confirmation) <= 60
    assert run("show", output).out == said.out


def test_where_no_gene_adds_to_it_the_predicted_window_is_the_answer(bench, tmp_path, run):
    output = tmp_path / "app.tuning"
    args = words(output, "--budget", "40", "--capture", CAPTURE, genes="swappiness=0:60:100")
    said = run(*args).out
    assert said.startswith("set the predicted window alone, no gene is shown to add to it: time -")
    said = run("script", output, "-o", tmp_path / "boot").out
    assert "sda/queue/read_ahead_kb = 32: measured:" in said


@pytest.mark.parametrize(
    "recipe",
    further(["start-up", "one-gene", "genetic-library", "random", "exhaustive"], 2),
)
def test_every_recipe_begins_with_the_predicted_window(recipe, bench, tmp_path):
    output = tmp_path / "app.tuning"
    how = "--sampler" if recipe in ("random", "exhaustive") else "--recipe"
    assert main(words(output, "--budget", "40", "--capture", CAPTURE, how, recipe)) == 0
    results = read_results(output)
    tried = list(dict.fromkeys(key_of(one.chromosome) for one in results.search))
    assert tried[:2] == [key_of(results.space.default()), key_of(results.predicted)]


@pytest.mark.parametrize("more", [["--criterion", "published"], ["--model", "fixed"]])
def test_the_published_window_is_a_founder(more, bench, tmp_path, run):
    output = tmp_path / "app.tuning"
    said = run(*words(output, "--budget", "40", "--capture", CAPTURE, *more)).err
    assert "begins with the predicted window by the published criterion" in said
    results = read_results(output)
    window = predict_by(load(CAPTURE), criterion="published").verdict.read_ahead_kb
    assert results.predicted["read_ahead_kb"] == window
    assert results.predicted in [one.chromosome for one in results.search]


@pytest.mark.parametrize("scenarios", [1, 2, 3])
def test_a_budget_without_a_confirmation_is_refused_before_the_first_run(
    scenarios, bench, tmp_path, run
):
    some = [
        word for name in ("idle", "reader", "writer")[:scenarios] for word in ("--scenario", name)
    ]
    output = tmp_path / "app.tuning"
    said = run(*words(output, "--budget", 17 * scenarios - 1, *some), code=2).err
    assert "is too small" in said and f"--budget {17 * scenarios} or more" in said
    assert not bench.trials and not output.exists()
    assert main(words(output, "--budget", 17 * scenarios, *some)) == 0
    assert not read_results(output).confirmed.to_run and len(bench.trials) <= 17 * scenarios


def test_a_held_window_is_the_one_alone_or_the_one_beside_other_predicted_genes():
    window = Gene(name="read_ahead_kb", kind="integer", choices=(32, 64, 128, 256), default=128)
    space = Space((window, Gene(name="inode_readahead_blks", kind="boolean", default=1)))
    proposal = ProposedGenes(
        window={"read_ahead_kb": 256},
        settings={"read_ahead_kb": 64, "inode_readahead_blks": 0},
        held=["read_ahead_kb"],
    )
    searched = proposal.searched(space)
    assert searched.gene("read_ahead_kb").alleles == (64, 256)
    assert searched.default() == {"read_ahead_kb": 256, "inode_readahead_blks": 1}
    default, alone, beside = proposal.founders(space)
    assert default == space.default()
    assert (searched.repair(alone), searched.repair(beside)) == (alone, beside)


def test_a_capture_of_another_board_and_build_is_said_before_the_first_run(bench, tmp_path, run):
    """The shipped capture is of x86_64 with Linux 6.18, and its files are not here."""
    said = run(*words(tmp_path / "app.tuning", "--budget", 20, "--capture", CAPTURE)).err
    before = said[: said.index("generation 0")]
    assert "its machine is x86_64, this one's is armv7l" in before
    assert "its kernel is 6.18.44-fc-v669, this one's is 6.1.0" in before
    assert "another build of the start: /dev/shm/foreread-demo" in before


def test_files_of_another_size_are_of_another_build(tmp_path):
    same, grown, link = (tmp_path / name for name in ("same", "grown", "link"))
    same.write_bytes(b"1")
    grown.write_bytes(b"12")
    link.symlink_to(same)
    entries = [
        FileEntry(dev="8:0", ino=number, path=str(path), size_bytes=1, link=path == link)
        for number, path in enumerate((same, grown, link, tmp_path / "gone"))
    ]
    entries.append(FileEntry(dev="8:0", ino=9, path=None, size_bytes=1))
    assert changed_files(entries) == [str(grown), str(tmp_path / "gone")]


def test_each_scenario_has_the_prediction_beside_its_load(bench, tmp_path, run):
    """Beside a reader alone the idle prediction does not count."""
    output = tmp_path / "app.tuning"
    options = ["--budget", 40, "--capture", CAPTURE]
    run(*words(output, *options, "--scenario", "reader", "--scenario", "memory"))
    setup = CampaignSetup.of(read_results(output).spec)
    assert set(setup.under_load) == {"reader"}  # a lack of memory is not predicted
    assert setup.predicted != setup.under_load["reader"]
    beside = load_any(Path(CAPTURE))
    answer = beside_scenarios(predict_by(beside), ("reader",), {})
    assert answer.loads.names == ["reader"]
    assert setup.proposal.window == {"read_ahead_kb": answer.verdict.read_ahead_kb}


def test_on_an_idle_machine_nothing_is_predicted_beside_a_load(bench, tmp_path, run):
    output = tmp_path / "app.tuning"
    run(*words(output, "--budget", 20, "--capture", CAPTURE))
    assert CampaignSetup.of(read_results(output).spec).under_load == {}
