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
    from analyzer.advise.advise import Advice as Advice
    from analyzer.advise.images import image_offers as image_offers
    from analyzer.apply.make import Script as Script
    from analyzer.apply.make import script as script
    from analyzer.diff.document import DiffDocument as DiffDocument
    from analyzer.diff.whole import diff as diff
    from analyzer.export.make import ExportDocument as ExportDocument
    from analyzer.export.make import export as export
    from analyzer.fleet.document import FleetAnalysed as FleetAnalysed
    from analyzer.fleet.report import FleetReportFiles as FleetReportFiles
    from analyzer.forecast.document import Forecast as Forecast
    from analyzer.forecast.predicted import forecast as forecast
    from analyzer.ingest.tables import Table as Table
    from analyzer.layout.compared import Compared as ComparedLayouts
    from analyzer.layout.compared import compare_layouts as layout
    from analyzer.layout.write import write_layout as write_layout
    from analyzer.predict.prediction import Curve as Curve
    from analyzer.predict.prediction import Verdict as Verdict
    from analyzer.predict.tables import table as table
    from analyzer.predict.validate import Validation as Validation
    from analyzer.predict.validate import validate as validate
    from analyzer.prefetch.cases import Comparison as Comparison
    from analyzer.prefetch.cases import compare as prefetch
    from analyzer.prefetch.listing import write_listing as write_listing
    from analyzer.report.make import report as report
    from analyzer.report.write import ReportFiles as ReportFiles
    from analyzer.suite.advised import advise_suite as advise_suite
    from analyzer.suite.predicted import SuiteQuestion as SuiteQuestion
    from analyzer.suite.predicted import predict_suite as predict_suite
    from analyzer.suite.read import Suite as Suite
    from analyzer.suite.read import read_suite as read_suite
    from analyzer.tuner.engines.stopping import Budget as Budget
    from analyzer.tuner.findings.results import Results as Tuning
    from analyzer.tuner.findings.results import read_results as read_tuning
    from boards.open import open_target as open_target
    from boards.profile import Profile as Profile
    from boards.profile import known_profiles as boards
    from boards.profile import load_profile as load_board
    from boards.target import Target as Target
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
    from foreread.recording.start import record as record
    from foreread.recording.suite import record_suite as record_suite
    from foreread.tuning.campaign import tune as tune
    from foreread.tuning.fleet import fleet_tune as fleet_tune
    from foreread.tuning.options import TuneOptions as TuneOptions
    from tracer.formats.capture import Capture as Capture
    from tracer.formats.confirmation import Confirmation as Confirmation
    from tracer.formats.sweep import Sweep as Sweep
    from tracer.formats.sweep import read_sweep as read_sweep
    from tracer.install.install import uninstall as uninstall
    from tracer.local.ending import Ending as Ending
    from tracer.local.run import RunOptions as RunOptions

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
    "boards",
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
    "image_offers",
    "improve",
    "install",
    "judge",
    "layout",
    "load",
    "load_board",
    "open_target",
    "predict",
    "predict_suite",
    "prefetch",
    "read_suite",
    "read_sweep",
    "read_tuning",
    "reading_now",
    "record",
    "record_boot",
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

# Where each public name is, and what it is called there if not the same.
_EXPORTS = {
    "Advice": "analyzer.advise.advise",
    "Advised": "foreread.measuring.advice_row",
    "Budget": "analyzer.tuner.engines.stopping",
    "Calibrated": "foreread.machine.calibration",
    "Capture": "tracer.formats.capture",
    "ComparedLayouts": "analyzer.layout.compared:Compared",
    "Comparison": "analyzer.prefetch.cases",
    "Confirmation": "tracer.formats.confirmation",
    "ConfirmOptions": "foreread.measuring.options",
    "Confirmed": "foreread.measuring.confirm",
    "Curve": "analyzer.predict.prediction",
    "DiffDocument": "analyzer.diff.document",
    "ERRORS": "foreread.error",
    "Ending": "tracer.local.ending",
    "ExportDocument": "analyzer.export.make",
    "FleetAnalysed": "analyzer.fleet.document",
    "FleetReportFiles": "analyzer.fleet.report",
    "Forecast": "analyzer.forecast.document",
    "ForereadError": "foreread.error",
    "Improved": "foreread.improving.improve",
    "Judgement": "foreread.judging.judge",
    "Prediction": "foreread.objects.prediction",
    "Profile": "boards.profile",
    "Question": "foreread.question",
    "ReadingNow": "foreread.machine.reading_now",
    "ReportFiles": "analyzer.report.write",
    "RunOptions": "tracer.local.run",
    "Script": "analyzer.apply.make",
    "Start": "foreread.objects.start",
    "Suite": "analyzer.suite.read",
    "SuiteQuestion": "analyzer.suite.predicted",
    "Sweep": "tracer.formats.sweep",
    "Table": "analyzer.ingest.tables",
    "Target": "boards.target",
    "TuneOptions": "foreread.tuning.options",
    "TuneWish": "foreread.improving.job",
    "Tuning": "analyzer.tuner.findings.results:Results",
    "Validation": "analyzer.predict.validate",
    "Verdict": "analyzer.predict.prediction",
    "Viewed": "foreread.browsing",
    "Watch": "foreread.improving.job",
    "advise": "foreread.objects.start",
    "advise_suite": "analyzer.suite.advised",
    "boards": "boards.profile:known_profiles",
    "calibrate": "foreread.machine.calibration",
    "confirm": "foreread.measuring.confirm",
    "confirm_suite": "foreread.measuring.confirm_suite",
    "diff": "analyzer.diff.whole",
    "export": "analyzer.export.make",
    "fleet_analyse": "foreread.fleet",
    "fleet_confirm": "foreread.measuring.confirm_fleet",
    "fleet_report": "foreread.fleet",
    "fleet_tune": "foreread.tuning.fleet",
    "forecast": "analyzer.forecast.predicted",
    "image_offers": "analyzer.advise.images",
    "improve": "foreread.improving.improve",
    "install": "foreread.machine.install",
    "judge": "foreread.judging.judge",
    "layout": "analyzer.layout.compared:compare_layouts",
    "load": "foreread.objects.start",
    "load_board": "boards.profile:load_profile",
    "open_target": "boards.open",
    "predict": "foreread.objects.start",
    "predict_suite": "analyzer.suite.predicted",
    "prefetch": "analyzer.prefetch.cases:compare",
    "read_suite": "analyzer.suite.read",
    "read_sweep": "tracer.formats.sweep",
    "read_tuning": "analyzer.tuner.findings.results:read_results",
    "reading_now": "foreread.machine.reading_now",
    "record": "foreread.recording.start",
    "record_boot": "foreread.recording.boot",
    "record_suite": "foreread.recording.suite",
    "report": "analyzer.report.make",
    "row_of_advice": "foreread.measuring.advice_row",
    "script": "analyzer.apply.make",
    "sweep": "foreread.measuring.sweep",
    "table": "analyzer.predict.tables",
    "tune": "foreread.tuning.campaign",
    "uninstall": "tracer.install.install",
    "validate": "analyzer.predict.validate",
    "view": "foreread.browsing",
    "write_layout": "analyzer.layout.write",
    "write_listing": "analyzer.prefetch.listing",
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
