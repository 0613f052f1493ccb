"""The base of this package's exceptions."""

from __future__ import annotations


class AnalyzerError(Exception):
    """Input that the analyzer refuses, or a result that it cannot give; ``remedy`` says what to do.

    Each error also derives from the built-in exception that describes it, such as ValueError.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class ArgumentError(AnalyzerError, ValueError):
    """Arguments of a call that make no sense, by themselves or together: wrong usage."""
