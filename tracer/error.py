"""The exception of this package."""

from __future__ import annotations


class RecordError(RuntimeError):
    """A recording that cannot be made; ``remedy`` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy
