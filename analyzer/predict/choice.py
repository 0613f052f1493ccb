"""The model that predicts a recording: a chosen model, or the readahead of its own kernel."""

from __future__ import annotations

from collections.abc import Sequence

from foreread.analyzer.error import ArgumentError
from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.counts import FIXED
from foreread.analyzer.predict.criterion import PUBLISHED, SECONDS, Criterion
from foreread.analyzer.predict.disk.device_model import device_from
from foreread.analyzer.predict.linux import model_for, predict_linux
from foreread.analyzer.predict.prediction import Prediction
from foreread.analyzer.predict.window import predict
from foreread.emulator.devices.device import DeviceModel


class ChoiceError(ArgumentError):
    """The request needs another model; ``remedy`` names it."""


def predict_by(
    recording: Recording,
    model: str | None = None,
    windows: list[int] | None = None,
    device_model: DeviceModel | StrPath | None = None,
    more: Sequence[Recording] = (),
    criterion: Criterion = SECONDS,
) -> Prediction:
    """Predict what every readahead window would read, and how long the start would take with it.

    Args:
        recording: a start, read by :func:`foreread.load`.
        model: "fixed" (the 2010 paper's fixed window), "linux" (the readahead of the recording's
            kernel, with seconds) or "linux-X.Y" (of another kernel); None: linux for a capture
            of a known kernel made at read_ahead_kb=0, else fixed.
        windows: windows in pages; None: 0 to 1023, and that in force if it is larger.
        device_model: what requests of the disk cost: a device, a file that ``foreread calibrate``
            wrote, or a board profile; None: learnt from the recording.
        more: further recordings of the same start on the same board; they narrow the band.
        criterion: what decides the verdict: predicted "seconds", or "published", the 2010 paper's
            F² + G², which ignores the speed of the disk.

    Raises:
        ChoiceError: recordings of different starts, an unknown criterion, or options that the fixed
            model lacks.
        DeviceModelError, ProfileError: the device model cannot be read.
        KernelError: the readahead of this kernel is unknown.
    """
    if criterion not in (SECONDS, PUBLISHED):
        raise ChoiceError(
            f"{criterion!r} is not a criterion", f"choose {SECONDS!r} or {PUBLISHED!r}"
        )
    for other in more:
        check_same(recording, other)
    prediction = _predicted(recording, model or model_for(recording), windows, device_model, more)
    return prediction.by_criterion() if criterion == PUBLISHED else prediction


def _predicted(
    recording: Recording,
    model: str,
    windows: list[int] | None,
    device_model: DeviceModel | StrPath | None,
    more: Sequence[Recording],
) -> Prediction:
    if model != FIXED:
        return predict_linux(recording, model, windows, device_from(device_model), more)
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


def check_same(first: Recording, other: Recording) -> None:
    """Raise ChoiceError unless both are recordings of one start on one board."""
    if first.capture.command is None or other.capture.command is None:
        raise ChoiceError(
            f"{other.path}: several captures must all be recorded with `foreread record`",
            "give one file",
        )
    for what, of_first, of_other in (
        ("command", first.capture.command, other.capture.command),
        ("kernel", first.kernel, other.kernel),
        ("page size", first.page_size, other.page_size),
        ("disks", *({disk for _, disk in r.devices.items()} for r in (first, other))),
    ):
        if of_first != of_other:
            raise ChoiceError(
                f"{other.path}: its {what} differs from the first capture's",
                "give captures of the same start on the same board",
            )
