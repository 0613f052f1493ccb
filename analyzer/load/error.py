"""Loads that cannot be, or beside which nothing can be predicted."""

from __future__ import annotations

from foreread.analyzer.error import AnalyzerError


class LoadError(AnalyzerError, ValueError):
    """A load of an unknown name, or one beside which no start is predicted."""
