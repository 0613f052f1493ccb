"""``--load``: a prediction, a table of advice, a script and a report for other readers, too."""

import shlex
from pathlib import Path

import pytest

import foreread
from foreread.analyzer.load.verdicts import MOST_SLOWER
from foreread.question import Question
from foreread.tracer.formats.sweep import Point, Sweep, write_sweep

CAPTURE = Path(__file__).parents[3] / "examples/php-start/php-start.capture.tar.xz"
LOADS = ("--load", "reader", "--load", "memory:8")


@pytest.fixture(scope="module")
def beside():
    """The prediction of the shipped PHP start beside a reader."""
    return foreread.load(CAPTURE).predict(loads=["reader", "memory:8"])


@pytest.fixture
def predicted(monkeypatch, beside):
    """The commands have that prediction, which they do not compute again."""
    questions = []

    def predicted(question, *_, **__):
        questions.append(question)
        return beside

    monkeypatch.setattr(Question, "predicted", predicted)
    return questions


@pytest.mark.thorough
def test_without_a_load_nothing_is_said_about_loads(run_json, run):
    document = run_json("predict", CAPTURE)
    assert "loads" not in document and document["scenario"] == "idle"
    assert "beside" not in run("predict", CAPTURE).out


def test_the_command_prints_the_document_of_the_library(run_json, beside):
    document = run_json("predict", CAPTURE, *LOADS)
    assert document["scenario"] == "idle, reader"
    assert document["verdict"]["read_ahead_kb"] == beside.verdict.read_ahead_kb
    rows = {row["load"]: row for row in document["loads"]["rows"]}
    assert list(rows) == ["idle", "reader", "memory:8"]
    assert all(
        slow > alone
        for slow, alone in zip(rows["reader"]["seconds"], rows["idle"]["seconds"], strict=True)
    )
    assert not rows["memory:8"]["seconds"] and rows["memory:8"]["why"]


def test_the_window_is_not_too_slow_beside_any_load(beside):
    loads = beside.loads
    for row in (row for row in loads.rows if row.predicted):
        seconds = loads.seconds_of(row.load)
        now = seconds[loads.reference_kb]
        assert seconds[beside.verdict.read_ahead_kb] <= (1 + MOST_SLOWER) * now
        assert row.change == pytest.approx(seconds[beside.verdict.read_ahead_kb] / now - 1)


def test_a_sweep_beside_a_load_is_compared_with_the_seconds_beside_it(beside, tmp_path, run_json):
    seconds = beside.loads.seconds_of("reader")
    kbs = [32, 128]
    points = [
        Point(read_ahead_kb=kb, seconds=[2 * seconds[kb]], requests=[9], pages=[9.0]) for kb in kbs
    ]
    sweep = Sweep(scenario="reader", default_read_ahead_kb=128, points=points)
    validation = foreread.validate(beside, sweep)
    assert [point.error.seconds for point in validation.points] == pytest.approx([-0.5, -0.5])
    assert validation.f_error_median is None and validation.pages_error_median is None
    write_sweep(tmp_path / "swept", sweep)
    document = run_json("predict", CAPTURE, "--measured", tmp_path / "swept", "--load", "memory:8")
    assert document["seconds_error_max"] == pytest.approx(0.5, abs=0.01)


def test_a_sweep_beside_a_load_that_is_not_predicted_cannot_be_compared(beside):
    points = [Point(read_ahead_kb=32, seconds=[1.0], requests=[9], pages=[9.0])]
    for scenario in ("memory:8", "writer"):
        with pytest.raises(foreread.ERRORS, match="nothing is predicted for that") as caught:
            foreread.validate(beside, Sweep(scenario=scenario, points=points))
        assert f"--load {scenario} --measured" in caught.value.remedy


def test_the_library_has_the_map_as_a_table(beside):
    table = foreread.table(beside.loads)
    assert list(dict.fromkeys(table["load"].tolist())) == ["idle", "reader"]
    assert table.rows == 2 * len(beside.loads.read_ahead_kb)
    reader = table["load"] == "reader"
    assert dict(zip(table["read_ahead_kb"][reader], table["seconds"][reader], strict=True)) == (
        beside.loads.seconds_of("reader")
    )
    assert (table["seconds_low"] < table["seconds_high"]).all()


