"""Every document that foreread writes as JSON, by the name of its JSON Schema.

The schemas are for programs that read foreread's output; this module is for those who publish or
check them (docs/tools/json_schemas.py, the tests).
"""

from __future__ import annotations

import msgspec

from foreread.analyzer.advise.document import AdviceDocument
from foreread.analyzer.advise.parts_document import PartsDocument
from foreread.analyzer.advise.stale import StalenessDocument
from foreread.analyzer.confirm.document import ConfirmationDocument
from foreread.analyzer.diff.document import DiffDocument
from foreread.analyzer.export.make import ExportDocument
from foreread.analyzer.fleet.document import FleetAnalysed, FleetFigures, FleetReportDocument
from foreread.analyzer.forecast.document import Forecast
from foreread.analyzer.forecast.patch_document import PatchForecast
from foreread.analyzer.metrics.history import History
from foreread.analyzer.predict.disk.document import CalibrationDocument
from foreread.analyzer.predict.prediction import PredictionDocument
from foreread.analyzer.predict.validate import Validation
from foreread.analyzer.prefetch.state import ListState
from foreread.analyzer.report.document import ReportFigures
from foreread.analyzer.suite.answer import SuiteAdvice, SuiteDocument
from foreread.analyzer.suite.document import SuiteFile
from foreread.analyzer.tuner.findings.document import TuningDocument
from foreread.boards.profile import Profile
from foreread.documents.boards import (
    BoardRunDocument,
    BoardsDocument,
    StartedBoard,
    StoppedDocument,
)
from foreread.documents.confirm import ScenariosDocument
from foreread.documents.doctor import DoctorDocument
from foreread.documents.fingerprint import DoneDocument, PeriodDocument, WatchScriptDocument
from foreread.documents.improve import ImproveDocument
from foreread.documents.judge import JudgeDocument
from foreread.documents.layout import LayoutDocument
from foreread.documents.prefetch import PrefetchDocument
from foreread.documents.record import RecordDocument
from foreread.documents.report import ReportDocument
from foreread.documents.script import CheckedDocument, ScriptDocument, UninstalledDocument
from foreread.documents.show import ShowDocument
from foreread.documents.suite import SuiteConfirmationDocument, SuiteRecordDocument
from foreread.documents.top import TopDocument
from foreread.tracer.formats.capture import Capture
from foreread.tracer.formats.sweep import Sweep
from foreread.tracer.formats.unpacking import UnpackingDocument

# What a command prints with --json; of several, the one that fits.
COMMANDS: dict[str, tuple[type[msgspec.Struct], ...]] = {
    "improve": (ImproveDocument,),
    "doctor": (DoctorDocument, JudgeDocument),
    "record": (RecordDocument, SuiteRecordDocument),
    "show": (ShowDocument,),
    "predict": (PredictionDocument, SuiteDocument, Validation),
    "advise": (AdviceDocument, SuiteAdvice, PartsDocument),
    "forecast": (Forecast, PatchForecast),
    "calibrate": (CalibrationDocument,),
    "confirm": (ConfirmationDocument, ScenariosDocument, SuiteConfirmationDocument),
    "sweep": (Sweep,),
    "tune": (TuningDocument,),
    "diff": (DiffDocument,),
    "fleet-analyse": (FleetAnalysed,),
    "fleet-report": (FleetReportDocument,),
    "report": (ReportDocument,),
    "script": (ScriptDocument, UninstalledDocument, CheckedDocument),
    "prefetch": (PrefetchDocument, StalenessDocument),
    "layout": (LayoutDocument,),
    "export": (ExportDocument,),
    "top": (TopDocument,),
    "fingerprint": (PeriodDocument, DoneDocument, WatchScriptDocument),
    "boards-list": (BoardsDocument,),
    "boards-show": (Profile,),
    "boards-new": (Profile,),
    "boards-run": (BoardRunDocument,),
    "boards-start": (StartedBoard,),
    "boards-stop": (StoppedDocument,),
}
# Files: capture.json of a capture, report.json of a report, fleet.json of a fleet's report,
# unpacking.json of a layout, a suite (TOML), the file of --history. A SWEEP is what sweep prints.
FILES: dict[str, tuple[type[msgspec.Struct], ...]] = {
    "capture-metadata": (Capture,),
    "report-figures": (ReportFigures,),
    "fleet-figures": (FleetFigures,),
    "prefetch-state": (ListState,),
    "unpacking": (UnpackingDocument,),
    "suite": (SuiteFile,),
    "history": (History,),
}
