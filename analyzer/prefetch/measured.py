"""The measured four cases: the file that studies/prefetch/measure.py writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from foreread.analyzer.prefetch.cases import CASES, CaseName, Comparison
from foreread.analyzer.prefetch.listing import PrefetchError
from foreread.boards.base.document import Document, read_document
from foreread.tracer.formats.capture import Count
from foreread.tracer.formats.sweep import Measured

_REMEDY = "give measured.json of studies/prefetch/measure.py"


class MeasuredCase(msgspec.Struct, frozen=True, kw_only=True):
    """All cold runs of one case, in order; the lists have equal lengths.

    ``requests`` and ``read_bytes`` are the reads that the disk served, metadata included.
    """

    name: CaseName
    read_ahead_kb: Count
    seconds: list[Measured]
    requests: list[Count]
    read_bytes: list[Count]


class Measurement(Document, frozen=True, kw_only=True):
    """The cases in the order of CASES."""

    kernel: str = ""
    command: list[str] = msgspec.field(default_factory=list)
    cases: list[MeasuredCase]


@dataclass(frozen=True)
class Listed:
    """The predictions for a list, and its measurements, if any."""

    comparison: Comparison
    measurement: Measurement | None = None


def read_measurement(path: Path) -> Measurement:
    """Return the measurement in a file. Raises PrefetchError."""
    measurement = read_document(path, Measurement, PrefetchError, _REMEDY)
    if tuple(case.name for case in measurement.cases) != CASES:
        raise PrefetchError(f"{path}: not the cases {', '.join(CASES)}", _REMEDY)
    for case in measurement.cases:
        if not case.seconds or {len(case.requests), len(case.read_bytes)} != {len(case.seconds)}:
            raise PrefetchError(f"{path}: {case.name}: no run, or parts of one", _REMEDY)
    return measurement
