"""``foreread improve`` without a machine: what it says where something cannot be had.

The recording is the shipped example, and the runs are those of a bench without a machine.
tests/kernel/test_improve.py does the whole job for real.
"""

import json
import shlex
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from made_once import CAPTURE
from row_benches import RowBench

import foreread.analyzer.report.make
from foreread.analyzer.ingest.archive import unpack
from foreread.analyzer.predict.prediction import Verdict
from foreread.analyzer.predict.remedy import record_again
from foreread.boards.base.document import decode
from foreread.boards.target import LocalTarget, TargetError
from foreread.cli.main import COMMANDS, build_parser, main
from foreread.cli.text.improve import improved_text, step_text
from foreread.documents.improve import ImproveDocument
from foreread.improving import steps as improve_steps
from foreread.improving.improve import improve
from foreread.improving.steps import MOST_RECORDINGS
from foreread.measuring import confirm as confirm_start
from foreread.question import Question
from foreread.tracer.doctor.tunable import Finding
from foreread.tracer.formats.capture import read, write
from foreread.version import VERSION

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests/foreread/data"
COMMAND = ["/dev/shm/foreread-demo.IuYHQE/start"]  # of the example


@pytest.fixture
def machine(monkeypatch, tmp_path, example_advice, example_prediction):
    """A machine that records the example; its bench is made with the first recording."""
    found = SimpleNamespace(bench=None, changed_s=0.8, fails=lambda: None, recorded=0, kept=[])
    diagnosis = SimpleNamespace(kernel="6.18", backend="tracefs", findings=[], can_record=True)
    found.diagnosis = diagnosis

    def record(run, output, **_):
        found.recorded += 1
        unpack(CAPTURE, tmp_path / "unpacked").rename(output)
        capture, files = read(output)
        changed = type(capture)(**{
            **{name: getattr(capture, name) for name in capture.__struct_fields__},
            "command": list(run.command), "foreread": VERSION, "options": [],
        })  # fmt: skip
        write(output, changed, files)
        return changed

    @contextmanager
    def opened(*words):
        found.bench = found.bench or RowBench(words[-1], changed_s=found.changed_s)
        found.bench.fails = found.fails
        yield found.bench

    @contextmanager
    def bench_on(_machine, _options, capture):
        with opened(capture) as bench:
            yield bench

    def report(_of, output, **given):
        found.kept.append(given["advice"])
        output.mkdir(exist_ok=True)
        (output / "index.html").write_text("report")
        return SimpleNamespace(html=output / "index.html")

    monkeypatch.setattr(improve_steps, "record", record)
    monkeypatch.setattr(Question, "predicted", lambda *_: example_prediction)
    monkeypatch.setattr(improve_steps, "diagnose", lambda _: found.diagnosis)
    monkeypatch.setattr(improve_steps, "advise", lambda *_, **__: example_advice)
    monkeypatch.setattr(foreread.analyzer.report.make, "report", report)
    monkeypatch.setattr(confirm_start, "bench_on", bench_on)
    monkeypatch.setattr(
        confirm_start, "open_target", lambda text, identity, tell: nullcontext(LocalTarget())
    )
    (tmp_path / "unpacked").mkdir()
    return found


def words(folder, *options):
    return ["improve", "-o", str(folder), *map(str, options), "--", *COMMAND]


def document(folder):
    return json.loads((folder / "improve.json").read_text())


def states(folder):
    return [(one["name"], one["state"]) for one in document(folder)["steps"]]


def test_the_best_remedy_is_measured_and_the_script_applies_it(machine, tmp_path, run):
    folder = tmp_path / "out"
    found = json.loads(run(*words(folder, "--json")).out)
    assert found == document(folder)
    assert found["verdict"] == "confirmed"
    assert [one["state"] for one in found["steps"]] == ["done"] * 7
    (best,) = [one for one in found["remedies"] if one["measured"]]
    assert best["what"] in found["answer"]
    assert best["measured"]["outcome"] == "confirmed"
    assert best["measured"]["seconds"] == pytest.approx(0.8, abs=0.01)
    script = (folder / "boot/foreread-apply").read_text()
    assert best["what"].startswith("readahead window of 32 KiB") and "32" in script
    assert (folder / "advice/advice.json").exists()
    parts = found["now"]["parts"]
    assert sum(parts.values()) == pytest.approx(found["now"]["seconds"], rel=0.01)


def test_the_text_has_at_most_fifteen_lines_and_each_command_is_one_of_foreread(
    machine, tmp_path, run
):
    said = run(*words(tmp_path / "out"))
    assert len(said.out.splitlines()) <= 15
    lines = said.err.splitlines()
    names = ["check", "record", "predict", "advise", "confirm", "report", "script"]
    assert [line.split()[1] for line in lines] == names
    for one in document(tmp_path / "out")["next"]:
        assert one["command"] in said.out
        parsed(one["command"])


def parsed(line):
    """Parse a command line as foreread does."""
    first, *rest = shlex.split(line)
    assert first == "foreread" and rest[0] in COMMANDS
    return build_parser([rest[0]]).parse_args(rest)


