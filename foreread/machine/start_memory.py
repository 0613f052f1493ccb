"""Whether the memory of a machine holds a recorded start."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.memory import shortage
from foreread.analyzer.predict.prediction import Prediction
from foreread.boards.base.units import (
    KIB,
    kib_text,
    kib_to_pages,
    pages_to_kib,
    size_text,
    size_word,
)
from foreread.question import Question
from foreread.tracer.doctor.examine import Diagnosis
from foreread.tracer.doctor.tunable import Finding

_NAME = "memory of the start"


def predicted_start(capture: Path) -> Prediction:
    """Return the prediction of the start in a capture; raises as ``load`` and ``Question``."""
    return Question().predicted(load(capture))


def with_start(diagnosis: Diagnosis, prediction: Prediction, capture: Path) -> Diagnosis:
    """Return a diagnosis with a finding on the memory that the predicted start of a capture needs.

    The window is that of the verdict, or the fastest one where the verdict has none.
    """
    finding = _finding(prediction, diagnosis.available_kib, shlex.quote(str(capture)))
    return replace(diagnosis, findings=[*diagnosis.findings, finding])


def _finding(prediction: Prediction, available_kib: int | None, capture: str) -> Finding:
    verdict, bands = prediction.verdict, prediction.bands
    if not prediction.starts or bands is None:
        return Finding(_NAME, False, f"unknown: {verdict.why}", verdict.remedy or "")
    if available_kib is None:
        return Finding(_NAME, False, "unknown: /proc/meminfo is not readable", "mount /proc")
    page_size, kb = prediction.page_size, verdict.read_ahead_kb
    window = bands.best if kb is None else kib_to_pages(kb, page_size)
    short = shortage(prediction.starts[0], window, available_kib)
    if short is not None:
        remedy = f"foreread predict {capture} --memory {size_word(available_kib)}"
        return Finding(_NAME, False, short, remedy)
    place = kib_text(pages_to_kib(window, page_size))
    return Finding(_NAME, True, f"held at {place} by {size_text(available_kib * KIB)}")
