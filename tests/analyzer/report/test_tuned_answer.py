"""The answer of a report with a tuning of the recorded start: the shipped start of PHP."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from foreread.analyzer.report.tuned_answer import answering, tuned_answer, tuned_headline
from foreread.analyzer.report.tuning import compared
from foreread.analyzer.tuner.findings.results import read_results

TUNING = Path(__file__).parents[3] / "examples/php-start/php-start.tuning.gz"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    path = tmp_path_factory.mktemp("php") / "php.tuning"
    path.write_bytes(gzip.decompress(TUNING.read_bytes()))
    return read_results(path)


def subject_of(results, command=None, kernel=None):
    capture = SimpleNamespace(
        command=command or list(results.spec.command),
        host=SimpleNamespace(kernel=kernel or results.spec.board.kernel),
    )
    return SimpleNamespace(tuned=results, recording=SimpleNamespace(capture=capture))


def test_what_was_measured_beside_loads_overrules_the_prediction(results):
    assert answering(subject_of(results)) is results
    assert tuned_headline(results) == "Set read_ahead_kb to 96"
    gain, _, command = tuned_answer(results, ["--target", "php29"])
    assert "idle, reader, writer" in gain.text and "−8.0 %" in gain.text
    assert "The predicted window alone changes it by +7.2 %" in gain.text
    assert command.lines == ["foreread script TUNING -o boot --install --target php29"]


@pytest.mark.parametrize("other", [{"command": ["sh"]}, {"kernel": "7.0"}])
def test_a_tuning_of_another_start_does_not(other, results):
    assert answering(subject_of(results, **other)) is None


def test_an_unconfirmed_tuning_does_not(results):
    assert answering(subject_of(replace(results, confirmation=[]))) is None


def test_the_rows_of_the_result_are_compared(results):
    names = [name for name, _ in compared(results)]
    assert names == ["default", "predicted window alone", "window + genes"]
