"""Which readahead window starts an application fastest: the library.

One recorded cold start says what every window would read, and how long the start would take:

>>> import foreread
>>> start = foreread.load("examples/python-start/python-start.capture.tar.xz")
>>> prediction = start.predict()
>>> prediction.verdict.action, prediction.verdict.read_ahead_kb
('set', 32)

What was predicted is compared with what was measured:

>>> measured = foreread.read_sweep("examples/python-start/python-start.sweep.json")
>>> validation = foreread.validate(prediction, measured, start.capture)
>>> abs(validation.regret_proposed) < 0.05
True

Results are tables of numpy columns, which go on to Arrow, pandas and polars without a copy:

>>> windows = prediction.table
>>> windows["read_ahead_kb"][:4].tolist(), windows["requests"][:4].tolist()
([0, 4, 8, 12], [3513, 2167, 1573, 1198])
>>> timed = windows.to_pandas().dropna().set_index("read_ahead_kb")
>>> int(timed["seconds"].idxmin()), round(float(timed["seconds"].min()), 2)
(32, 0.97)

``record``, ``sweep``, ``confirm``, ``calibrate`` and ``tune`` run on this machine or on a board and
need root there; ``report``, ``script`` and ``prefetch`` write files. All errors are in ``ERRORS``
and say in ``remedy`` what to do. Nothing is imported before it is used.
"""

from __future__ import annotations

from importlib import import_module

from foreread.version import VERSION as __version__

TYPE_CHECKING = False  # type checkers know the name; typing takes longer to import than all of this
if TYPE_CHECKING:
    from foreread.analyzer.advise.advise import Advice as Advice
    from foreread.analyzer.advise.images import image_offers as image_offers
    from foreread.analyzer.apply.make import Script as Script
    from foreread.analyzer.apply.make import script as script
    from foreread.analyzer.diff.document import DiffDocument as DiffDocument
    from foreread.analyzer.diff.whole import diff as diff
    from foreread.analyzer.export.make import ExportDocument as ExportDocument
    from foreread.analyzer.export.make import export as export
    from foreread.analyzer.fleet.document import FleetAnalysed as FleetAnalysed
    from foreread.analyzer.fleet.report import FleetReportFiles as FleetReportFiles
    from foreread.analyzer.forecast.document import Forecast as Forecast
    from foreread.analyzer.forecast.patch import Patch as Patch
    from foreread.analyzer.forecast.patch import read_patch as read_patch
    from foreread.analyzer.forecast.patch_document import PatchedStart as PatchedStart
    from foreread.analyzer.forecast.patched import forecast_patch as forecast_patch
    from foreread.analyzer.forecast.predicted import forecast as forecast
    from foreread.analyzer.ingest.tables import Table as Table
    from foreread.analyzer.layout.compared import Compared as ComparedLayouts
    from foreread.analyzer.layout.compared import compare_layouts as layout
    from foreread.analyzer.layout.write import write_layout as write_layout
    from foreread.analyzer.predict.prediction import Curve as Curve
    from foreread.analyzer.predict.prediction import Verdict as Verdict
    from foreread.analyzer.predict.tables import table as table
    from foreread.analyzer.predict.validate import Validation as Validation
    from foreread.analyzer.predict.validate import validate as validate
    from foreread.analyzer.prefetch.cases import Comparison as Comparison
    from foreread.analyzer.prefetch.cases import compare as prefetch
    from foreread.analyzer.prefetch.listing import write_listing as write_listing
    from foreread.analyzer.report.make import report as report
    from foreread.analyzer.report.write import ReportFiles as ReportFiles
    from foreread.analyzer.suite.advised import advise_suite as advise_suite
    from foreread.analyzer.suite.predicted import SuiteQuestion as SuiteQuestion
    from foreread.analyzer.suite.predicted import predict_suite as predict_suite
    from foreread.analyzer.suite.read import Suite as Suite
    from foreread.analyzer.suite.read import read_suite as read_suite
    from foreread.analyzer.tuner.engines.stopping import Budget as Budget
    from foreread.analyzer.tuner.findings.results import Results as Tuning
    from foreread.analyzer.tuner.findings.results import read_results as read_tuning
    from foreread.boards.open import open_target as open_target
    from foreread.boards.profile import Profile as Profile
    from foreread.boards.profile import known_profiles as known_boards
    from foreread.boards.profile import load_profile as load_board
    from foreread.boards.target import Target as Target
    from foreread.browsing import Viewed as Viewed
    from foreread.browsing import view as view
    from foreread.error import ERRORS as ERRORS
    from foreread.error import ForereadError as ForereadError
    from foreread.fleet import fleet_analyse as fleet_analyse
    from foreread.fleet import fleet_report as fleet_report
    from foreread.improving.improve import Improved as Improved
    from foreread.improving.improve import improve as improve
    from foreread.improving.job import TuneWish as TuneWish
    from foreread.improving.job import Watch as Watch
    from foreread.judging.judge import Judgement as Judgement
    from foreread.judging.judge import judge as judge
    from foreread.machine.calibration import Calibrated as Calibrated
    from foreread.machine.calibration import calibrate as calibrate
    from foreread.machine.install import install as install
    from foreread.machine.reading_now import ReadingNow as ReadingNow
    from foreread.machine.reading_now import reading_now as reading_now
    from foreread.measuring.advice_row import Advised as Advised
    from foreread.measuring.advice_row import row_of_advice as row_of_advice
    from foreread.measuring.confirm import Confirmed as Confirmed
    from foreread.measuring.confirm import confirm as confirm
    from foreread.measuring.confirm_fleet import fleet_confirm as fleet_confirm
    from foreread.measuring.confirm_suite import confirm_suite as confirm_suite
    from foreread.measuring.options import ConfirmOptions as ConfirmOptions
    from foreread.measuring.sweep import sweep as sweep
    from foreread.objects.prediction import Prediction as Prediction
    from foreread.objects.start import Start as Start
    from foreread.objects.start import advise as advise
    from foreread.objects.start import load as load
    from foreread.objects.start import predict as predict
    from foreread.question import Question as Question
    from foreread.recording.boot import record_boot as record_boot
    from foreread.recording.load import record_load as record_load
    from foreread.recording.start import record as record
    from foreread.recording.suite import record_suite as record_suite
    from foreread.tracer.formats.capture import Capture as Capture
    from foreread.tracer.formats.confirmation import Confirmation as Confirmation
    from foreread.tracer.formats.sweep import Sweep as Sweep
    from foreread.tracer.formats.sweep import read_sweep as read_sweep
    from foreread.tracer.install.install import uninstall as uninstall
    from foreread.tracer.runs.options import Ending as Ending
    from foreread.tracer.runs.options import RunOptions as RunOptions
    from foreread.tuning.campaign import tune as tune
    from foreread.tuning.fleet import fleet_tune as fleet_tune
    from foreread.tuning.options import TuneOptions as TuneOptions

