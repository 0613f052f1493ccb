"""Which model predicts a recording, and what the fixed one lacks."""

from pathlib import Path

import pytest

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.choice import ChoiceError, predict_by
from foreread.analyzer.predict.window import predict

CAPTURE = Path(__file__).parents[3] / "examples/python-start/python-start.capture.tar.xz"
WINDOWS = [0, 8, 32]


@pytest.fixture(scope="module")
def recording():
    return load(CAPTURE, "tree")


def test_the_fixed_model_is_that_of_predict(recording):
    found = predict_by(recording, "fixed", WINDOWS)
    assert found.to_json() == predict(recording, WINDOWS).to_json()


def test_without_a_model_the_recordings_kernel_decides(recording):
    assert predict_by(recording, None, WINDOWS).model.startswith("linux")


def test_the_fixed_model_refuses_what_only_seconds_use(recording):
    with pytest.raises(ChoiceError, match="device model") as caught:
        predict_by(recording, "fixed", WINDOWS, "disk.toml")
    assert caught.value.remedy
    with pytest.raises(ChoiceError, match="several captures"):
        predict_by(recording, "fixed", WINDOWS, more=[recording])
