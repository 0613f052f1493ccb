"""Numbers for other tools, and the history that diff, predict and sweep keep."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import foreread
from foreread.analyzer.metrics.history import add_to_history, read_history
from foreread.analyzer.metrics.metric import SECONDS
from foreread.analyzer.metrics.results import of_difference, of_prediction, of_suite, of_sweep
from foreread.cli.arguments.forms import FORMS
from foreread.cli.commands import diff as diff_command
from foreread.cli.commands import sweep as sweep_command
from foreread.tracer.formats.sweep import Killed, Point, Sweep

DATA = Path(__file__).parents[1] / "data"
CAPTURE = DATA / "suite/arm64-madplay-1.capture.tar.xz"
BLIND = DATA / "no-scheduler/no-scheduler.capture.tar.xz"
MADPLAY = "madplay -Q -o null: -t 1 /sample.mp3"


def values(metrics, name):
    """The values of a measure, by start, disk and window."""
    return {
        tuple(metric.labels.get(label) for label in ("start", "disk", "window")): metric.value
        for metric in metrics
        if metric.name == name
    }


def gauges(path):
    """What Prometheus reads in a file: the value of each sample, by name and window."""
    return {
        (sample.name, sample.labels["window"]): sample.value
        for family in text_string_to_metric_families(path.read_text())
        for sample in family.samples
    }


def test_predict_writes_the_numbers_of_its_document(tmp_path, run_json):
    files = {form: tmp_path / form for form in FORMS}
    options = [word for form, path in files.items() for word in (f"--{form}", path)]
    document = run_json("predict", CAPTURE, *options)
    total = document["total"]
    present, proposed = total["current_read_ahead_kb"], document["verdict"]["read_ahead_kb"]
    found = gauges(files["openmetrics"])
    for window, kb in (("present", present), ("proposed", proposed)):
        at = total["read_ahead_kb"].index(kb)
        for name, column in (
            (SECONDS, "seconds"),
            ("start_low_seconds", "seconds_low"),
            ("start_high_seconds", "seconds_high"),
            ("requests", "F"),
            ("read_pages", "pages"),
            ("read_ahead_kib", "read_ahead_kb"),
        ):
            assert found[f"foreread_{name}", window] == total[column][at]
    bencher = json.loads(files["bencher"].read_text())
    assert sum(len(measures) for measures in bencher.values()) == 8
    assert len(json.loads(files["github-benchmark"].read_text())) == 2
    assert files["lava"].read_text().count("\nlava-test-case ") == 8


@pytest.mark.thorough
def test_diff_writes_the_numbers_of_new_and_the_seconds_of_old(tmp_path, run_json):
    path = tmp_path / "numbers"
    old = DATA / "suite/arm64-5.10-madplay-1.capture.tar.xz"
    (start,) = run_json("diff", old, CAPTURE, "--openmetrics", path)["starts"]
    found = gauges(path)
    assert found["foreread_start_seconds", "present"] == start["new"]["seconds"]
    assert found["foreread_baseline_seconds", "present"] == start["old"]["seconds"]
    assert found["foreread_requests", "present"] == start["new"]["requests"]


def test_a_suite_has_the_numbers_of_each_start_and_their_sum(suite_prediction):
    metrics = of_suite(suite_prediction)
    board = suite_prediction.boards[0]
    disk = board.disks[0]
    seconds = values([m for m in metrics if m.labels["board"] == board.name], SECONDS)
    for start in disk.starts:
        assert seconds[start.name, disk.name, "present"] == start.seconds_now
        assert seconds[start.name, disk.name, "proposed"] == start.seconds
    of_board = [m for m in metrics if m.labels["board"] == board.name]
    assert values(of_board, "weighted_seconds")[None, disk.name, "present"] == disk.seconds_now


def test_predict_writes_the_numbers_of_a_suite(suite_prediction, tmp_path, run, monkeypatch):
    monkeypatch.setattr(
        "foreread.analyzer.suite.predicted.predict_suite", lambda *_: suite_prediction
    )
    path, history = tmp_path / "numbers", tmp_path / "history"
    run("predict", DATA / "suite/suite.toml", "--lava", path, "--history", history, "a1")
    assert "weighted_seconds-present-all-starts-on-arm64" in path.read_text()
    assert read_history(history).entries[0].metrics == of_suite(suite_prediction)


def test_a_trace_without_a_known_window_has_the_numbers_without_readahead():
    start = foreread.load(BLIND)
    prediction = start.predict()
    metrics = of_prediction(prediction, start.capture, BLIND)
    windows = {metric.labels["window"] for metric in metrics}
    assert windows <= {"present", "none", "proposed"}
    assert values(metrics, SECONDS) == {}
    assert values(metrics, "requests")


POINTS = [
    Point(read_ahead_kb=32, seconds=[1.0], requests=[5], pages=[50.0]),
    Point(read_ahead_kb=128, seconds=[3.0, 2.0, 7.0], requests=[9, 8, 7], pages=[90.0, 80.0, 85.0]),
]
KILLED = Point(
    read_ahead_kb=128, seconds=[], requests=[], pages=[], killed=[Killed(by="time", seconds=9.0)]
)
SWEEP = Sweep(
    command=["app", "--now"], board="aarch64 box", default_read_ahead_kb=128, points=POINTS
)


def test_a_sweep_has_the_medians_at_the_present_window():
    metrics = of_sweep(SWEEP)
    assert values(metrics, SECONDS) == {("app --now", None, "present"): 3.0}
    assert values(metrics, "requests") == {("app --now", None, "present"): 8}
    (seconds, *_) = metrics
    assert (seconds.low, seconds.high) == (2.0, 7.0)
    assert seconds.title == "app --now on aarch64 box, measured, present window"


@pytest.mark.parametrize(
    "changes",
    [
        {"default_read_ahead_kb": None},
        {"default_read_ahead_kb": 64},
        {"points": [KILLED]},
    ],
    ids=["unknown window", "window not measured", "no runs"],
)
def test_a_sweep_without_runs_at_the_present_window_has_no_numbers(changes):
    known = {"command": ["app"], "default_read_ahead_kb": 128, "points": POINTS, **changes}
    assert of_sweep(Sweep(**known)) == []


def test_a_sweep_beside_a_load_is_another_subject():
    known = {"command": ["app"], "default_read_ahead_kb": 128, "points": POINTS}
    idle, loaded = of_sweep(Sweep(**known)), of_sweep(Sweep(**known, scenario="reader"))
    assert idle[0].subject != loaded[0].subject
    assert loaded[0].subject["beside"] == "reader"


def test_a_sweep_is_added_to_its_history(tmp_path, run, monkeypatch):
    monkeypatch.setattr(sweep_command, "sweep", lambda *_, **__: SWEEP)
    history = tmp_path / "history"
    words = ("sweep", "-o", tmp_path / "new", "--history", history, "a1", "--", "app")
    assert f"{history}: no drift in 1 commit\n" in run(*words).err
    assert read_history(history).entries[0].metrics == of_sweep(SWEEP)


def test_a_sweep_without_the_present_window_has_no_history(tmp_path, run, monkeypatch):
    swept = replace(SWEEP, points=POINTS[:1])
    monkeypatch.setattr(sweep_command, "sweep", lambda *_, **__: swept)
    history = tmp_path / "history"
    words = ("sweep", "-o", tmp_path / "new", "--history", history, "a1", "--", "app")
    assert "name the present window in --windows" in run(*words, code=1).err
    assert not history.exists()


@pytest.fixture
def compared():
    """A difference of the capture with itself, within its limit."""
    return foreread.diff(CAPTURE, CAPTURE, 0.03)


def with_history(path, difference, commits=20, per_commit=0.99):
    """Write a history in which the start became slower until it takes the time of now."""
    for at in range(commits, 0, -1):
        metrics = [
            replace(metric, value=metric.value * per_commit**at)
            for metric in of_difference(difference)
        ]
        add_to_history(path, f"c{commits - at}", metrics)


def test_a_drift_fails_the_command_after_its_output(compared, tmp_path, run, monkeypatch):
    """Each commit is a hundredth slower than the one before: the limit of 3 % sees none."""
    monkeypatch.setattr(diff_command, "diff", lambda *_, **__: compared)
    history, plot = tmp_path / "history", tmp_path / "plot.svg"
    with_history(history, compared)
    words = ("diff", CAPTURE, CAPTURE, "--max-regression", "3%", "--history", history, "now")
    said = run(*words, "--plot", plot, code=1)
    assert said.out.startswith("passed: ")
    (line,) = said.err.splitlines()
    assert line.startswith(f"foreread: drift: {MADPLAY} on aarch64")
    assert line.endswith(f"begin another history: mv {history} {history}.1")
    assert "drift, +" in plot.read_text()
    assert len(read_history(history).entries) == 21


def test_another_start_is_refused(compared, tmp_path, run, monkeypatch):
    monkeypatch.setattr(diff_command, "diff", lambda *_, **__: compared)
    history = tmp_path / "history"
    add_to_history(history, "a1", of_sweep(SWEEP))
    before = history.read_bytes()
    said = run("diff", CAPTURE, CAPTURE, "--history", history, "b2", code=1)
    assert "is the history of app --now on aarch64 box, measured, and the result is of" in said.err
    assert history.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--plot", "p.svg"], "add --history FILE COMMIT"),
        (["--history", "h", ""], '--history h "$(git rev-parse HEAD)"'),
        (["--history", "h", "c" * 201], "write a commit of 1 to 200 characters"),
        (["--explain", "32", "--lava", "x"], "remove --lava"),
        (["--measured", "s", "--history", "h", "a1"], "remove --history"),
    ],
    ids=["plot alone", "no commit", "long commit", "explain", "measured"],
)
def test_options_that_do_not_fit_are_wrong_usage(words, said, run):
    assert said in run("predict", CAPTURE, *words, code=2).err


def test_a_history_option_without_a_commit_is_wrong_usage(run):
    assert "expected 2 arguments" in run("predict", CAPTURE, "--history", "h", code=2).err


def test_a_start_without_seconds_has_no_history(tmp_path, run):
    history = tmp_path / "history"
    said = run("predict", BLIND, "--history", history, "a1", code=1)
    assert "the result has no seconds" in said.err
    assert not history.exists()
