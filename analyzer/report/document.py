"""The figures of a report: report.json."""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from foreread.analyzer.advise.document import AdviceDocument
from foreread.analyzer.predict.prediction import PredictionDocument
from foreread.analyzer.predict.validate import Validation
from foreread.analyzer.report.subject import Subject
from foreread.analyzer.tuner.findings.document import TuningDocument
from foreread.analyzer.tuner.findings.document import document as tuning_document
from foreread.boards.base.document import Document, says


class WastedFile(msgspec.Struct, frozen=True):
    """A file, and how many of its pages a window reads that the application never uses."""

    path: str
    requests: Annotated[int, says("read requests of the window")]
    pages_wasted: int
    by_rule: Annotated[dict[str, int], says("unused pages by the kernel's rule that read them")]


class WasteDocument(msgspec.Struct, frozen=True):
    """Unused pages by file."""

    window: Annotated[int, says("in pages")]
    model: Annotated[str, says("model of the readahead")]
    files: list[WastedFile]


class ReportFigures(Document, frozen=True, kw_only=True):
    """The numbers of a report; the report of a TUNING alone has ``tuning`` only."""

    prediction: PredictionDocument | UnsetType = UNSET
    validation: Validation | UnsetType | None = UNSET
    tuning: TuningDocument | None
    waste: WasteDocument | UnsetType = UNSET
    advice: AdviceDocument | UnsetType = UNSET


def figures_of(subject: Subject) -> ReportFigures:
    """Return prediction, validation, tuning, waste by file and rule, and advice."""
    model = subject.prediction.model if subject.causes is not None else "fixed"
    files = [_file(subject, row) for row in np.flatnonzero(subject.waste.wasted).tolist()]
    return ReportFigures(
        prediction=subject.prediction.document(),
        validation=subject.validation,
        tuning=None if subject.tuned is None else tuning_document(subject.tuned),
        waste=WasteDocument(subject.window, model, files),
        advice=UNSET if subject.advice is None else subject.advice,
    )


def _file(subject: Subject, row: int) -> WastedFile:
    of_rules = {
        caused.cause.name.lower(): int(caused.wasted[row])
        for caused in subject.causes or []
        if caused.wasted[row]
    }
    waste = subject.waste
    return WastedFile(subject.path(row), int(waste.requests[row]), int(waste.wasted[row]), of_rules)
