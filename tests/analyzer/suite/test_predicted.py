"""The answer for a suite of real captures, against each start alone and against measured sweeps."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from unpacked import unpack

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.predict.criterion import PUBLISHED
from foreread.analyzer.suite.predicted import SuiteQuestion, predict_suite
from foreread.analyzer.suite.read import SuiteError, decode_suite, read_suite
from foreread.tracer.formats.sweep import read_sweep

DATA = Path(__file__).parents[2] / "foreread/data/suite"
WEIGHTS = {"python": 2, "perl": 1, "madplay": 5}
PERL = "arm64-perl-1.capture.tar.xz"


def suite_of(text, name="suite.toml"):
    return decode_suite(b"schema = 1\n" + text.encode(), DATA / name)


def x86_64():
    """The suite with its second board alone."""
    suite = read_suite(DATA / "suite.toml")
    return replace(suite, boards=suite.boards[1:])


def test_one_window_is_chosen_for_the_disk_of_each_board(suite_prediction):
    arm64, x86_64 = suite_prediction.boards
    assert (arm64.name, arm64.captures, x86_64.name) == ("arm64", 4, "x86_64")
    (disk,) = arm64.disks
    assert (disk.name, disk.verdict.action, disk.verdict.by) == ("slow0", "set", "seconds")
    assert disk.read_ahead_kb_now == 128
    assert [start.name for start in disk.starts] == list(WEIGHTS)
    assert [start.captures for start in disk.starts] == [1, 1, 2]
    chosen = disk.seconds_by_window[disk.windows_kb.index(disk.verdict.read_ahead_kb)]
    assert chosen == disk.seconds == pytest.approx(min(disk.seconds_by_window), rel=0.01)


def test_weighted_seconds_are_those_that_were_measured(suite_prediction):
    """Sweeps of the same cells: predicted and measured differ by less than the band."""
    (disk,) = suite_prediction.boards[0].disks
    sweeps = {name: read_sweep(DATA / f"arm64-{name}.sweep.json") for name in WEIGHTS}
    measured = {
        kb: sum(
            weight * point.seconds[0]
            for name, weight in WEIGHTS.items()
            for point in sweeps[name].points
            if point.read_ahead_kb == kb
        )
        for kb in (16, 64, 128, 512)
    }
    predicted = dict(zip(disk.windows_kb, disk.seconds_by_window, strict=True))
    for kb, seconds in measured.items():
        assert predicted[kb] == pytest.approx(seconds, rel=0.03)
    assert min(measured, key=measured.__getitem__) == 64  # of those that were measured for all
    assert predicted[64] < predicted[128]


def test_a_start_has_no_negative_regret_and_the_worst_is_named(suite_prediction):
    (disk,) = suite_prediction.boards[0].disks
    regrets = {start.name: start.regret for start in disk.starts}
    assert min(regrets.values()) >= 0
    assert disk.worst_start == max(regrets, key=regrets.__getitem__)
    assert disk.seconds_each_its_own <= disk.seconds
    for start in disk.starts:
        assert start.own_seconds <= start.seconds
        assert start.seconds_low < start.seconds < start.seconds_high


def test_a_suite_of_one_start_answers_as_the_start_alone():
    suite = suite_of(f'[[start]]\nname = "perl"\nweight = 7\ncaptures = ["{PERL}"]\n')
    (disk,) = predict_suite(suite).boards[0].disks
    alone = predict_by(load(DATA / PERL))
    assert (disk.verdict.action, disk.verdict.read_ahead_kb) == (
        alone.verdict.action,
        alone.verdict.read_ahead_kb,
    )
    assert disk.seconds == pytest.approx(
        7 * alone.total.known_seconds[disk.starts[0].read_ahead_kb]
    )
    assert disk.starts[0].regret == disk.seconds - disk.seconds_each_its_own == 0
    kb = alone.total.read_ahead_kb[alone.total.windows.index(alone.total.quasi_optimal)]
    assert disk.published.read_ahead_kb == kb


@pytest.mark.thorough
def test_the_published_criterion_may_decide():
    (disk,) = predict_suite(x86_64(), SuiteQuestion(criterion=PUBLISHED)).boards[0].disks
    assert disk.verdict.by == "criterion"
    assert disk.verdict.read_ahead_kb == disk.published.read_ahead_kb
    assert disk.seconds == disk.published.seconds > disk.seconds_now


@pytest.mark.thorough
def test_given_windows_are_the_candidates():
    asked = SuiteQuestion(windows_kib=[16, 512])
    (disk,) = predict_suite(x86_64(), asked).boards[0].disks
    assert disk.best_read_ahead_kb in (16, 512)
    assert {0, 16, 128, 512} <= set(disk.windows_kb)


def test_captures_of_another_board_are_refused():
    text = '[[start]]\nname = "one"\ncaptures = ["arm64-python-1.capture.tar.xz"]\n'
    text += '[[start]]\nname = "two"\ncaptures = ["x86_64-python-1.capture.tar.xz"]\n'
    with pytest.raises(
        SuiteError, match="both name the board 'local', but the kernel differs"
    ) as caught:
        predict_suite(suite_of(text))
    assert "its own captures" in caught.value.remedy


def test_captures_of_another_command_are_refused():
    text = f'[[start]]\nname = "perl"\ncommand = ["perl"]\ncaptures = ["{PERL}"]\n'
    with pytest.raises(SuiteError, match="another command than start 'perl'"):
        predict_suite(suite_of(text))


def test_a_trace_without_metadata_is_no_capture_of_a_suite(tmp_path):
    unpack(DATA / PERL, tmp_path)
    trace = tmp_path / PERL.removesuffix(".tar.xz") / "trace"
    suite = suite_of(f'[[start]]\nname = "one"\ncaptures = ["{trace}"]\n')
    with pytest.raises(SuiteError, match="is not a capture of foreread"):
        predict_suite(suite)


def test_a_start_without_seconds_leaves_the_disk_to_be_measured():
    blind = DATA.parent / "no-scheduler/no-scheduler.capture.tar.xz"
    suite = suite_of(f'[[start]]\nname = "blind"\ncaptures = ["{blind}"]\n')
    (disk,) = predict_suite(suite).boards[0].disks
    assert (disk.verdict.action, disk.verdict.read_ahead_kb) == ("measure", None)
    assert "no predicted seconds of blind" in disk.verdict.why
    assert disk.verdict.remedy.startswith("foreread ")
    assert [one.name for one in disk.unpredicted] == ["blind"]


def test_the_document_is_json(suite_prediction):
    document = json.loads(suite_prediction.to_json())
    assert document["schema"] == 1
    assert [board["name"] for board in document["boards"]] == ["arm64", "x86_64"]
