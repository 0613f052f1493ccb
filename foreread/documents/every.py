"""Every document that foreread writes as JSON, by the name of its JSON Schema.

The schemas are for programs that read foreread's output; this module is for those who publish or
check them (docs/make_schemas.py, the tests).
"""

from __future__ import annotations

import msgspec

from analyzer.confirm.document import ConfirmationDocument
from analyzer.predict.disk.document import CalibrationDocument
from analyzer.predict.prediction import PredictionDocument
from analyzer.predict.validate import Validation
from analyzer.report.document import ReportFigures
from analyzer.tuner.findings.document import TuningDocument
from boards.profile import Profile
from foreread.documents.boards import (
    BoardRunDocument,
    BoardsDocument,
    StartedBoard,
    StoppedDocument,
)
from foreread.documents.doctor import DoctorDocument
from foreread.documents.fingerprint import DoneDocument, PeriodDocument, WatchScriptDocument
from foreread.documents.prefetch import PrefetchDocument
from foreread.documents.record import RecordDocument
from foreread.documents.report import ReportDocument
from foreread.documents.script import ScriptDocument, UninstalledDocument
from foreread.documents.show import ShowDocument
from tracer.formats.capture import Capture
from tracer.formats.sweep import Sweep

# What a command prints with --json; of several, the one that fits.
COMMANDS: dict[str, tuple[type[msgspec.Struct], ...]] = {
    "doctor": (DoctorDocument,),
    "record": (RecordDocument,),
    "show": (ShowDocument,),
    "predict": (PredictionDocument,),
    "calibrate": (CalibrationDocument,),
    "confirm": (ConfirmationDocument,),
    "sweep": (Sweep,),
    "tune": (TuningDocument,),
    "validate": (Validation,),
    "report": (ReportDocument,),
    "script": (ScriptDocument, UninstalledDocument),
    "prefetch": (PrefetchDocument,),
    "fingerprint": (PeriodDocument, DoneDocument, WatchScriptDocument),
    "boards-list": (BoardsDocument,),
    "boards-show": (Profile,),
    "boards-new": (Profile,),
    "boards-run": (BoardRunDocument,),
    "boards-start": (StartedBoard,),
    "boards-stop": (StoppedDocument,),
}
# Files: capture.json of a capture, report.json of a report. A SWEEP is what sweep prints.
FILES: dict[str, tuple[type[msgspec.Struct], ...]] = {
    "capture-metadata": (Capture,),
    "report-figures": (ReportFigures,),
}
