"""The board report: HTML, PDF and PNG."""

from analyzer.report.write import ReportFiles, write_report, write_tuning_report

__all__ = ["ReportFiles", "write_report", "write_tuning_report"]
