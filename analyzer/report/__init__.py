"""The board report: HTML, PDF and PNG."""

from analyzer.report.make import report
from analyzer.report.write import ReportFiles, write_report, write_tuning_report

__all__ = ["ReportFiles", "report", "write_report", "write_tuning_report"]
