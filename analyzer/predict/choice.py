"""The model that predicts a recording: the one asked for, or that of the recording's kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from analyzer.error import AnalyzerError
from analyzer.ingest.recording import Recording
from analyzer.predict.disk.device_model import read_device_model
from analyzer.predict.linux import FIXED, model_for, predict_linux
from analyzer.predict.prediction import Prediction
from analyzer.predict.window import predict

Criterion = Literal["seconds", "published"]
SECONDS: Criterion = "seconds"
PUBLISHED: Criterion = "published"


class ChoiceError(AnalyzerError, ValueError):
    """The request needs another model; ``remedy`` names it."""


def predict_by(
    recording: Recording,
    model: str | None = None,
    windows: list[int] | None = None,
    device_model: str | None = None,
    more: Sequence[Recording] = (),
    criterion: Criterion = SECONDS,
) -> Prediction:
    """Return the prediction of one start.

    ``model``: fixed, linux or linux-X.Y; None: that of the recording's kernel, else fixed.
    ``windows`` are pages. ``device_model``: a file with the disk's cost. ``more``: further
    recordings of the same start on the same board. ``criterion`` decides the verdict: predicted
    seconds, or the 2010 paper's F² + G² (published), which ignores the speed of the disk.

    Raises ChoiceError for recordings of different starts and for options that the fixed model
    lacks, and what reading the file raises.
    """
    for other in more:
        _check_same(recording, other)
    found = _predicted(recording, model or model_for(recording), windows, device_model, more)
    return found.by_criterion() if criterion == PUBLISHED else found


def _predicted(
    recording: Recording,
    model: str,
    windows: list[int] | None,
    device_model: str | None,
    more: Sequence[Recording],
) -> Prediction:
    if model != FIXED:
        device = None if device_model is None else read_device_model(device_model)
        return predict_linux(recording, model, windows, device, more)
    if device_model is not None:
        raise ChoiceError(
            "a device model is for seconds, which the fixed model does not predict",
            "remove --device-model, or choose the kernel's model with --model linux",
        )
    if more:
        raise ChoiceError(
            "several captures are for seconds, which the fixed model does not predict",
            "give one capture, or choose the kernel's model with --model linux",
        )
    return predict(recording, windows)


def _check_same(first: Recording, other: Recording) -> None:
    """Raise ChoiceError unless both are recordings of one start on one board."""
    if first.capture is None or other.capture is None:
        raise ChoiceError(
            f"{other.path}: several captures must all be recorded with `foreread record`",
            "give one file",
        )
    for what, one, two in (
        ("command", first.capture.command, other.capture.command),
        ("kernel", first.kernel, other.kernel),
        ("page size", first.page_size, other.page_size),
        ("disks", *({disk for _, disk in r.devices.items()} for r in (first, other))),
    ):
        if one != two:
            raise ChoiceError(
                f"{other.path}: its {what} differs from that of the first capture",
                "give captures of the same start on the same board",
            )