__all__ = [
    "ERRORS",
    "Advice",
    "Advised",
    "Budget",
    "Calibrated",
    "Capture",
    "ComparedLayouts",
    "Comparison",
    "ConfirmOptions",
    "Confirmation",
    "Confirmed",
    "Curve",
    "DiffDocument",
    "Ending",
    "ExportDocument",
    "FleetAnalysed",
    "FleetReportFiles",
    "Forecast",
    "ForereadError",
    "Improved",
    "Judgement",
    "Patch",
    "PatchedStart",
    "Prediction",
    "Profile",
    "Question",
    "ReadingNow",
    "ReportFiles",
    "RunOptions",
    "Script",
    "Start",
    "Suite",
    "SuiteQuestion",
    "Sweep",
    "Table",
    "Target",
    "TuneOptions",
    "TuneWish",
    "Tuning",
    "Validation",
    "Verdict",
    "Viewed",
    "Watch",
    "__version__",
    "advise",
    "advise_suite",
    "calibrate",
    "confirm",
    "confirm_suite",
    "diff",
    "export",
    "fleet_analyse",
    "fleet_confirm",
    "fleet_report",
    "fleet_tune",
    "forecast",
    "forecast_patch",
    "image_offers",
    "improve",
    "install",
    "judge",
    "known_boards",
    "layout",
    "load",
    "load_board",
    "open_target",
    "predict",
    "predict_suite",
    "prefetch",
    "read_patch",
    "read_suite",
    "read_sweep",
    "read_tuning",
    "reading_now",
    "record",
    "record_boot",
    "record_load",
    "record_suite",
    "report",
    "row_of_advice",
    "script",
    "sweep",
    "table",
    "tune",
    "uninstall",
    "validate",
    "view",
    "write_layout",
    "write_listing",
]

