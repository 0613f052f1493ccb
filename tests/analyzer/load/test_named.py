"""The loads that a user names: scenarios by their name, captures by their path."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from prediction_builder import prediction_of

from foreread.analyzer.load import named
from foreread.analyzer.load.client import Load
from foreread.analyzer.load.error import LoadError
from foreread.analyzer.load.named import predict_beside
from foreread.analyzer.predict.choice import ChoiceError

DISK = 8 << 20


@pytest.fixture
def seen(monkeypatch):
    """What the functions that make a load were given."""
    calls = []

    def noted(kind):
        def make(text, start):
            calls.append((kind, text, start.disk))
            return Load(f"of the {kind}")

        return make

    monkeypatch.setattr(named, "load_in", noted("capture"))
    monkeypatch.setattr(named, "load_of_scenario", noted("scenario"))
    monkeypatch.setattr(named, "with_loads", lambda _, loads, weights: (loads, weights))
    return calls


@pytest.fixture
def prediction():
    start = SimpleNamespace(disk=DISK)
    return replace(prediction_of(), model="linux-6.1", starts=(start,))


def test_scenarios_and_captures_keep_the_words_of_the_user(seen, prediction, tmp_path):
    words = ["reader:/film=1", tmp_path / "load.capture", "reader.capture"]
    loads, weights = predict_beside(prediction, words, {"reader:/film=1": 2.0})
    assert [load.name for load in loads] == list(map(str, words))
    assert weights == {"reader:/film=1": 2.0}
    assert seen == [
        ("scenario", "reader:/film=1", DISK),
        ("capture", str(tmp_path / "load.capture"), DISK),
        ("capture", "reader.capture", DISK),
    ]


@pytest.mark.parametrize("text", ["reader:film", "idle:1"])
def test_a_scenario_that_cannot_be_is_refused(text, prediction):
    with pytest.raises(LoadError):
        predict_beside(replace(prediction, starts=()), [text])


@pytest.mark.parametrize("change", [{"model": "fixed"}, {"criterion": "published"}])
def test_without_seconds_by_the_model_no_load_can_be_given(change, prediction):
    fixed = replace(prediction, model=change.get("model", prediction.model))
    with pytest.raises(ChoiceError, match="loads and memory change seconds") as caught:
        predict_beside(fixed, ["reader"], criterion=change.get("criterion", "seconds"))
    assert "leave out --load" in caught.value.remedy