def test_the_text_has_a_row_of_verdicts_for_each_load_and_for_all(predicted, run, beside):
    said = run("predict", CAPTURE, *LOADS).out
    lines = said.splitlines()
    assert lines[0] == f"verdict: set read_ahead_kb={beside.verdict.read_ahead_kb}"
    table = [line.split() for line in lines]
    heads = [row[0] for row in table if row]
    assert heads.index("idle") < heads.index("reader") < heads.index("all,")
    assert "memory:8: not predicted: " in said
    assert "on an idle machine, and beside reader" in said
    assert "--scenario" not in said  # the load was asked about
    (question,) = predicted
    assert (question.loads, question.weights) == (("reader", "memory:8"), {})


def test_weights_and_loads_are_given_once_each(predicted, run):
    run("predict", CAPTURE, *LOADS, "--load", "reader", "--weigh", "reader=2.5")
    (question,) = predicted
    assert (question.loads, question.weights) == (("reader", "memory:8"), {"reader": 2.5})


def test_the_script_sets_the_window_for_all_loads_and_says_for_which(
    predicted, run, beside, tmp_path
):
    said = run("script", CAPTURE, *LOADS, "-o", tmp_path / "boot").out
    assert f"read_ahead_kb = {beside.verdict.read_ahead_kb}: " in said
    assert (
        "predicted for an idle machine, and beside reader;"
        in (tmp_path / "boot/foreread-apply").read_text()
    )


@pytest.mark.thorough
def test_advice_offers_no_other_window_than_that_for_all_loads(beside):
    advice = foreread.load(CAPTURE).advise(prediction=beside)
    windows = [row for row in advice.document.rows if row.trial and row.trial.read_ahead_kb]
    assert {row.trial.read_ahead_kb for row in windows} <= {beside.verdict.read_ahead_kb}
    assert not any(row.kind == "phases" for row in advice.document.rows)
    (note,) = [note for note in advice.document.notes if "seconds are of an idle machine" in note]
    command = note.partition("to set it: ")[2]
    assert shlex.split(command)[:3] == ["foreread", "script", str(CAPTURE)]
    assert shlex.split(command)[3:] == [*LOADS, "-o", "boot-script"]


def test_the_report_shows_the_map_of_windows_and_loads(predicted, text_only, run, beside, tmp_path):
    run("report", CAPTURE, *LOADS, "--static", "-o", tmp_path / "report")
    page = (tmp_path / "report/index.html").read_text()
    table = page[page.index('<table class="map"') :].partition("</table>")[0]
    assert table.count('scope="col"') == 3  # window, idle, reader
    assert 'class="right shade-4"' in table and 'class="marked"' in table
    assert "memory:8: not predicted: " in page
    assert "Predicted start-up on an idle machine: " in page
    assert "\\x" not in table
    assert shlex.join(["script", str(CAPTURE), *LOADS]) in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["predict", CAPTURE, "--weigh", "reader=2"], "add --load LOAD"),
        (["predict", CAPTURE, *LOADS, "--explain", "32"], "remove --explain"),
        (["predict", CAPTURE, *LOADS, "--weigh", "reader=0"], "a weight is a number from"),
        (["predict", "suite.toml", *LOADS], "remove --load"),
        (["advise", "suite.toml", *LOADS], "remove --load"),
        (["script", "--uninstall", *LOADS], "--uninstall takes no options"),
        (["improve", "-o", "out", "--suite", "suite.toml", *LOADS], "remove --load"),
    ],
)
def test_loads_that_have_no_meaning_are_wrong_usage(words, said, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said in run(*words, code=2).err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--load", "reader", "--criterion", "published"], 2, "leave out --load"),
        (["--load", "reader", "--model", "fixed"], 2, "leave out --load"),
        (["--load", "reader", "--weigh", "writer=2"], 2, "weigh some of: idle, reader"),
        (["--load", "absent.capture"], 1, "absent.capture"),
        (["--load", CAPTURE], 1, "holds no load -- record what the machine does: foreread record"),
    ],
)
def test_loads_that_cannot_be_predicted_are_refused_with_the_remedy(words, code, said, run):
    answer = run("predict", CAPTURE, *words, code=code)
    assert said in answer.err and answer.out == ""
