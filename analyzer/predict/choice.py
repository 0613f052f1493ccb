"""The model that predicts a recording: the one asked for, or that of the recording's kernel."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.error import AnalyzerError
from analyzer.ingest.recording import Recording
from analyzer.predict.disk.device_model import read_device_model
from analyzer.predict.linux import FIXED, model_for, predict_linux
from analyzer.predict.prediction import Prediction
from analyzer.predict.window import predict


class ChoiceError(AnalyzerError, ValueError):
    """The request needs another model; ``remedy`` names it."""


def predict_by(
    recording: Recording,
    model: str | None = None,
    windows: list[int] | None = None,
    device_model: str | None = None,
    more: Sequence[Recording] = (),
) -> Prediction:
    """Return the prediction of one start.

    ``model``: fixed, linux or linux-X.Y; None: that of the recording's kernel, else fixed.
    ``windows`` are pages. ``device_model``: a file with the disk's cost. ``more``: further
    recordings of the same start. Raises ChoiceError for options that the fixed model lacks, and
    what reading the file raises.
    """
    model = model or model_for(recording)
    if model != FIXED:
        device = None if device_model is None else read_device_model(device_model)
        return predict_linux(recording, model, windows, device, more)
    if device_model is not None:
        raise ChoiceError("a device model needs predicted seconds", "choose the model linux")
    if more:
        raise ChoiceError("several captures need predicted seconds", "choose the model linux")
    return predict(recording, windows)
