"""The document of ``foreread calibrate --json``."""

from __future__ import annotations

from typing import Annotated

import msgspec

from foreread.analyzer.predict.disk.calibration import Found, Trial
from foreread.boards.base.document import Document, says
from foreread.boards.base.units import KIB
from foreread.boards.cost import Cost


class TrialDocument(msgspec.Struct, frozen=True):
    """Requests of one size and order, measured, and the model's error."""

    request_kib: int
    sequential: bool
    depth: Annotated[int, says("requests under way at a time")]
    requests: Annotated[int, says("number of requests")]
    per_second: Annotated[float, says("requests per second")]
    bytes_per_second: float
    error: Annotated[float, says("of the model, as a fraction")]


class CalibrationDocument(Document, frozen=True, kw_only=True):
    """What requests of a disk cost, and how exact the model is."""

    device: Annotated[str, says("path of the device, file or folder that was read")]
    size_bytes: int
    cost: Cost
    summary: Annotated[str, says("the cost in words")]
    error_median: Annotated[float, says("of the model over the trials, as a fraction")]
    error_worst: Annotated[float, says("of the model over the trials, as a fraction")]
    trials: list[TrialDocument]


def trial_documents(trials: list[Trial], fit: Found) -> list[TrialDocument]:
    """Return the rows of the trials."""
    return [_row(trial, error) for trial, error in zip(trials, fit.errors, strict=True)]


def _row(trial: Trial, error: float) -> TrialDocument:
    each = trial.per_second()
    return TrialDocument(
        request_kib=trial.kib,
        sequential=trial.sequential,
        depth=trial.depth,
        requests=len(trial.done_ns),
        per_second=each,
        bytes_per_second=each * trial.kib * KIB,
        error=error,
    )
