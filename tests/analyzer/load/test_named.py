"""The loads that a user names: scenarios by their name, captures by their path or as read."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from capture_builder import capture_of
from event_table import table
from prediction_builder import prediction_of

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.load import named
from foreread.analyzer.load.client import Load
from foreread.analyzer.load.error import LoadError
from foreread.analyzer.load.named import predict_beside
from foreread.analyzer.predict.choice import ChoiceError

DISK = 8 << 20


@pytest.fixture
def seen(monkeypatch):
    """What the functions that make a load were given."""
    seen = []
    recording = interpret(Trace("test", table()), capture_of(), [], "all")

    def read(path):
        seen.append(("read", path))
        return recording

    def load_of(of, disk):
        seen.append(("capture", of is recording, disk))
        return Load("of the capture")

    def load_of_scenario(text, start):
        seen.append(("scenario", text, start.disk))
        return Load("of the scenario")

    monkeypatch.setattr(named, "read", read)
    monkeypatch.setattr(named, "load_of", load_of)
    monkeypatch.setattr(named, "load_of_scenario", load_of_scenario)
    monkeypatch.setattr(named, "with_loads", lambda _, loads, weights: (loads, weights))
    return SimpleNamespace(calls=seen, recording=recording)


@pytest.fixture
def prediction():
    start = SimpleNamespace(disk=DISK)
    return replace(prediction_of(), model="linux-6.1", starts=(start,))


def test_scenarios_and_captures_keep_the_words_of_the_user(seen, prediction, tmp_path):
    words = ["reader:/film=1", tmp_path / "load.capture", "reader.capture"]
    loads, weights = predict_beside(prediction, words, {"reader:/film=1": 2.0})
    assert [load.name for load in loads] == list(map(str, words))
    assert weights == {"reader:/film=1": 2.0}
    assert seen.calls == [
        ("scenario", "reader:/film=1", DISK),
        ("read", str(tmp_path / "load.capture")),
        ("capture", True, DISK),
        ("read", "reader.capture"),
        ("capture", True, DISK),
    ]


def test_a_capture_that_was_read_is_not_read_again(seen, prediction):
    ((load,), _) = predict_beside(prediction, [seen.recording])
    assert load.name == str(seen.recording.path)
    assert seen.calls == [("capture", True, DISK)]


@pytest.mark.parametrize("text", ["reader:film", "idle:1"])
def test_a_scenario_that_cannot_be_is_refused(text, prediction):
    with pytest.raises(LoadError):
        predict_beside(replace(prediction, starts=()), [text])


@pytest.mark.parametrize("change", [{"model": "fixed"}, {"criterion": "published"}])
def test_without_seconds_by_the_model_no_load_can_be_given(change, prediction):
    fixed = replace(prediction, model=change.get("model", prediction.model))
    with pytest.raises(ChoiceError, match="a load changes seconds") as caught:
        predict_beside(fixed, ["reader"], criterion=change.get("criterion", "seconds"))
    assert "leave out --load" in caught.value.remedy