# The module of each public name, and the name there if it differs.
_EXPORTS = {
    "Advice": "foreread.analyzer.advise.advise",
    "Advised": "foreread.measuring.advice_row",
    "Budget": "foreread.analyzer.tuner.engines.stopping",
    "Calibrated": "foreread.machine.calibration",
    "Capture": "foreread.tracer.formats.capture",
    "ComparedLayouts": "foreread.analyzer.layout.compared:Compared",
    "Comparison": "foreread.analyzer.prefetch.cases",
    "Confirmation": "foreread.tracer.formats.confirmation",
    "ConfirmOptions": "foreread.measuring.options",
    "Confirmed": "foreread.measuring.confirm",
    "Curve": "foreread.analyzer.predict.prediction",
    "DiffDocument": "foreread.analyzer.diff.document",
    "ERRORS": "foreread.error",
    "Ending": "foreread.tracer.runs.options",
    "ExportDocument": "foreread.analyzer.export.make",
    "FleetAnalysed": "foreread.analyzer.fleet.document",
    "FleetReportFiles": "foreread.analyzer.fleet.report",
    "Forecast": "foreread.analyzer.forecast.document",
    "ForereadError": "foreread.error",
    "Improved": "foreread.improving.improve",
    "Judgement": "foreread.judging.judge",
    "Patch": "foreread.analyzer.forecast.patch",
    "PatchedStart": "foreread.analyzer.forecast.patch_document",
    "Prediction": "foreread.objects.prediction",
    "Profile": "foreread.boards.profile",
    "Question": "foreread.question",
    "ReadingNow": "foreread.machine.reading_now",
    "ReportFiles": "foreread.analyzer.report.write",
    "RunOptions": "foreread.tracer.runs.options",
    "Script": "foreread.analyzer.apply.make",
    "Start": "foreread.objects.start",
    "Suite": "foreread.analyzer.suite.read",
    "SuiteQuestion": "foreread.analyzer.suite.predicted",
    "Sweep": "foreread.tracer.formats.sweep",
    "Table": "foreread.analyzer.ingest.tables",
    "Target": "foreread.boards.target",
    "TuneOptions": "foreread.tuning.options",
    "TuneWish": "foreread.improving.job",
    "Tuning": "foreread.analyzer.tuner.findings.results:Results",
    "Validation": "foreread.analyzer.predict.validate",
    "Verdict": "foreread.analyzer.predict.prediction",
    "Viewed": "foreread.browsing",
    "Watch": "foreread.improving.job",
    "advise": "foreread.objects.start",
    "advise_suite": "foreread.analyzer.suite.advised",
    "known_boards": "foreread.boards.profile:known_profiles",
    "calibrate": "foreread.machine.calibration",
    "confirm": "foreread.measuring.confirm",
    "confirm_suite": "foreread.measuring.confirm_suite",
    "diff": "foreread.analyzer.diff.whole",
    "export": "foreread.analyzer.export.make",
    "fleet_analyse": "foreread.fleet",
    "fleet_confirm": "foreread.measuring.confirm_fleet",
    "fleet_report": "foreread.fleet",
    "fleet_tune": "foreread.tuning.fleet",
    "forecast": "foreread.analyzer.forecast.predicted",
    "forecast_patch": "foreread.analyzer.forecast.patched",
    "image_offers": "foreread.analyzer.advise.images",
    "improve": "foreread.improving.improve",
    "install": "foreread.machine.install",
    "judge": "foreread.judging.judge",
    "layout": "foreread.analyzer.layout.compared:compare_layouts",
    "load": "foreread.objects.start",
    "load_board": "foreread.boards.profile:load_profile",
    "open_target": "foreread.boards.open",
    "predict": "foreread.objects.start",
    "predict_suite": "foreread.analyzer.suite.predicted",
    "prefetch": "foreread.analyzer.prefetch.cases:compare",
    "read_patch": "foreread.analyzer.forecast.patch",
    "read_suite": "foreread.analyzer.suite.read",
    "read_sweep": "foreread.tracer.formats.sweep",
    "read_tuning": "foreread.analyzer.tuner.findings.results:read_results",
    "reading_now": "foreread.machine.reading_now",
    "record": "foreread.recording.start",
    "record_boot": "foreread.recording.boot",
    "record_load": "foreread.recording.load",
    "record_suite": "foreread.recording.suite",
    "report": "foreread.analyzer.report.make",
    "row_of_advice": "foreread.measuring.advice_row",
    "script": "foreread.analyzer.apply.make",
    "sweep": "foreread.measuring.sweep",
    "table": "foreread.analyzer.predict.tables",
    "tune": "foreread.tuning.campaign",
    "uninstall": "foreread.tracer.install.install",
    "validate": "foreread.analyzer.predict.validate",
    "view": "foreread.browsing",
    "write_layout": "foreread.analyzer.layout.write",
    "write_listing": "foreread.analyzer.prefetch.listing",
}


if not TYPE_CHECKING:  # with this function, type checkers would accept any name

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used."""
        if name not in _EXPORTS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, _, called = _EXPORTS[name].partition(":")
        value = getattr(import_module(module), called or name)
        if isinstance(value, type(__dir__)) and not hasattr(value, "checks"):
            value = import_module("foreread.checked").checked(value, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
