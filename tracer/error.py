"""The base of this package's exceptions."""

from __future__ import annotations


class TracerError(Exception):
    """A run that cannot be recorded, or a file of one; ``remedy`` says what to do.

    Each error also derives from the built-in exception that describes it, such as ValueError.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class RecordError(TracerError, RuntimeError):
    """A recording that cannot be made."""


class InstallError(TracerError, RuntimeError):
    """Nothing could be installed, and nothing was changed; ``remedy`` says what to do."""