def test_a_dry_run_prints_command_lines_and_makes_nothing(machine, tmp_path, run):
    folder = tmp_path / "out"
    options = ["--dry-run", "--tune", "2h", "--scenario", "reader", "--until-idle", "500"]
    lines = run(*words(folder, *options)).out.splitlines()
    names = ["doctor", "record", "predict", "advise", "confirm", "tune", "report", "script"]
    assert [line.split()[1] for line in lines] == names
    assert not folder.exists()
    args = [parsed(line) for line in lines]
    assert args[1].command_line == COMMAND and args[1].until_idle == 500
    assert args[5].budget.seconds == 7200 and args[5].scenario == ["reader"]


def test_the_same_line_again_keeps_every_step(machine, tmp_path, run, capsys):
    folder = tmp_path / "out"
    assert main(words(folder)) == 0
    first, runs = document(folder), len(machine.bench.made)
    capsys.readouterr()
    said = run(*words(folder)).err.splitlines()
    assert all(line.split()[2] == "kept" for line in said) and len(said) == 7
    assert (machine.recorded, len(machine.bench.made)) == (1, runs)
    again = document(folder)
    assert {**again, "steps": []} == {**first, "steps": []}


def test_a_remedy_that_is_no_faster_makes_way_for_the_next_and_nothing_is_installed(
    machine, tmp_path, capsys
):
    machine.changed_s = 1.0
    folder = tmp_path / "out"
    assert main(words(folder)) == 0
    found = document(folder)
    assert found["verdict"] == "keep"
    assert found["answer"].startswith("keep what the machine has")
    rows = [one["row"] for one in found["remedies"] if one["measured"]]
    assert len(rows) == 3
    assert [name for name, _ in states(folder)].count("confirm") == 3
    assert not (folder / "boot").exists()
    assert [one["what"] for one in found["next"]] == ["open the report"]
    assert "--install" not in capsys.readouterr().out


def test_a_lost_board_leaves_the_report_and_the_same_line_goes_on(machine, tmp_path, run):
    folder = tmp_path / "out"

    def lost():
        if machine.bench.made[5:]:
            raise TargetError("the board does not answer", "switch it on")

    machine.fails = lost
    said = run(*words(folder), code=1)
    assert said.err.splitlines()[-1] == "foreread: the board does not answer -- switch it on"
    assert said.out.startswith("predicted: ")
    assert ("confirm", "failed") in states(folder)
    assert (folder / "report/index.html").exists() and (folder / "boot").exists()
    stored = len(read(folder / "app.capture")[0].confirmations[-1].pairs)
    assert stored
    machine.fails = lambda: None
    assert main(words(folder)) == 0
    result = read(folder / "app.capture")[0].confirmations[-1]
    assert result.outcome == "confirmed" and len(result.pairs) > stored
    assert machine.recorded == 1
    assert document(folder)["verdict"] == "confirmed"


def test_ctrl_c_prints_what_was_reached_and_the_same_line_goes_on(machine, tmp_path, capsys):
    folder = tmp_path / "out"

    def ended():
        if machine.bench.made[3:]:
            raise KeyboardInterrupt

    machine.fails = ended
    with pytest.raises(KeyboardInterrupt):
        improve(COMMAND, folder)  # the command line would end this process
    assert states(folder)[-1] == ("confirm", "interrupted")
    assert document(folder)["verdict"] == "predicted"
    machine.fails = lambda: None
    assert main(words(folder)) == 0
    assert ("record", "kept") in states(folder)
    assert document(folder)["verdict"] == "confirmed"


def test_a_machine_that_cannot_record_is_one_line_with_the_remedy(machine, tmp_path, run):
    wrong = Finding("tracefs", False, "not mounted", "mount -t tracefs none /sys/kernel/tracing")
    machine.diagnosis = SimpleNamespace(findings=[wrong], can_record=False)
    folder = tmp_path / "out"
    said = run(*words(folder), code=1)
    assert "recording does not work on this machine: tracefs: not mounted" in said.err
    assert said.err.rstrip().endswith(wrong.remedy)
    assert states(folder) == [("check", "failed")]
    assert said.out == "unknown: there is no answer yet\n"


def disturb(monkeypatch, prediction, recordings):
    """Let so many recordings be of no use, as those of a busy machine."""
    left = iter(range(recordings))

    def predicted(_question, recording):
        if next(left, None) is None:
            return prediction
        again = record_again(recording)
        verdict = Verdict("measure", None, "20 % of the time is unexplained", remedy=again)
        return replace(prediction, verdict=verdict)

    monkeypatch.setattr(Question, "predicted", predicted)


def test_a_disturbed_recording_is_made_again(
    machine, tmp_path, run, monkeypatch, example_prediction
):
    folder = tmp_path / "out"
    disturb(monkeypatch, example_prediction, MOST_RECORDINGS - 1)
    run(*words(folder))
    assert machine.recorded == MOST_RECORDINGS
    assert document(folder)["verdict"] == "confirmed"
    assert f"recorded {MOST_RECORDINGS} times" in document(folder)["steps"][1]["result"]
    assert not (folder / "app.capture.old").exists()


