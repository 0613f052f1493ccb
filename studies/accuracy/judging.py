"""The errors of a prediction from one capture and one device model, against the measured runs.

The prediction is made in this process by the functions that ``foreread predict --measured`` calls,
so that stored captures and sweeps are judged again in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.layout.by_window import predict_on_image
from foreread.analyzer.predict.disk.device_model import read_device_model
from foreread.analyzer.predict.linux import predict_linux
from foreread.analyzer.predict.prediction import Curve, Prediction
from foreread.analyzer.predict.validate import validate
from foreread.boards.base.units import pages_to_kib
from foreread.tracer.formats.sweep import read_sweep
from studies.accuracy.store import Document


def judged(
    capture: Path,
    sweep: Path,
    device: Path | None,
    probe: bool = True,
    image: Path | None = None,
) -> Document:
    """Return the document of ``foreread predict --measured``, and the band at each window.

    ``device`` is a file for ``--device-model``; with None the capture itself has to say what the
    disk costs, without ``probe`` by the run's own requests. Each entry of ``points`` gets ``band``
    (low and high, s; None without seconds) and ``in_band``. ``why`` says why no seconds are
    predicted, and is None if they are. ``image`` is the root's image for a start from compressed
    EROFS. Raises ValueError if the device model or the sweep cannot be used.
    """
    prediction = _predicted(capture, device, probe, image)
    validation = validate(prediction, read_sweep(sweep), _loaded(capture).capture)
    curve = _compared(prediction, validation.device)
    document: Document = msgspec.to_builtins(validation)
    document["points"] = [{**point, **_band(curve, point)} for point in document["points"]]
    document["why"] = prediction.verdict.why if validation.seconds_error_median is None else None
    document["verdict"] = msgspec.to_builtins(prediction.verdict)
    return document


def picks(
    capture: Path, device: Path | None, probe: bool = True, image: Path | None = None
) -> list[int]:
    """Return windows (KiB) that a sweep has to have.

    They are the predicted-best window, the one that the verdict proposes, the published
    criterion's, and the one in force before the recording.
    """
    try:
        prediction = _predicted(capture, device, probe, image)
    except ValueError:
        return []  # the comparison says why
    total = prediction.total
    windows = [pages for pages in (total.predicted_best, total.quasi_optimal) if pages is not None]
    kib = [pages_to_kib(window, prediction.page_size) for window in windows]
    more_kb = (prediction.verdict.read_ahead_kb, total.current_read_ahead_kb)
    return [*kib, *(kb for kb in more_kb if kb is not None)]


@lru_cache(maxsize=32)
def _predicted(capture: Path, device: Path | None, probe: bool, image: Path | None) -> Prediction:
    model = None if device is None else read_device_model(str(device))
    recording = _loaded(capture)
    if not probe:
        recording = replace(recording, probe=None)
    if image is not None:
        return predict_on_image(recording, image, device_model=model)
    return predict_linux(recording, device=model)


@lru_cache(maxsize=1)
def _loaded(capture: Path) -> Recording:
    return load(capture)


def _compared(prediction: Prediction, name: str) -> Curve:
    return next((curve for curve in prediction.devices if curve.name == name), prediction.total)


def _band(curve: Curve, point: Mapping[str, Any]) -> Document:
    """Return the band at a measured window, and whether the measured seconds lie in it."""
    window, measured = point["window"], point["measured"]["seconds"]
    if window not in curve.windows or curve.seconds_low is None or curve.seconds_high is None:
        return {"band": None, "in_band": None}
    row = curve.windows.index(window)
    low, high = curve.seconds_low[row], curve.seconds_high[row]
    if low is None or high is None:
        return {"band": None, "in_band": None}
    return {"band": [low, high], "in_band": low <= measured <= high}
