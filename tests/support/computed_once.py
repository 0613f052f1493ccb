"""What commands compute of the same capture, computed once in a worker.

Most tests of commands read and predict the shipped example, and look at what the command makes of
that. The results are immutable, and depend on nothing but what is in the keys here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import fields
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from foreread.analyzer.ingest import load
from foreread.analyzer.ingest.isolated import call
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict import choice
from foreread.analyzer.predict.linux import PREFIX, predict_linux
from foreread.analyzer.predict.prediction import Prediction
from foreread.boards.judged import judged_kernels
from foreread.emulator.devices.device import DeviceModel

_MOST_KEPT = 12  # recordings and predictions: each worker runs modules with captures of their own
_MOST_BYTES = 4 << 20  # of a capture's archive; the shipped example has 0.1 MB
_recordings: dict[object, Any] = {}
_predictions: dict[object, tuple[Prediction, Sequence[Recording]]] = {}


def read_once(function: Callable[..., Any], path: Path, *arguments: Any) -> Any:
    """Return what ``isolated.call`` does, the same for archives of one content."""
    if function is not load.read or not path.is_file() or path.stat().st_size > _MOST_BYTES:
        return call(function, path, *arguments)
    pids, _scratch, page_size, inodes = arguments
    if inodes is not None:
        return call(function, path, *arguments)
    # A test may replace the reader; a fork cannot ask the one of its parent for fields.
    how = (load.interpret, os.environ.get("FOREREAD_READER"), os.getpid())
    key = (_digest(path), repr(pids), page_size, how)
    if key not in _recordings:
        _forget(_recordings)
        _recordings[key] = call(function, path, *arguments)
    return _recordings[key]


def predict_once(
    recording: Recording,
    model: str = PREFIX,
    windows: list[int] | None = None,
    device: DeviceModel | None = None,
    more: Sequence[Recording] = (),
) -> Prediction:
    """Return what ``predict_linux`` does, the same for recordings of one reading."""
    recordings = (recording, *more)
    of = tuple(map(_parts, recordings))
    key = (of, model, windows and tuple(windows), repr(device), repr(judged_kernels()))
    if key not in _predictions:
        _forget(_predictions)
        found = predict_linux(recording, model, windows, device, more)
        _predictions[key] = found, recordings  # kept, so that no other object gets an id of theirs
    return _predictions[key][0]


def _parts(recording: Recording) -> tuple[object, ...]:
    """Return what a reading has that another, or one that a test has changed, does not."""
    parts = [id(getattr(recording, each.name)) for each in fields(recording) if each.name != "path"]
    return (recording.path, *parts)


def _digest(path: Path) -> bytes:
    return blake2b(path.read_bytes()).digest()


def _forget(kept: dict[object, Any]) -> None:
    if len(kept) == _MOST_KEPT:
        del kept[next(iter(kept))]


@pytest.fixture(autouse=True)
def computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands and the library compute once what they would compute again."""
    monkeypatch.setattr(load, "call", read_once)
    monkeypatch.setattr(choice, "predict_linux", predict_once)