@pytest.mark.thorough
def test_a_machine_that_stays_busy_is_one_line_and_the_same_line_records_again(
    machine, tmp_path, run, monkeypatch, example_prediction
):
    folder = tmp_path / "out"
    disturb(monkeypatch, example_prediction, MOST_RECORDINGS)
    said = run(*words(folder), code=1)
    assert machine.recorded == MOST_RECORDINGS
    assert ("predict", "failed") in states(folder)
    last = said.err.splitlines()[-1]
    assert last.startswith("foreread: 20 % of the time is unexplained (the recording is now in ")
    assert "type the same command line again" in last
    assert (folder / "app.capture.old").is_dir() and not (folder / "app.capture").exists()
    run(*words(folder))
    assert machine.recorded == MOST_RECORDINGS + 1
    assert document(folder)["verdict"] == "confirmed"


@pytest.mark.thorough
def test_a_folder_of_another_command_is_refused(machine, tmp_path, run, capsys):
    folder = tmp_path / "out"
    assert main(words(folder)) == 0
    before = sorted(path for path in folder.rglob("*"))
    for given, what in (
        (
            ["improve", "-o", str(folder), "--", "/bin/other"],
            "another command: /dev/shm/foreread-demo.IuYHQE/start",
        ),
        (words(folder, "--until-idle", "9"), "other options of the run"),
        (words(folder, "--target", "ssh://root@board"), "other options of the run"),
    ):
        capsys.readouterr()
        said = run(*given, code=1).err
        assert what in said and "give another folder with -o" in said
    assert sorted(path for path in folder.rglob("*")) == before


def test_a_folder_with_other_files_is_refused(machine, tmp_path, run):
    (tmp_path / "mine.txt").write_text("mine")
    assert "has other files (mine.txt)" in run(*words(tmp_path), code=1).err
    assert not (tmp_path / "improve.json").exists() and machine.recorded == 0


@pytest.mark.parametrize("text", ["{", '{"schema": 2}', '{"schema": 1}', "[]"])
def test_a_damaged_document_is_one_line(text, machine, tmp_path, run):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "improve.json").write_text(text)
    said = run(*words(folder), code=1).err
    assert "improve.json" in said and " -- " in said and machine.recorded == 0


@pytest.mark.thorough
def test_another_version_of_foreread_does_the_steps_again(machine, tmp_path):
    folder = tmp_path / "out"
    assert main(words(folder)) == 0
    capture, files = read(folder / "app.capture")
    fields = {name: getattr(capture, name) for name in capture.__struct_fields__}
    write(folder / "app.capture", type(capture)(**{**fields, "foreread": "0.0.9"}), files)
    text = (folder / "improve.json").read_text()
    (folder / "improve.json").write_text(
        text.replace(f'"foreread": "{VERSION}"', '"foreread": "0"')
    )
    assert main(words(folder)) == 0
    assert machine.recorded == 2
    assert ("record", "done") in states(folder)
    assert not (folder / "app.capture.old").exists()


def test_options_of_a_tuning_need_a_tuning_and_a_suite_no_command(tmp_path, run):
    folder = tmp_path / "out"
    for given, said in (
        (words(folder, "--scenario", "reader"), "add --tune TIME"),
        (words(folder, "--suite", "x.toml"), "remove a command"),
        (["improve", "-o", str(folder)], "add -- COMMAND"),
        (["improve", "-o", str(folder), "--suite", "x.toml", "--tune", "2h"], "remove --tune"),
    ):
        assert said in run(*given, code=2).err
    assert not folder.exists()


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial/first-capture.md"])
def test_the_pages_show_the_text_of_a_real_answer(page, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    found = decode((DATA / "improved/improve.json").read_bytes(), ImproveDocument)
    text = (ROOT / page).read_text()
    assert improved_text(found) in text
    if page != "README.md":
        for step in found.steps:
            assert f"foreread: {step_text(step)}\n" in text


def test_the_readme_has_at_most_ninety_lines_and_the_tutorial_a_thousand_words():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 90
    assert len((ROOT / "docs/tutorial/first-capture.md").read_text().split()) <= 1000


def test_loads_are_options_of_all_steps_that_predict(machine, tmp_path, run):
    options = ["--dry-run", "--load", "reader", "--load", "writer:/data", "--weigh", "reader=2"]
    args = [parsed(line) for line in run(*words(tmp_path / "out", *options)).out.splitlines()]
    predicting = [given for given in args if hasattr(given, "loads")]
    assert len(predicting) == 4  # predict, advise, report, script
    for given in predicting:
        assert given.loads == ["reader", "writer:/data"]
        assert given.weigh == [("reader", 2.0)]


@pytest.mark.thorough
def test_other_loads_do_the_steps_that_rest_on_them_again(machine, tmp_path, run):
    folder = tmp_path / "out"
    assert main(words(folder)) == 0
    said = run(*words(folder, "--load", "reader")).err.splitlines()
    states = {line.split()[1]: line.split()[2] for line in said}
    assert states["record"] == "kept"
    assert "kept" not in {states[name] for name in ("advise", "report", "script")}
